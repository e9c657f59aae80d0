"""What sites said as they refused last."""

from __future__ import annotations

import pytest
from queueing import fill, open_scheduler, queue_crawler, refuse
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.downloadermiddlewares import PauseMiddleware
from scrapy_mandelbot.sites.flight import Flight
from scrapy_mandelbot.sites.pause_law import PauseLaw
from scrapy_mandelbot.sites.site import Site
from scrapy_mandelbot.throttle.site_map import REFUSAL_FLAG, REFUSAL_LIMIT, Refusals


def flight(site: str, path: str = "/") -> Flight:
    return Flight(Request(site + path), Site(site, PauseLaw()))


def refusal(request: Request, body: bytes) -> HtmlResponse:
    return HtmlResponse(request.url, 503, {"Retry-After": "9"}, body, request=request)


def test_a_request_that_is_not_sent_gets_what_its_site_said_last():
    """With its own URL, itself as the request, and a flag that says so."""
    refusals = Refusals()
    one, other = flight("https://a.example", "/1"), flight("https://a.example", "/2")
    for body in (b"first", b"last"):
        refusals.keep(one, refusal(one.request, body))
    answer = refusals.answer(other)
    assert (answer.status, answer.body, answer.url) == (503, b"last", "https://a.example/2")
    assert answer.request is other.request
    assert answer.flags == [REFUSAL_FLAG]
    assert answer.headers["Retry-After"] == b"9"


def test_nothing_is_said_for_another_site():
    """Each speaks for itself."""
    refusals = Refusals()
    one = flight("https://a.example")
    refusals.keep(one, refusal(one.request, b"no"))
    assert refusals.answer(flight("https://b.example")) is None


def test_large_error_pages_of_many_sites_cost_little():
    """Two hundred sites with 5 MB each: 64 KiB of each at most, 16 MiB in all."""
    refusals = Refusals()
    page = b"x" * 5_000_000
    for number in range(400):
        one = flight(f"https://{number}.example")
        refusals.keep(one, refusal(one.request, page))
    assert refusals.answer(flight("https://0.example")) is None, "those of longest ago are gone"
    answers = [refusals.answer(flight(f"https://{number}.example")) for number in range(400)]
    kept = [answer.body for answer in answers if answer is not None]
    assert {len(body) for body in kept} == {REFUSAL_LIMIT}
    assert sum(map(len, kept)) <= 16 * 1024 * 1024


@pytest.mark.parametrize(
    ("error", "is_told"),
    [(ConnectionRefusedError(), True), (IgnoreRequest(), False), (RuntimeError("a bug"), False)],
)
def test_a_probe_fails_by_what_its_site_says_alone(clock, error, is_told):
    """Another component drops it, or raises: the site has said nothing, and is asked again."""
    crawler = queue_crawler(clock, MANDELBOT_STORE="memory")
    middleware, scheduler = PauseMiddleware.from_crawler(crawler), open_scheduler(crawler)
    refuse(crawler, "https://a.example/", 10)
    clock.turn(11)
    fill(scheduler, "https://a.example/probe")
    probe = scheduler.next_request()
    with pytest.raises(StopIteration) as done:
        middleware.process_exception(probe, error).send(None)
    assert (done.value.value is probe) is is_told
    pause = Crawl.of(crawler).throttle.site_of(probe).pause
    assert pause.failed_probes == is_told
    scheduler.close("shutdown")
    Crawl.of(crawler).throttle.close()
