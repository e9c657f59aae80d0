"""``scrapy robots`` is sent nowhere that a crawl would not be sent.

A proxy is all of the internet here: it answers for every host, and sees who was asked.
"""

from __future__ import annotations

import json

import pytest
from crawling import ensureDeferred
from webs import Answer

PUBLIC = "http://shop.example.com"
INSIDE = "http://169.254.169.254"


@pytest.fixture
def internet(webs, project):
    """The web behind the project's proxy."""
    web = webs()
    lines = [
        "import os",
        f"os.environ['http_proxy'] = {web.url!r}",
        "os.environ['no_proxy'] = ''",
    ]
    project.write_text(project.read_text() + "\n".join([*lines, ""]))
    web.settings = project
    return web


def asked(web) -> list[str]:
    return [hit.path for hit in web.hits]


def allow(web) -> None:
    """Let the project's sites send us inside."""
    web.settings.write_text(
        web.settings.read_text() + 'MANDELBOT_LIMITS = {"private_hosts": True}\n'
    )


@pytest.mark.parametrize("sender", [PUBLIC, "http://127.0.0.1:1"])
@ensureDeferred
async def test_check_follows_redirects_to_private_hosts_only_if_allowed(
    internet, robots_later, sender
):
    """From the public internet to no address inside, and from loopback to none that is
    link-local.
    """
    internet.pages[f"{sender}/robots.txt"] = Answer(
        b"", 302, {"Location": f"{INSIDE}/r.txt"}
    )
    internet.pages[f"{INSIDE}/r.txt"] = Answer(b"User-agent: *\nDisallow: /x\n")
    run = await robots_later("check", sender, "--format", "json")
    assert asked(internet) == [f"{sender}/robots.txt"]
    assert "unfinished-redirect" in {
        one["code"] for one in json.loads(run.stdout)["findings"]
    }
    allow(internet)
    await robots_later("check", sender)
    assert asked(internet)[-1] == f"{INSIDE}/r.txt"


@ensureDeferred
async def test_sitemaps_on_private_hosts_are_read_only_if_allowed(
    internet, robots_later
):
    """Cited, listed in an index or redirected to: each is listed, and is told not to be
    read.
    """
    cited = f"Sitemap: {INSIDE}/a.xml\nSitemap: /index.xml\nSitemap: /moved.xml\n"
    internet.pages[f"{PUBLIC}/robots.txt"] = Answer(cited.encode())
    listed = (
        f"<sitemapindex><sitemap><loc>{INSIDE}/b.xml</loc></sitemap></sitemapindex>"
    )
    internet.pages[f"{PUBLIC}/index.xml"] = Answer(listed.encode())
    internet.pages[f"{PUBLIC}/moved.xml"] = Answer(
        b"", 301, {"Location": f"{INSIDE}/c.xml"}
    )
    run = await robots_later("sitemaps", PUBLIC, "--read", "--format", "json")
    own = {f"{PUBLIC}/{name}" for name in ("robots.txt", "index.xml", "moved.xml")}
    assert set(asked(internet)) == own
    failures = {
        one["url"]: one["failure"] for one in json.loads(run.stdout)["sitemaps"]
    }
    inside = (
        'this is on this machine or in its network (MANDELBOT_LIMITS["private_hosts"])'
    )
    assert failures[f"{INSIDE}/a.xml"] == failures[f"{INSIDE}/b.xml"] == inside
    assert failures[f"{PUBLIC}/moved.xml"]
    allow(internet)
    await robots_later("sitemaps", PUBLIC, "--read")
    assert {f"{INSIDE}/{name}.xml" for name in "abc"} <= set(asked(internet))
