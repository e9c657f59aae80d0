"""Sites with sitemaps, for crawls."""

from __future__ import annotations

from webs import Answer, html

FOLLOW = {"MANDELBOT_SITEMAPS": "follow"}


def urlset(*entries: str) -> Answer:
    """Return a sitemap of URLs, or of whole entries."""
    urls = [one if one.startswith("<") else f"<loc>{one}</loc>" for one in entries]
    body = "".join(f"<url>{one}</url>" for one in urls)
    head = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    return Answer(
        f"{head}{body}</urlset>".encode(), headers={"Content-Type": "application/xml"}
    )


def index(*urls: str) -> Answer:
    body = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    head = '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    return Answer(f"{head}{body}</sitemapindex>".encode())


def shop(
    webs, pages: int, *sitemaps: str, host: str = "127.0.0.1", rules: str = "Disallow:"
):
    """Return a site whose front page links to nothing, with sitemaps cited in its
    robots.txt.
    """
    web = webs(host)
    web.pages["/"] = html()
    for number in range(pages):
        web.pages[f"/{number}"] = html()
    lines = [f"Sitemap: {web.url}{path}" for path in sitemaps]
    web.pages["/robots.txt"] = Answer(
        "\n".join(["User-agent: *", rules, *lines]).encode()
    )
    return web


def urls(web, *numbers: int) -> list[str]:
    return sorted(f"{web.url}/{number}" for number in numbers)
