"""A probe that takes long: the site does not wait for it."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from scrapy import Request
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from test_first_contact import later
from webs import Answer, Closed, site

from scrapy_mandelbot.politeness.flight import Flight
from scrapy_mandelbot.politeness.pause_policy import PausePolicy, Refusal
from scrapy_mandelbot.politeness.probe import late_at
from scrapy_mandelbot.politeness.site_state import Site

pytestmark = pytest.mark.usefixtures("loop_is_turned")

IN_MEMORY = {"MANDELBOT_STORE": "memory", "CONCURRENT_REQUESTS_PER_DOMAIN": 4}


class Refusals(Closed):
    """Refuses for a second; the page that asks next gets its answer late."""

    def __init__(self, late: float, after: int = 6) -> None:
        super().__init__(seconds=1, after=after, robots_too=False)
        self.late = late
        self.slow: str | None = None

    def __call__(self, path):
        answer = super().__call__(path)
        if answer is not None or self.began is None or self.slow is not None:
            return answer
        self.slow = path
        return Answer(b"a large file", delay=self.late)


def silence(web) -> float:
    """Return the longest time in which the site got no request."""
    at = sorted(hit.at for hit in web.hits)
    return max(after - before for before, after in pairwise(at))


@ensureDeferred
async def test_the_site_does_not_wait_for_a_probe_that_is_a_slow_download(webs):
    """After ten seconds another request is the probe; the slow page comes, too."""
    web = site(webs, 30)
    web.refuse = Refusals(40)
    result = await crawl(LinksSpider, IN_MEMORY, start_urls=[web.url + "/"])
    assert result.urls() == web.urls(30)
    assert web.asked(web.refuse.slow, 200) == 1
    assert silence(web) < 15


def test_a_site_that_always_takes_long_gets_no_second_probe_so_soon():
    """It waits three times as long as for the last good answer, and twice as long for
    the next one.
    """
    slow = Site("http://slow.example", PausePolicy())
    flight = Flight(Request("http://slow.example/"), slow)
    slow.refused(flight, b"", Refusal(0.0, "503"))
    assert late_at(slow, slow.pause) == inf
    slow.handed_out(flight, 2.0, as_scout=False)
    assert late_at(slow, slow.pause) == 12.0
    slow.well_way = ({}, {"download_latency": 5.0})
    assert late_at(slow, slow.pause) == 17.0
    slow.pause.late_probes = 1
    assert late_at(slow, slow.pause) == 32.0


@ensureDeferred
async def test_a_download_handler_that_never_answers_holds_up_no_site(webs):
    """Its download ends by no time limit either."""
    web = site(webs, 20)
    web.refuse = Closed(seconds=1, after=6, robots_too=False)
    hung = []

    class Hangs(HTTP11DownloadHandler):
        async def download_request(self, request):
            is_over = web.refuse.began is not None
            is_over = is_over and TIME.elapsed() > web.refuse.began + 1
            if is_over and len(hung) < 2 and "/page/" in request.url:
                hung.append(request.url)
                await later(300)
            return await super().download_request(request)

    settings = {**IN_MEMORY, "DOWNLOAD_HANDLERS": {"http": Hangs}}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.urls() == web.urls(20)
    at = sorted(hit.at for hit in web.hits)
    assert at[-3] - at[0] < 40  # the hung ones come last
