"""What the throttle of a crawl tells the queue, the log and the store, by a turned
clock.
"""

from __future__ import annotations

import pytest
from crawling import ensureDeferred
from queueing import drain, fill, open_scheduler, refuse
from scrapy import Request
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.signals import scheduler_empty, spider_closed

from scrapy_mandelbot import engine, events, signals
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.downloadermiddlewares.counting import CountingMiddleware
from scrapy_mandelbot.downloadermiddlewares.pause import PauseMiddleware
from scrapy_mandelbot.politeness.flight import Flight
from scrapy_mandelbot.politeness.pause_policy import LeftPause
from scrapy_mandelbot.politeness.tally import End, Tally
from scrapy_mandelbot.throttle.in_flight import ASKS_AGAIN, is_of_the_package

SITE = "https://a.example"
URLS = [f"{SITE}/{number}" for number in range(3)]


@pytest.fixture
def crawler(make_crawler):
    return make_crawler(MANDELBOT_PAUSE_OPTIONS={"recovery": False})


@pytest.fixture
def scheduler(crawler):
    scheduler = open_scheduler(crawler)
    fill(scheduler, *URLS)
    return scheduler


@pytest.fixture
def heard(crawler) -> list[tuple[str, float | None]]:
    """Return what is heard of pauses: the signal, and the seconds that it names."""
    told: list[tuple[str, float | None]] = []

    def paused(until) -> None:
        told.append(("paused", until.timestamp() - Crawl.of(crawler).now()))

    def resumed(paused_for) -> None:
        told.append(("resumed", paused_for))

    crawler.signals.connect(paused, signals.site_paused, weak=False)
    crawler.signals.connect(resumed, signals.site_resumed, weak=False)
    return told


def test_a_site_prints_how_it_stands(crawler, clock):
    """At a crawl's console, or in a debugger."""
    crawl = Crawl.of(crawler)
    refuse(crawler, f"{SITE}/", retry_after=60.0)
    shown = repr(crawl.sites[SITE])
    assert shown.startswith(
        "<https://a.example: paused until 2024-10-04 00:01:00 UTC, 0 failed"
    )
    assert set(crawl.manual_control.closed_sites()) == {SITE}


def test_a_pause_ends_with_a_probe_and_is_told(crawler, scheduler, clock, heard):
    """The queue hands out one request when due, and all after its good answer."""
    throttle = Crawl.of(crawler).throttle
    manual_control = Crawl.of(crawler).manual_control
    refuse(crawler, f"{SITE}/", retry_after=60.0)
    assert heard == [("paused", 60)]
    assert drain(scheduler) == []
    assert manual_control.count_shut() == (3, 0)
    clock.turn(59)
    assert drain(scheduler) == []
    clock.turn(1)
    probe = scheduler.next_request()
    crawler.engine.downloader.active.add(probe)
    assert scheduler.next_request() is None
    flight = throttle.flight_of(probe)
    clock.turn(2)
    throttle.answered(flight)
    throttle.release(flight)
    assert heard[1:] == [("resumed", 62)]
    assert manual_control.closed_sites() == {}
    assert len(drain(scheduler)) == 2


def test_a_site_paused_by_hand_resumes_by_itself(crawler, scheduler, clock, heard):
    """And is told then, though no request comes."""
    manual_control = Crawl.of(crawler).manual_control
    manual_control.hold(SITE, clock.now() + 100, "the owner has called")
    assert heard == [("paused", 100)]
    assert drain(scheduler) == []
    clock.turn(100)
    assert heard[1:] == [("resumed", 100)]
    assert len(drain(scheduler)) == 3
    assert not manual_control.end_hold(SITE), "it is over"
    clock.assert_nothing_left()


def test_a_hold_may_be_ended_at_once(crawler, scheduler, clock, heard):
    """By hand; so may a pause, whose probe goes then."""
    manual_control = Crawl.of(crawler).manual_control
    manual_control.hold(SITE, clock.now() + 100, "the owner has called")
    clock.turn(10)
    assert manual_control.end_hold(SITE)
    assert heard[1:] == [("resumed", 10)]
    refuse(crawler, f"{SITE}/", retry_after=60.0)
    assert scheduler.next_request() is None
    assert manual_control.end_hold(SITE)
    assert scheduler.next_request() is not None
    assert not manual_control.end_hold("https://never.example")


def test_given_up_sites_hand_out_what_they_hold(crawler, scheduler, clock):
    """Each gets the last refusal as its answer; without JOBDIR there is no next run."""
    throttle = Crawl.of(crawler).throttle
    manual_control = Crawl.of(crawler).manual_control
    refuse(crawler, f"{SITE}/", retry_after=60.0)
    manual_control.give_up_all("the crawl has waited long enough")
    assert crawler.stats.get_value("mandelbot/pause/given_up") == 1
    requests = [scheduler.next_request() for _ in URLS]
    assert all(
        throttle.has_given_up(throttle.flight_of(request)) for request in requests
    )
    assert not throttle.can_go_back(throttle.flight_of(requests[0]))


def test_a_pause_outlives_the_run(make_crawler, clock, tmp_path):
    """It is kept with the job for the next run, unless it is over."""
    for name, seconds in (("a", 60.0), ("b", 10.0)):
        first = make_crawler(JOBDIR=str(tmp_path))
        scheduler = open_scheduler(first)
        refuse(first, f"https://{name}.example/", retry_after=seconds)
        scheduler.close("shutdown")
        first.signals.send_catch_log(
            spider_closed, spider=first.spider, reason="shutdown"
        )
    clock.turn(20)
    again = make_crawler(JOBDIR=str(tmp_path))
    scheduler = open_scheduler(again)
    assert list(Crawl.of(again).store.get_pauses()) == ["https://a.example"]
    assert Crawl.of(again).sites.get("https://b.example") is None
    fill(scheduler, "https://a.example/1", "https://b.example/1")
    assert again.stats.get_value("mandelbot/pause/restored") == 1
    assert drain(scheduler) == ["https://b.example/1"]
    clock.turn(40)
    assert drain(scheduler) == ["https://a.example/1"]
    scheduler.close("finished")


def test_thousands_of_paused_sites_set_few_timers(crawler, clock):
    """One for the first of them, and one whenever that changes; not one for each
    answer.
    """
    scheduler = open_scheduler(crawler)
    sites = [f"https://a{number}.example" for number in range(2_000)]
    fill(scheduler, *(f"{site}/" for site in sites))
    for site in sites:
        refuse(crawler, f"{site}/x", retry_after=60.0)
    before = clock.set
    assert drain(scheduler) == []
    assert clock.set - before <= 2
    clock.turn(60)
    assert len(drain(scheduler)) == 2_000


def test_what_was_swallowed_as_the_probe_makes_room_for_another(
    crawler, scheduler, clock
):
    """The site would wait for it for ever."""
    refuse(crawler, f"{SITE}/", retry_after=1.0)
    clock.turn(1)
    probe = scheduler.next_request()
    crawler.engine.downloader.active.add(probe)
    assert scheduler.next_request() is None
    crawler.engine.downloader.active.discard(probe)
    clock.turn(1)
    assert scheduler.next_request() not in {None, probe}


def test_a_request_from_elsewhere_is_known_by_its_site(crawler):
    """A file of a media pipeline: it is in flight, and holds no place of a slot."""
    throttle = Crawl.of(crawler).throttle
    request = Request(f"{SITE}/file")
    flight = throttle.flight_of(request)
    assert throttle.flight_of(request) is flight
    assert flight.site is throttle.sites[SITE]
    assert not throttle.can_go_back(flight)
    throttle.release(flight)
    assert len(throttle.in_flight) == 0


OWN = {"callback": NO_CALLBACK, "meta": {"dont_pause": True}}
PACED = {"MANDELBOT_PACE": "obey", "ROBOTSTXT_OBEY": True}
SHARED = {"MANDELBOT_TOGETHER": "domain"}


def note_quota(crawler) -> None:
    Crawl.of(crawler).sites.of(SITE).pacer.note_quota(Flight(None, None), 1, 60.0, 0.0)


def recover(crawler) -> None:
    refuse(crawler, f"{SITE}/", retry_after=60.0)


FOLLOWED = {
    "its own, as a robots.txt": ({}, None, OWN, False),
    "a page": ({}, None, {}, True),
    "a page that waits for no pause": ({}, None, {"meta": OWN["meta"]}, True),
    "of a media pipeline": ({}, None, {"callback": NO_CALLBACK}, True),
    "a health check": (
        {},
        None,
        {"callback": NO_CALLBACK, "meta": {ASKS_AGAIN: True}},
        True,
    ),
    "at a pace": (PACED, None, OWN, True),
    "in a shared slot": (SHARED, None, OWN, True),
    "with a quota": ({}, note_quota, OWN, True),
    "of a site that recovers": ({}, recover, OWN, True),
}


@pytest.mark.parametrize(
    ("settings", "known", "request_", "is_followed"), FOLLOWED.values(), ids=FOLLOWED
)
@ensureDeferred
async def test_the_packages_own_request_is_followed_where_it_matters(
    make_crawler, settings, known, request_, is_followed
):
    """A pace, a quota and a shared slot hold it back, and a recovery counts it; nothing
    else.
    """
    crawler = make_crawler(MANDELBOT_PAUSE_OPTIONS={"recovery": True}, **settings)
    middleware = PauseMiddleware(crawler)
    if known is not None:
        known(crawler)
    request = Request(f"{SITE}/robots.txt", **request_)
    await middleware.process_request(request)
    flights = Crawl.of(crawler).throttle.in_flight.flights
    assert (request in flights) is is_followed
    response = Response(request.url, request=request)
    assert await middleware.process_response(request, response) is response
    assert not flights, "however it left"
    assert Crawl.of(crawler).sites.counted().pages == (not is_of_the_package(request))


@pytest.mark.parametrize(
    ("happens", "is_asked"),
    [(None, False), (lambda one: refuse(one, f"{SITE}/", retry_after=60.0), True)],
    ids=["nothing", "a refusal"],
)
def test_an_idle_crawl_is_looked_at_once_a_site_was_in_trouble(
    crawler, scheduler, monkeypatch, happens, is_asked
):
    """Before that no request waits for a time.

    Scrapy sends the signal for each empty queue.
    """
    asked = []
    monkeypatch.setattr(engine, "is_idle_but_for_the_scheduler", asked.append)
    drain(scheduler)
    if happens is not None:
        happens(crawler)
    crawler.signals.send_catch_log(scheduler_empty)
    assert asked == [crawler] * is_asked


def test_a_page_that_is_set_aside_is_reported_with_its_seconds(crawler, clock):
    """A pause is reported by its end."""
    crawl = Crawl.of(crawler)
    told = []
    for event in (events.PAUSED, events.SET_ASIDE):
        crawl.events.subscribe(lambda values: told.append(values.get("seconds")), event)
    for number in range(40):
        flight = crawl.throttle.flight_of(Request(f"{SITE}/well/{number}"))
        crawl.throttle.answered(flight)
        crawl.throttle.release(flight)
    refuse(crawler, URLS[0], retry_after=None)
    clock.turn(1.5)
    for url in (URLS[1], URLS[2]):
        flight = crawl.throttle.flight_of(Request(url))
        crawl.throttle.answered(flight)
        crawl.throttle.release(flight)
    refuse(crawler, URLS[0], retry_after=None)
    assert told == [None, 1.0]


def test_a_slot_that_a_site_uses_outside_the_queue_is_its_own(crawler):
    """Where the site is paused, what waits in there is taken back."""
    throttle = Crawl.of(crawler).throttle
    flight = throttle.flight_of(Request(URLS[0]))
    throttle.let_leave(flight)
    assert set(flight.site.slots) == {"a.example"}


def test_without_pauses_an_answer_to_the_package_is_no_page(crawler):
    """One to a media pipeline is: both have no callback."""
    counting = CountingMiddleware(crawler)
    own = Request(SITE + "/robots.txt", NO_CALLBACK, meta={"dont_pause": True})
    media = Request(SITE + "/image", NO_CALLBACK)
    site = Crawl.of(crawler).throttle.flight_of(media).site
    answer = Response(own.url)
    assert counting.process_response(own, answer) is answer
    assert site.tally.pages == 0
    counting.process_response(media, Response(media.url))
    assert site.tally.pages == 1
    counting.process_exception(own, OSError())
    assert not site.tally.ends
    counting.process_exception(media, OSError())
    assert site.tally.ends == {End.TRIED_AGAIN: 1}


def test_errors_are_answers_of_4xx_and_5xx_the_commonest_first():
    tally = Tally()
    for status in (301, 500, 404, 404):
        tally.count_answer(status, is_cached=False)
    assert list(tally.errors.items()) == [(404, 2), (500, 1)]


@pytest.mark.parametrize(
    ("denied", "pages", "expected"),
    [(0, 0, False), (1, 100, False), (1, 2, True), (1, 3, False), (5, 0, True)],
)
def test_a_site_that_denies_a_third_of_its_answers_lets_no_one_in(
    denied, pages, expected
):
    tally = Tally()
    for status, times in ((403, denied), (200, pages)):
        for _ in range(times):
            tally.count_answer(status, is_cached=False)
    assert tally.is_denied is expected


@pytest.mark.parametrize(
    ("seconds", "section", "told"),
    [(60, "", 1), (60, "/a", 0), (-60, "", 0)],
    ids=["of the site", "of a section", "that is over"],
)
def test_a_pause_that_was_left_is_told(crawler, clock, seconds, section, told):
    """Once, where it is the site's and goes on."""
    peers = Crawl.of(crawler).throttle.peers
    left = LeftPause(clock.now() + seconds, "503", 1, section)
    for _ in range(2):
        peers.take_over(SITE, left, source="left by another worker")
    assert crawler.stats.get_value("mandelbot/pause/restored", 0) == told
