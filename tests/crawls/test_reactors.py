"""The package works on whatever Scrapy runs on: asyncio, another reactor, or no
reactor.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from crawling import ensureDeferred
from no_reactor import NO_REACTOR
from twisted.internet.threads import deferToThread
from webs import Answer, Closed

pytestmark = pytest.mark.slow

SPIDER = """
import scrapy
from scrapy.http.request import NO_CALLBACK

class Spider(scrapy.Spider):
    name = "reactors"
    custom_settings = {
        "ADDONS": {"scrapy_mandelbot.Addon": 500},
        "TELNETCONSOLE_ENABLED": False,
        "DOWNLOAD_DELAY": 0,
    }

    async def parse(self, response):
        yield {"url": response.url}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse_page)

    async def parse_page(self, response):
        request = scrapy.Request(response.url + "?inline", callback=NO_CALLBACK)
        inline = await self.crawler.engine.download_async(request)
        yield {"url": response.url, "inline": inline.status}

    async def site_paused(self, site, until, reason):
        yield {"url": "paused"}
"""


@pytest.mark.parametrize(
    "setting",
    [
        "TWISTED_REACTOR=twisted.internet.asyncioreactor.AsyncioSelectorReactor",
        "TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor",
        pytest.param("TWISTED_REACTOR_ENABLED=False", marks=NO_REACTOR),
    ],
)
@ensureDeferred
async def test_a_pause_on_every_loop(webs, tmp_path, setting):
    """A crawl with a pause, an inline request and a hook ends with every page."""
    web = webs()
    paths = web.chain(10)
    for path in paths[1:]:
        web.pages[path + "?inline"] = Answer(b"inline")
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /page/7\n")
    web.refuse = Closed(seconds=1, after=6, retry_after="1")
    (tmp_path / "spider.py").write_text(f"{SPIDER}\n    start_urls = ['{web.url}/']\n")
    command = [
        sys.executable,
        "-m",
        "scrapy",
        "runspider",
        "spider.py",
        "-o",
        "items.jsonl",
    ]

    run = await deferToThread(
        subprocess.run,
        [*command, "-s", setting],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    lines = (tmp_path / "items.jsonl").read_text().splitlines()
    items = [json.loads(line) for line in lines]
    assert sorted(item["url"] for item in items) == sorted(
        ["paused", *(web.url + path for path in paths if path != "/page/7")]
    ), run.stderr
    assert {item["inline"] for item in items if "inline" in item} == {200}
    assert "Spider closed (finished)" in run.stderr
    assert "Traceback" not in run.stderr
