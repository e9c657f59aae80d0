"""Sites whose sitemaps list each other's pages, and crawls that follow them."""

from __future__ import annotations

from crawling import LinksSpider
from crawling import crawl as crawl_with
from shops import FOLLOW
from webs import Answer, html


async def crawl(settings=None, spider=LinksSpider, **arguments):
    """Crawl with sitemaps followed, and with no error in the log."""
    result = await crawl_with(spider, {**FOLLOW, **(settings or {})}, **arguments)
    assert "log_count/ERROR" not in result.stats
    return result


def site(webs, number: int, pages: int = 1, *sitemaps: str):
    """Return a site with so many pages, whose robots.txt cites these sitemaps."""
    web = webs(f"127.0.0.{number}")
    web.pages |= {
        path: html() for path in ("/", *(f"/{page}" for page in range(pages)))
    }
    cite(web, *(f"{web.url}{path}" for path in sitemaps))
    return web


def cite(web, *sitemaps: str) -> None:
    lines = [
        "User-agent: *",
        "Disallow: /secret",
        *(f"Sitemap: {url}" for url in sitemaps),
    ]
    web.pages["/robots.txt"] = Answer("\n".join(lines).encode())


def pages(web, count: int) -> list[str]:
    return [f"{web.url}/{number}" for number in range(count)]
