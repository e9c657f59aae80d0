"""Around a scheduler that other processes share: what is taken out of it, and in which
order.
"""

from __future__ import annotations

import logging
from math import inf

import pytest
from queueing import refuse
from scrapy import Request
from twisted.internet.defer import Deferred

from scrapy_mandelbot import engine
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.scheduling import parking as schedulers

PAUSED, HEALTHY = "https://paused.example", "https://healthy.example"


class Shared:
    """A queue elsewhere that knows no priorities: first in, first out."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.closed: list[str] = []
        self.fails_with: Exception | None = None

    def has_pending_requests(self):
        return bool(self.requests)

    def enqueue_request(self, request):
        if self.fails_with is not None:
            raise self.fails_with
        self.requests.append(request)
        return True

    def next_request(self):
        if self.fails_with is not None:
            raise self.fails_with
        return self.requests.pop(0) if self.requests else None

    def close(self, reason):
        self.closed.append(reason)

    def fill(self, site: str, count: int) -> None:
        self.requests += [Request(f"{site}/{number}") for number in range(count)]


class ByPriority(Shared):
    """A queue elsewhere as scrapy-redis has it: the most urgent first, then by what
    they are.
    """

    def next_request(self):
        self.requests.sort(key=lambda request: (-request.priority, request.url))
        return super().next_request()


class LastFirst(Shared):
    """A stack elsewhere: what goes back comes straight out again."""

    def next_request(self):
        return self.requests.pop() if self.requests else None


class Worker:
    """As much of engine and downloader as takes requests from a scheduler."""

    def __init__(self, crawler) -> None:
        self.crawler = crawler
        self.scheduler = schedulers.ParkingScheduler.from_crawler(crawler)
        self.shared: Shared = self.scheduler.inner
        self.sent: list[Request] = []
        self._downloader = crawler.engine.downloader

    def take(self) -> list[str]:
        """Take as the engine does until there is no room, or no request; return their
        URLs.
        """
        before = len(self.sent)
        while engine.room(self.crawler) > 0:
            request = self.scheduler.next_request()
            if request is None:
                break
            self.sent.append(self._downloader.send(request))
        return [request.url for request in self.sent[before:]]

    def take_all_turns(self) -> list[str]:
        """Take in as many turns of the loop as it wants."""
        self.is_woken = True
        urls = []
        while self.is_woken:
            self.is_woken = False
            urls += self.take()
        return urls

    def woken(self, _crawler) -> None:
        self.is_woken = True

    def end(self, request: Request) -> None:
        throttle = Crawl.of(self.crawler).throttle
        flight = throttle.flight_of(request)
        self._downloader.active.discard(request)
        throttle.let_leave(flight)
        throttle.answered(flight)
        throttle.release(flight)

    def bounce(self, request: Request) -> None:
        throttle = Crawl.of(self.crawler).throttle
        self._downloader.active.discard(request)
        self.scheduler.enqueue_request(throttle.send_back(throttle.flight_of(request)))


@pytest.fixture
def worker(make_crawler, monkeypatch):
    def make(inner: type = Shared, **settings) -> Worker:
        made = Worker(make_crawler(MANDELBOT_INNER_SCHEDULER=inner, **settings))
        monkeypatch.setattr(engine, "wake", made.woken)
        return made

    return make


def test_one_site_takes_no_more_than_the_engine_sends(worker):
    """8 are in its download slot and 8 wait for it, as 16 are the downloader's without
    us.
    """
    one = worker()
    one.shared.fill(HEALTHY, 600)
    assert len(one.take_all_turns()) == 8
    assert len(one.shared.requests) == 600 - 16
    one.end(one.sent[0])
    assert one.take_all_turns() == [f"{HEALTHY}/8"]
    assert len(one.shared.requests) == 600 - 17


@pytest.mark.parametrize(
    ("most", "taken"), [(1, 1), (4, 4), (8, 8), (9, 9), (100, 100)]
)
def test_no_more_are_taken_than_concurrent_requests_allows(worker, most, taken):
    """However many its site may be asked at once."""
    one = worker(CONCURRENT_REQUESTS=most)
    one.shared.fill(HEALTHY, 600)
    one.take_all_turns()
    assert len(one.shared.requests) == 600 - taken


def test_without_a_limit_what_is_held_is_bounded(worker, monkeypatch):
    """CONCURRENT_REQUESTS = 0, which takes all out of the scheduler without us."""
    monkeypatch.setattr(schedulers, "MOST_PARKED", 100)
    one = worker(CONCURRENT_REQUESTS=0)
    assert engine.room(one.crawler) == inf
    one.shared.fill(HEALTHY, 600)
    one.take_all_turns()
    assert len(one.shared.requests) == 600 - 8 - 100


def test_who_finds_out_the_rules_has_no_more_taken_than_is_sent(worker):
    """While one request learns a site's rules the others are not taken out to wait for
    it.
    """
    one = worker(ROBOTSTXT_OBEY=True)
    one.shared.fill(HEALTHY, 600)
    assert one.take_all_turns() == [f"{HEALTHY}/0"]
    assert len(one.shared.requests) == 600 - 16


def test_paused_sites_are_passed_by(worker):
    """What comes after the requests of a paused site is sent; those are held, and no
    others.
    """
    one = worker()
    refuse(one.crawler, PAUSED + "/x")
    one.shared.fill(PAUSED, 90)
    one.shared.fill(HEALTHY, 600)
    assert len(one.take_all_turns()) == 8
    assert len(one.scheduler.parked) == 90 + 8
    assert len(one.shared.requests) == 600 - 16


@pytest.mark.parametrize("inner", [Shared, ByPriority])
def test_of_a_large_paused_site_a_few_are_held_and_the_others_go_back(
    worker, inner, clock
):
    """Behind all others, which are sent; each as it was, when its site may be asked
    again.
    """
    one = worker(inner)
    refuse(one.crawler, "https://a.example/x", 1_000)
    one.shared.fill("https://a.example", 500)
    one.shared.fill(HEALTHY, 200)
    one.take_all_turns()
    for _ in range(40):
        for request in list(one.crawler.engine.downloader.active):
            one.end(request)
        one.take_all_turns()
        clock.turn(0.2)
    assert len(one.sent) == 200
    assert len(one.scheduler.parked) == schedulers.PARKED
    assert len(one.shared.requests) == 400
    assert one.scheduler.only_waits

    Crawl.of(one.crawler).manual_control.give_up_all("enough")
    while one.scheduler.has_pending_requests():
        one.take_all_turns()
        for request in list(one.crawler.engine.downloader.active):
            one.end(request)
        clock.turn(0.2)
    there = one.sent[200:]
    assert {request.url for request in there} == {
        f"https://a.example/{n}" for n in range(500)
    }
    assert len(there) == 500
    assert {(request.priority, request.dont_filter) for request in there} == {
        (0, False)
    }
    assert {tuple(request.meta) for request in there} == {("download_slot",)}


def test_delayed_requests_are_passed_by_as_those_of_paused_sites_are(worker, clock):
    """A few are held, and the others go back; each is sent when its delay is over."""
    one = worker(ByPriority)
    number = schedulers.MOST_PARKED + 100
    for page in range(number):
        url = f"https://a.example/{page}"
        one.shared.requests.append(Request(url, meta={"delay": 60}, priority=1))
    one.shared.fill(HEALTHY, 50)
    for _ in range(40):
        one.take_all_turns()
        for request in list(one.crawler.engine.downloader.active):
            one.end(request)
        clock.turn(0.5)
    assert {request.url for request in one.sent} == {
        f"{HEALTHY}/{page}" for page in range(50)
    }
    assert len(one.scheduler.parked) == schedulers.PARKED
    clock.turn(60)
    for _ in range(number):
        one.take_all_turns()
        for request in list(one.crawler.engine.downloader.active):
            one.end(request)
        clock.turn(0.5)
    assert len(one.sent) == 50 + number
    assert {request.priority for request in one.sent[50:]} == {1}


def test_requests_that_another_process_has_given_back_are_passed_by(worker, clock):
    """It has its own count of how often each went; the others are sent."""
    one = worker()
    refuse(one.crawler, "https://a.example/x", 1_000)
    one.shared.fill("https://a.example", 200)
    for request in one.shared.requests:
        request.meta["mandelbot_went_back"] = [0, 2]
    one.shared.fill(HEALTHY, 5)
    for _ in range(20):
        one.take_all_turns()
        clock.turn(2)
    assert len(one.sent) == 5
    assert len(one.scheduler.parked) == schedulers.PARKED


def test_where_all_has_gone_back_it_rests_until_something_is_new(worker, clock):
    """It looks through a few each second, and takes at once what this crawl finds."""
    one = worker(ByPriority)
    refuse(one.crawler, PAUSED + "/x", 1_000)
    one.shared.fill(PAUSED, 200)
    assert one.take_all_turns() == []
    assert one.scheduler.only_waits
    asked = []
    next_request = one.shared.next_request
    one.shared.next_request = lambda: asked.append(1) or next_request()
    for _ in range(50):
        assert one.take_all_turns() == []
    assert asked == []
    clock.turn(1.1)
    assert one.take_all_turns() == []
    assert len(asked) == schedulers.AROUND
    one.scheduler.enqueue_request(Request(HEALTHY + "/new"))
    assert one.take_all_turns() == [HEALTHY + "/new"]


def test_one_whose_site_is_well_is_not_hidden_behind_those_that_wait(worker, clock):
    """Each goes further behind each time, so that all of those that went back have a
    turn.
    """
    one = worker(ByPriority)
    for site in ("https://a.example", "https://b.example"):
        refuse(one.crawler, site + "/x", 1_000)
        one.shared.fill(site, 150)
    one.take_all_turns()
    Crawl.of(one.crawler).manual_control.end_hold("https://b.example")
    urls = []
    for _ in range(60):
        urls += one.take_all_turns()
        for request in list(one.crawler.engine.downloader.active):
            one.end(request)
        clock.turn(1.1)
    assert len(urls) > 50
    assert all(url.startswith("https://b.example") for url in urls)


def test_of_a_stack_all_that_fit_are_held(worker):
    """What goes back would come straight out: so many are held as before, and others
    reached.
    """
    one = worker(LastFirst)
    refuse(one.crawler, PAUSED + "/x")
    one.shared.fill(HEALTHY, 3)
    one.shared.fill(PAUSED, 900)
    assert len(one.take_all_turns()) == 3
    assert len(one.scheduler.parked) == 900
    # the first that came straight out again has told
    assert not one.scheduler.lets_pass
    assert {request.priority for request in one.scheduler.parked.drain()} == {0}


def test_what_the_scheduler_does_not_take_back_is_held(worker, caplog):
    """As it was; it is not asked again, and nothing is lost."""
    one = worker()
    refuse(one.crawler, PAUSED + "/x")
    one.shared.fill(PAUSED, 300)
    one.shared.fill(HEALTHY, 3)
    asked = []

    def enqueue_request(request):
        asked.append(request)
        raise ValueError("priorities are 0 to 9")

    one.shared.enqueue_request = enqueue_request
    assert len(one.take_all_turns()) == 3
    assert len(asked) == 1
    assert len(one.scheduler.parked) == 300
    held = list(one.scheduler.parked.drain())
    assert {(request.priority, request.dont_filter) for request in held} == {(0, False)}
    assert {len(request.meta) for request in held} == {0}


def test_a_turn_of_the_loop_takes_a_few(worker):
    """Each may cost a round trip to a server: the loop goes round, and the engine asks
    again.
    """
    one = worker()
    refuse(one.crawler, PAUSED + "/x")
    one.is_woken = False
    one.shared.fill(PAUSED, 1_000)
    assert one.scheduler.next_request() is None
    assert len(one.scheduler.parked) == schedulers.TAKEN_AT_ONCE
    assert one.is_woken


def test_a_thousand_paused_sites_are_passed_by(worker):
    """The one behind them is asked; few of their requests are held."""
    one = worker()
    for number in range(1_200):
        refuse(one.crawler, f"https://{number}.example/x")
        one.shared.fill(f"https://{number}.example", 1)
    one.shared.fill(HEALTHY, 1)
    assert one.take_all_turns() == [f"{HEALTHY}/0"]
    assert len(one.scheduler.parked) == schedulers.PARKED
    assert len(one.shared.requests) == 1_100


def test_a_thousand_paused_sites_are_held_where_none_can_go_back(worker):
    """Parking is bounded; what the bound keeps in the scheduler comes when some have
    gone.
    """
    one = worker()
    one.scheduler.lets_pass = False
    sites = [f"https://{number}.example" for number in range(1_200)]
    for site in sites:
        refuse(one.crawler, site + "/x")
        one.shared.fill(site, 1)
    one.shared.fill(HEALTHY, 1)
    assert one.take_all_turns() == []
    assert len(one.scheduler.parked) == schedulers.MOST_PARKED
    assert len(one.shared.requests) == 201
    Crawl.of(one.crawler).manual_control.end_hold(sites[0])
    for site in sites[1:300]:
        Crawl.of(one.crawler).manual_control.end_hold(site)
    for _ in range(40):
        one.take_all_turns()
        for request in list(one.crawler.engine.downloader.active):
            one.end(request)
    assert f"{HEALTHY}/0" in {request.url for request in one.sent}


def test_the_order_is_the_schedulers(worker):
    """Within a site, those that came back go first, then the oldest."""
    one = worker()
    one.shared.fill(HEALTHY, 40)
    one.take_all_turns()
    for number in (3, 1):
        one.bounce(one.sent[number])
    for request in one.sent[4:8]:
        one.end(request)
    after = one.take_all_turns()
    assert after[:4] == [f"{HEALTHY}/{number}" for number in (1, 3, 8, 9)]


def test_a_turn_is_waited_for_in_the_order_of_priorities(worker, clock):
    """At a pace one goes at a time; what is more urgent is next, although it was taken
    later.
    """
    one = worker(MANDELBOT_CRAWL_DELAYS={"slow.example": 10})
    one.shared.fill("https://slow.example", 3)
    one.shared.requests.append(Request("https://slow.example/urgent", priority=5))
    one.shared.fill(HEALTHY, 1)
    assert one.take_all_turns() == ["https://slow.example/0", f"{HEALTHY}/0"]
    for request in list(one.sent):
        one.end(request)
    assert one.take_all_turns() == []
    clock.turn(11)
    assert one.take_all_turns() == ["https://slow.example/urgent"]


def test_what_is_parked_outlives_an_error_of_the_scheduler(worker, clock):
    """It is raised as without us, and what was taken before is sent."""
    one = worker()
    refuse(one.crawler, PAUSED + "/x", 10.0)
    one.shared.fill(PAUSED, 3)
    one.take_all_turns()
    one.shared.fails_with = ConnectionError("gone")
    with pytest.raises(ConnectionError):
        one.take()
    clock.turn(20)
    assert one.scheduler.next_request() is not None
    assert one.scheduler.has_pending_requests()


def test_what_cannot_be_given_back_is_named_and_the_scheduler_closed(worker, caplog):
    """One error does not keep the others from going back; a server that is gone is not
    asked on.
    """
    one = worker()
    refuse(one.crawler, PAUSED + "/x")
    one.shared.fill(PAUSED, 20)
    one.take_all_turns()
    asked = []

    def enqueue_request(request):
        asked.append(request)
        if len(asked) == 2:
            return False
        if len(asked) in {1, 4, 5, 6}:
            raise ConnectionError("gone")
        return True

    one.shared.enqueue_request = enqueue_request
    closing = Deferred()
    one.shared.close = lambda reason: one.shared.closed.append(reason) or closing
    with caplog.at_level(logging.WARNING):
        assert one.scheduler.close("finished") is closing, "the engine waits for it"
    assert len(asked) == 6
    (line,) = [text for text in caplog.messages if text.startswith("Lost ")]
    assert line.startswith(
        "Lost 19 requests that had been parked, as Shared takes none back:"
    )
    assert line.endswith(", …")
    assert one.shared.closed == ["finished"]


def test_a_given_back_request_passes_the_dupe_filter_and_forgets_that_it_did(worker):
    """It is marked on its way back only, and in the next run it is what it was."""
    one = worker(MANDELBOT_CRAWL_DELAYS={"slow.example": 10})
    one.shared.fill("https://slow.example", 3)
    one.shared.requests[1].dont_filter = True
    assert one.take_all_turns() == ["https://slow.example/0"]
    one.scheduler.close("shutdown")
    assert [request.dont_filter for request in one.shared.requests] == [True, True]

    other = worker()
    other.shared.requests = one.shared.requests
    other.take_all_turns()
    assert [request.dont_filter for request in other.sent] == [True, False]
    assert [request.meta.keys() - {"download_slot"} for request in other.sent] == [
        set(),
        set(),
    ]
