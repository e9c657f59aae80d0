"""Where the files of a site on the public internet may send a crawl: not to machines inside.

A proxy is all of the internet here: it answers for every host, and sees who was asked.
"""

from __future__ import annotations

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from shops import FOLLOW, index, urlset
from webs import Answer, html

PUBLIC = "http://shop.example.com"
INSIDE = "http://127.0.0.1:1"
SPELT = [
    "http://0x7f.1:1",
    "http://[::ffff:169.254.169.254]",
    "http://router",
    "http://a.localhost",
]
ROBOTS = "User-agent: *\nDisallow: /secret\n"


@pytest.fixture
def internet(webs, monkeypatch):
    web = webs()
    for name in ("http_proxy", "no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", web.url)
    web.pages[f"{PUBLIC}/"] = html("/secret", "/open")
    web.pages[f"{PUBLIC}/secret"] = web.pages[f"{PUBLIC}/open"] = html()
    web.pages[f"{PUBLIC}/robots.txt"] = Answer(ROBOTS.encode())
    return web


def asked(web) -> set[str]:
    """Return what was asked for, but for the crawl's own pages."""
    return {hit.path for hit in web.hits} - {f"{PUBLIC}/{path}" for path in ("", "secret", "open")}


@pytest.mark.parametrize("target", [INSIDE, *SPELT])
@ensureDeferred
async def test_no_redirect_of_robots_txt_leads_inside(internet, target):
    """It leads nowhere, as one to what is no site does."""
    internet.pages[f"{PUBLIC}/robots.txt"] = Answer(b"", 301, {"Location": f"{target}/rules.txt"})
    internet.pages[f"{target}/rules.txt"] = Answer(ROBOTS.encode())
    result = await crawl(LinksSpider, start_urls=[PUBLIC + "/"])
    assert asked(internet) == {f"{PUBLIC}/robots.txt"}
    assert len(result.items) == 3
    assert result.stats["mandelbot/robots/allow_all"] == 1


@ensureDeferred
async def test_a_redirect_leads_inside_where_the_project_says_so(internet):
    """MANDELBOT_PRIVATE_HOSTS: its public names are its own."""
    location = {"Location": f"{INSIDE}/rules.txt"}
    internet.pages[f"{PUBLIC}/robots.txt"] = Answer(b"", 301, location)
    internet.pages[f"{INSIDE}/rules.txt"] = Answer(ROBOTS.encode())
    settings = {"MANDELBOT_PRIVATE_HOSTS": True}
    result = await crawl(LinksSpider, settings, start_urls=[PUBLIC + "/"])
    assert f"{INSIDE}/rules.txt" in asked(internet)
    assert len(result.items) == 2


def cite_inside(web) -> None:
    """Have the site cite what is inside, directly and in an index, and list pages of it."""
    lines = [f"Sitemap: {target}/map.xml" for target in (INSIDE, *SPELT)]
    lines += [f"Sitemap: {PUBLIC}/index.xml", f"Sitemap: {PUBLIC}/pages.xml"]
    web.pages[f"{PUBLIC}/robots.txt"] = Answer("\n".join([ROBOTS, *lines]).encode())
    web.pages[f"{PUBLIC}/index.xml"] = index(*(f"{target}/part.xml" for target in (INSIDE, *SPELT)))
    pages = [f"{target}/page" for target in (INSIDE, *SPELT)]
    web.pages[f"{PUBLIC}/pages.xml"] = urlset(*pages, f"{PUBLIC}/open")


OWN = {f"{PUBLIC}/{path}" for path in ("robots.txt", "index.xml", "pages.xml")}


@ensureDeferred
async def test_no_sitemap_leads_inside(internet):
    """Neither a Sitemap line nor an index nor a page that is listed has anyone inside asked."""
    cite_inside(internet)
    result = await crawl(LinksSpider, FOLLOW, start_urls=[PUBLIC + "/"])
    assert asked(internet) == OWN
    (heard,) = result.signals("sitemaps_discovered")
    assert heard["urls"] == (f"{PUBLIC}/index.xml", f"{PUBLIC}/pages.xml")
    assert result.stats["mandelbot/sitemaps/foreign"] == 5
    assert len(result.logged(f"{PUBLIC} cites sitemaps on this machine or in its network")) == 1


@ensureDeferred
async def test_sitemaps_lead_inside_where_the_project_says_so(internet):
    """MANDELBOT_PRIVATE_HOSTS: each of them is asked for."""
    cite_inside(internet)
    settings = FOLLOW | {"MANDELBOT_PRIVATE_HOSTS": True}
    await crawl(LinksSpider, settings, start_urls=[PUBLIC + "/"])
    assert asked(internet) >= OWN | {f"{INSIDE}/{path}" for path in ("map.xml", "robots.txt")}
