"""A crawl that is stopped in a pause and goes on in a second run, as ``scrapy`` runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from crawling import ensureDeferred
from twisted.internet.threads import deferToThread
from webs import Answer, Closed

SPIDER = """
import scrapy

class Spider(scrapy.Spider):
    name = "job"
    custom_settings = {
        "ADDONS": {"scrapy_mandelbot.Addon": 500},
        "TELNETCONSOLE_ENABLED": False,
        "DOWNLOAD_DELAY": 0,
    }

    def parse(self, response):
        yield {"url": response.url}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse)

    def site_paused(self, site, until, reason):
        print("PAUSED", flush=True)
"""


@pytest.fixture
def run(tmp_path):
    """Run the spider in a process of its own; SIGINT it when it says so; return its outcome."""

    def process(start_urls: list[str], *settings: str, interrupt_at: str | None = None):
        (tmp_path / "spider.py").write_text(f"{SPIDER}\n    start_urls = {start_urls}\n")
        command = [sys.executable, "-m", "scrapy", "runspider", "spider.py", "-o", "items.jsonl"]
        command += ["-s", "JOBDIR=job"]
        for setting in settings:
            command += ["-s", setting]
        interrupted = None
        with subprocess.Popen(
            command,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as child:
            for line in child.stdout:
                if interrupt_at and line.strip() == interrupt_at:
                    child.send_signal(signal.SIGINT)
                    interrupted = time.monotonic()
                    break
            _, log = child.communicate(timeout=60)
        return log, time.monotonic() - (interrupted or 0)

    def start(*arguments, **keywords):
        return deferToThread(process, *arguments, **keywords)

    return start


def items(tmp_path) -> Counter:
    lines = (tmp_path / "items.jsonl").read_text().splitlines()
    return Counter(json.loads(line)["url"] for line in lines)


@ensureDeferred
async def test_interrupted_in_a_pause_and_resumed(webs, run, tmp_path):
    """Over both runs every page exactly once, but the start URL, which Scrapy asks for again."""
    web = webs()
    web.chain(60)
    web.pages["/robots.txt"] = Answer(b"")
    web.refuse = closed = Closed(seconds=10**6, after=10, retry_after="3")

    log, seconds = await run([web.url + "/"], interrupt_at="PAUSED")
    assert "Closing spider (shutdown)" in log, log
    assert seconds < 5, "a pause does not hold up the end"
    first = items(tmp_path)
    assert 9 <= len(first) < 61

    closed.seconds = 0
    log, _ = await run([web.url + "/"])

    assert "Closing spider (finished)" in log, log
    both = items(tmp_path)
    assert len(both) == 61
    assert both.pop(web.url + "/") in {1, 2}
    assert set(both.values()) == {1}


@ensureDeferred
async def test_given_up_with_jobdir_keeps_the_requests(webs, run, tmp_path):
    """The spider closes as sites_paused when nothing else is left; the next run goes on."""
    web, healthy = webs(), webs("127.0.0.2")
    for site in (web, healthy):
        site.chain(12)
        site.pages["/robots.txt"] = Answer(b"")
    web.refuse = closed = Closed(seconds=10**6, after=3)
    starts = [web.url + "/", healthy.url + "/"]
    quick = ["MANDELBOT_PAUSE_FIRST=0.1", "MANDELBOT_PAUSE_BASE=0.1", "MANDELBOT_PAUSE_TRIES=2"]

    log, _ = await run(starts, *quick)
    assert "Closing spider (sites_paused)" in log, log
    assert "kept for the next run" in log
    assert sum(url.startswith(healthy.url) for url in items(tmp_path)) == 13

    closed.seconds = 0
    log, _ = await run(starts, *quick)
    assert "Closing spider (finished)" in log, log
    both = items(tmp_path)
    assert len(both) == 26
    assert {count for url, count in both.items() if url not in starts} == {1}


BAD = [
    ("MANDELBOT_DIALECT=googel", "MANDELBOT_DIALECT = 'googel': it takes a Dialect or one of"),
    ("MANDELBOT_PAUSE_BASE=-60", "MANDELBOT_PAUSE_BASE = '-60': it takes a number of seconds"),
    ("MANDELBOT_STORE=memry", "MANDELBOT_STORE = 'memry': it takes 'memory'"),
]


@pytest.mark.parametrize(("setting", "message"), BAD)
@ensureDeferred
async def test_a_bad_setting_is_an_error_at_start(run, setting, message):
    """It names the setting and what it takes, and nothing is crawled."""
    log, _ = await run([], setting)
    assert message in log
    assert "Spider opened" not in log
