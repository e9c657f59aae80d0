"""Where the files of a site on the public internet may send a crawl: not to machines
inside.

A proxy is all of the internet here: it answers for every host, and sees who was asked.
"""

from __future__ import annotations

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from shops import FOLLOW, index, urlset
from webs import Answer, html

pytestmark = pytest.mark.usefixtures("loop_is_turned")

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
    return {hit.path for hit in web.hits} - {
        f"{PUBLIC}/{path}" for path in ("", "secret", "open")
    }


@pytest.mark.parametrize("target", [INSIDE, *SPELT])
@ensureDeferred
async def test_no_redirect_of_robots_txt_leads_inside(internet, target):
    """It leads nowhere, as one to what is no site does."""
    internet.pages[f"{PUBLIC}/robots.txt"] = Answer(
        b"", 301, {"Location": f"{target}/rules.txt"}
    )
    internet.pages[f"{target}/rules.txt"] = Answer(ROBOTS.encode())
    result = await crawl(LinksSpider, start_urls=[PUBLIC + "/"])
    assert asked(internet) == {f"{PUBLIC}/robots.txt"}
    assert len(result.items) == 3
    assert result.stats["mandelbot/robots/allow_all"] == 1


@ensureDeferred
async def test_a_redirect_to_a_private_host_is_followed_if_the_project_allows_it(
    internet,
):
    """The limit "private_hosts": its public names are its own."""
    location = {"Location": f"{INSIDE}/rules.txt"}
    internet.pages[f"{PUBLIC}/robots.txt"] = Answer(b"", 301, location)
    internet.pages[f"{INSIDE}/rules.txt"] = Answer(ROBOTS.encode())
    settings = {"MANDELBOT_LIMITS": {"private_hosts": True}}
    result = await crawl(LinksSpider, settings, start_urls=[PUBLIC + "/"])
    assert f"{INSIDE}/rules.txt" in asked(internet)
    assert len(result.items) == 2


def cite_inside(web) -> None:
    """Let the site cite what is inside, directly and in an index, and list pages of
    it.
    """
    lines = [f"Sitemap: {target}/map.xml" for target in (INSIDE, *SPELT)]
    lines += [f"Sitemap: {PUBLIC}/index.xml", f"Sitemap: {PUBLIC}/pages.xml"]
    web.pages[f"{PUBLIC}/robots.txt"] = Answer("\n".join([ROBOTS, *lines]).encode())
    web.pages[f"{PUBLIC}/index.xml"] = index(
        *(f"{target}/part.xml" for target in (INSIDE, *SPELT))
    )
    pages = [f"{target}/page" for target in (INSIDE, *SPELT)]
    web.pages[f"{PUBLIC}/pages.xml"] = urlset(*pages, f"{PUBLIC}/open")


OWN = {f"{PUBLIC}/{path}" for path in ("robots.txt", "index.xml", "pages.xml")}


@ensureDeferred
async def test_no_sitemap_leads_inside(internet):
    """Neither a Sitemap line nor an index nor a page that is listed has anyone inside
    asked.
    """
    cite_inside(internet)
    result = await crawl(LinksSpider, FOLLOW, start_urls=[PUBLIC + "/"])
    assert asked(internet) == OWN
    (heard,) = result.signals("sitemaps_discovered")
    assert heard["urls"] == (f"{PUBLIC}/index.xml", f"{PUBLIC}/pages.xml")
    assert result.stats["mandelbot/sitemaps/foreign"] == 5
    assert (
        len(result.logged(f"{PUBLIC} cites sitemaps on this machine or in its network"))
        == 1
    )


REDIRECTED = """
    127.0.0.1:1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001
    0x7F.0x0.0x0.0x1 127.0.0.1. %31%32%37.0.0.1 127.0.0.0x1 0 0.0.0.0 10.0.0.1
    172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 100.100.100.200
    192.0.0.192 192.0.2.1 198.18.0.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255
    192.168.257 10.1 0xa9fea9fe 3232235777 168.63.129.16 [::1] [::] [fe80::1] [fc00::1]
    [fd00:ec2::254] [fec0::1] [ff02::1] [2001:db8::1] [::ffff:127.0.0.1] [::ffff:7f00:1]
    [::ffff:a9fe:a9fe] [::127.0.0.1] [2002:7f00:1::] [64:ff9b::7f00:1] [64:ff9b:1::1]
    [2001::1] localhost LOCALHOST localhost. a.localhost printer.local
    metadata.google.internal router nas.home.arpa nas.lan wiki.corp pi.home fritz.box
    files.intranet kubernetes.default.svc
""".split()  # noqa: SIM905 -- words to be read


@ensureDeferred
async def test_no_redirect_of_a_sitemap_leads_inside(internet):
    """Straight or by another host, however it is spelt: neither a sitemap nor a
    robots.txt there.

    The others are read, and each that is not is told of once.
    """
    names = [f"{PUBLIC}/{number}.xml" for number in range(len(REDIRECTED) + 3)]
    for name, host in zip(names, REDIRECTED, strict=False):
        location = {"Location": f"http://{host}/map.xml"}
        internet.pages[name] = Answer(b"", 302, location)
    *_, by_another, by_a_page, good = names
    internet.pages["http://cdn.example.net/robots.txt"] = Answer(b"")
    internet.pages["http://cdn.example.net/map.xml"] = Answer(
        b"", 301, {"Location": INSIDE}
    )
    internet.pages[by_another] = Answer(
        b"", 307, {"Location": "//cdn.example.net/map.xml"}
    )
    page = f'<html><head><meta http-equiv="refresh" content="0; url={INSIDE}/map.xml">'
    internet.pages[by_a_page] = Answer(
        page.encode(), headers={"Content-Type": "text/html"}
    )
    internet.pages[good] = urlset(f"{PUBLIC}/open")
    lines = [f"Sitemap: {name}" for name in names]
    internet.pages[f"{PUBLIC}/robots.txt"] = Answer(
        "\n".join([ROBOTS, *lines]).encode()
    )
    result = await crawl(LinksSpider, FOLLOW, start_urls=[PUBLIC + "/"])
    elsewhere = {"http://cdn.example.net/robots.txt", "http://cdn.example.net/map.xml"}
    assert asked(internet) == {f"{PUBLIC}/robots.txt", *names, *elsewhere}
    assert result.stats["mandelbot/sitemaps/failed"] == len(REDIRECTED) + 2
    assert len(result.logged("The sitemap ")) <= 21
    assert result.stats["mandelbot/sitemaps/fed"] == 1


@ensureDeferred
async def test_a_sitemap_is_redirected_inside_where_the_project_says_so(internet):
    """The limit "private_hosts"."""
    internet.pages[f"{PUBLIC}/map.xml"] = Answer(
        b"", 301, {"Location": f"{INSIDE}/map.xml"}
    )
    internet.pages[f"{INSIDE}/map.xml"] = urlset(f"{PUBLIC}/open")
    robots = f"{ROBOTS}Sitemap: {PUBLIC}/map.xml"
    internet.pages[f"{PUBLIC}/robots.txt"] = Answer(robots.encode())
    settings = FOLLOW | {"MANDELBOT_LIMITS": {"private_hosts": True}}
    result = await crawl(LinksSpider, settings, start_urls=[PUBLIC + "/"])
    assert f"{INSIDE}/map.xml" in asked(internet)
    assert result.stats["mandelbot/sitemaps/fed"] == 1


@ensureDeferred
async def test_sitemaps_lead_inside_where_the_project_says_so(internet):
    """The limit "private_hosts": each of them is asked for."""
    cite_inside(internet)
    settings = FOLLOW | {"MANDELBOT_LIMITS": {"private_hosts": True}}
    await crawl(LinksSpider, settings, start_urls=[PUBLIC + "/"])
    assert asked(internet) >= OWN | {
        f"{INSIDE}/{path}" for path in ("map.xml", "robots.txt")
    }
