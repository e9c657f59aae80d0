"""Sites whose pages have robot tags, for crawls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawling import LinksSpider
from webs import Answer

if TYPE_CHECKING:
    import scrapy

OBEY = {
    "MANDELBOT_ROBOT_TAGS": "obey",
    "USER_AGENT": "Examplebot/1.0 (+https://example.com)",
}


def page(
    *links: str, head: str = "", tag: str | list[str] = "", kind: str = "html"
) -> Answer:
    """Return a page with something in its head, and an X-Robots-Tag header."""
    anchors = "".join(
        link if link[0] == "<" else f'<a href="{link}">x</a>' for link in links
    )
    body = f"<html><head>{head}<title>t</title></head><body>{anchors}</body></html>"
    headers: dict[str, str | list[str]] = {
        "Content-Type": f"text/{kind}; charset=utf-8"
    }
    if tag:
        headers["X-Robots-Tag"] = tag
    return Answer(body.encode(), headers=headers)


def meta(content: str, name: str = "robots") -> str:
    return f'<meta name="{name}" content="{content}">'


def site(webs, pages: dict[str, Answer]):
    """Serve pages and a front page that links to them, each with a page of its own
    below it.
    """
    web = webs()
    web.pages.update(pages)
    web.pages["/"] = page(*pages)
    web.pages.update({f"{path}/below": page(head=f"<!-- {path} -->") for path in pages})
    return web


def spider_of(web, **attributes) -> type[scrapy.Spider]:
    return type("Spider", (LinksSpider,), {"start_urls": [web.url + "/"], **attributes})


def paths(result, web) -> list[str]:
    return [url.removeprefix(web.url) for url in result.urls()]
