"""An index of the words that people search for, each with the page that explains it.

The words become entries of the general index, which the search lists before all other
results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from both_sites import ADDON, LIBRARY
from docutils import nodes
from sphinx.addnodes import index
from sphinx.transforms import SphinxTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx

WORDS = {
    ADDON: {
        "answers": (
            "404",
            "RFC 9309",
            "login page",
            "robots.txt unreachable",
            "soft 404",
        ),
        "asked": ("extra requests", "request overhead"),
        "compare": ("AutoThrottle", "Crawlee", "Heritrix", "Nutch", "StormCrawler"),
        "went_wrong": (
            *("alert", "dashboard", "Grafana"),
            *("Forbidden by robots.txt", "no pages crawled"),
            *("troubleshooting", "Queue-it", "waiting room"),
        ),
        "hooks": ("callback", "signal"),
        "identity": (
            "HTTP message signatures",
            "RFC 9421",
            "verified bot",
            "Web Bot Auth",
        ),
        "jobs": (
            "checkpoint",
            "crash",
            "idempotent",
            "JOBDIR",
            "kill -9",
            "poison request",
            "power failure",
            "resume",
            "resume a crawl",
        ),
        "limits": ("gzip bomb", "maximum size", "memory limit"),
        "machines": (
            "cluster",
            "distributed crawl",
            "Redis",
            "Redis Sentinel",
            "Valkey",
        ),
        "moving": ("migration", "RobotsTxtMiddleware"),
        "pace": (
            "Crawl-delay",
            "DOWNLOAD_DELAY",
            "politeness delay",
            "Request-rate",
            "requests per second",
            "Visit-time",
        ),
        "pauses": (
            "402",
            "403",
            "401",
            "blocked",
            "bot detection",
            "captcha",
            "Cloudflare",
            "WAF",
            "429",
            "503",
            "529",
            "backoff",
            "circuit breaker",
            "cooldown",
            "exponential backoff",
            "half-open",
            "maintenance",
            "outage",
            "overload",
            "rate limit",
            "rate-limited",
            "Retry-After",
            "slow start",
            "throttling",
            "Too Many Requests",
        ),
        "recipes/files": ("FilesPipeline", "image download", "ImagesPipeline"),
        "recipes/playwright": ("headless browser", "JavaScript", "Playwright"),
        "recipes/proxies": ("proxy", "proxy rotation"),
        "recipes/scrapy_redis": ("scrapy-redis",),
        "recipes/unchanged": (
            "conditional request",
            "ETag",
            "HTTP cache",
            "If-Modified-Since",
        ),
        "recipes/training": ("AI training", "GPTBot", "noai", "TDMRep"),
        "tags_and_use": ("noindex", "nofollow", "X-Robots-Tag"),
        "report": ("crawl report", "HTML report"),
        "services": ("cron", "Docker", "Kubernetes", "scrapyd", "systemd"),
        "sitemaps": (
            "lastmod",
            "news sitemap",
            "sitemap",
            "sitemap index",
            "SitemapSpider",
        ),
        "status": ("metrics", "Prometheus", "telnet console"),
    },
    LIBRARY: {
        "coming_from": ("Protego", "reppy", "robotspy", "urllib.robotparser"),
        "command": ("GitHub Actions", "pre-commit", "SARIF"),
        "dialects": ("Googlebot", "longest match", "wildcard", "Yandex"),
        "findings": ("lint", "linter", "robots.txt checker", "robots.txt validator"),
        "tags": ("meta robots", "noarchive", "nofollow", "noindex", "X-Robots-Tag"),
        "usage": (
            "AI training",
            "ai.txt",
            "Content-Signal",
            "GPTBot",
            "noai",
            "TDMRep",
            "tdm",
        ),
    },
}
"""By site: words by the page that explains them."""


class SearchWords(SphinxTransform):
    """Gives a page its entries of the index."""

    default_priority = 400  # before Sphinx collects them

    def apply(self, **_: object) -> None:
        """Put the entries below the title, which has to come first for Sphinx."""
        words = WORDS[self.app.config.project].get(self.env.docname, ())
        section = next(iter(self.document.findall(nodes.section)), None)
        if words and section is not None:
            anchor = section["ids"][0]
            entries = [("single", word, anchor, "main", None) for word in words]
            section.insert(1, index(entries=entries, inline=False))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform."""
    app.add_transform(SearchWords)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
