"""The site queue: Scrapy's order, paused sites passed by."""

from __future__ import annotations

import sys
import tracemalloc
from collections import Counter

import pytest
from crawling import ensureDeferred
from mandelbot.answers.outcome import Failure
from queueing import URLS, drain, fill, open_scheduler, refuse
from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.pause_policy import LeftPause
from scrapy_mandelbot.scheduling import site_queue
from scrapy_mandelbot.scheduling.round_robin import _MOST_RESTING, SubQueue


@ensureDeferred
async def test_slots_with_the_fewest_active_downloads_first(make_crawler):
    """As Scrapy's own queue: the least active slot, round robin among equals."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, *URLS)
    hosts = []
    active = Counter()
    while (request := scheduler.next_request()) is not None:
        crawler.engine.downloader.send(request)
        host = request.url[8]
        assert active[host] == min(active[one] for one in "abc")
        active[host] += 1
        hosts.append(host)
    assert hosts == list("cab") * 4


@ensureDeferred
async def test_priority_first_then_lifo_within_a_site(make_crawler):
    """As Scrapy's own queue."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, "https://a.example/1", "https://a.example/2")
    fill(scheduler, "https://a.example/urgent", priority=5)
    assert [url.rpartition("/")[2] for url in drain(scheduler)] == ["urgent", "2", "1"]


@ensureDeferred
async def test_a_slot_that_becomes_free_is_next(make_crawler):
    """A slot whose downloads have ended is less active than the others again."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    throttle = Crawl.of(crawler).throttle
    fill(scheduler, *URLS)
    first = [crawler.engine.downloader.send(scheduler.next_request()) for _ in range(6)]
    ended = [request for request in first if request.url[8] == "b"]
    for request in ended:
        throttle.release(throttle.flight_of(request))
    assert scheduler.next_request().url[8] == scheduler.next_request().url[8] == "b"


@ensureDeferred
async def test_a_paused_site_is_passed_by_and_counted(make_crawler):
    """Its requests stay, are counted, and come when it may be asked."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, *URLS)
    refuse(crawler, "https://a.example/")

    urls = drain(scheduler)

    assert not [url for url in urls if "//a." in url]
    assert len(urls) == 8
    assert len(scheduler) == 4
    assert scheduler.has_pending_requests()
    assert Crawl.of(crawler).waiting("https://a.example") == 4


@ensureDeferred
async def test_what_waits_for_a_time_of_its_own_is_taken_in_once(make_crawler, clock):
    """It is counted as what is sent at once is."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    throttle = Crawl.of(crawler).throttle
    fill(scheduler, "https://a.example/1", "https://a.example/2")
    tally = throttle.sites.of("https://a.example").tally
    assert tally.taken == 2
    flight = throttle.flight_of(scheduler.next_request())
    flight.not_before = clock.now() + 60
    scheduler.enqueue_request(throttle.send_back(flight))
    assert tally.taken == 2
    clock.turn(60)
    assert len(drain(scheduler)) == 2


@ensureDeferred
async def test_what_is_of_a_section_that_was_set_aside_meanwhile_waits_with_it(
    make_crawler,
):
    """It was in the queue of its site before."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(
        scheduler,
        "https://a.example/",
        "https://a.example/shop/1",
        "https://a.example/shop/2",
    )
    crawl = Crawl.of(crawler)
    site = crawl.throttle.sites.of("https://a.example")
    site.restore(crawl.now(), LeftPause(crawl.now() + 99, "503", 1, "/shop/"))
    crawl.throttle.update(site)
    assert drain(scheduler) == ["https://a.example/"]
    assert len(scheduler) == 2
    assert crawl.waiting("https://a.example") == 2


@ensureDeferred
async def test_http_and_https_of_a_host_are_two_sites_in_one_slot(make_crawler):
    """Scrapy has one download slot for both; only one of them is paused."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, "http://a.example/1", "https://a.example/1", "http://a.example/2")
    refuse(crawler, "http://a.example/")
    assert drain(scheduler) == ["https://a.example/1"]
    assert len(scheduler) == 2


@ensureDeferred
async def test_a_download_slot_keeps_requests_of_several_sites_apart(make_crawler):
    """``download_slot`` groups sites for the downloader; each keeps its own pause."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, *URLS[:6], meta={"download_slot": "mine"})
    refuse(crawler, "https://b.example/")
    assert len(drain(scheduler)) == 4
    left = [(site.name, count) for site, _, count in scheduler.mqs.sub_queues()]
    assert left == [("https://b.example", 2)]


@ensureDeferred
async def test_no_more_are_handed_out_than_a_slot_transfers(make_crawler):
    """The downloader counts late; the queue does not."""
    crawler = make_crawler(
        CONCURRENT_REQUESTS_PER_DOMAIN=2,
        DOWNLOAD_SLOTS={"b.example": {"concurrency": 3}},
    )
    scheduler = open_scheduler(crawler)
    fill(scheduler, *URLS)
    handed_out = []
    while (request := scheduler.next_request()) is not None:
        crawler.engine.downloader.active.add(request)
        handed_out.append(request)
    hosts = [request.url[8] for request in handed_out]
    assert sorted(hosts) == ["a", "a", "b", "b", "b", "c", "c"]
    throttle = Crawl.of(crawler).throttle
    throttle.release(
        throttle.flight_of(next(one for one in handed_out if "//a." in one.url))
    )
    assert scheduler.next_request().url.startswith("https://a.example/")


@ensureDeferred
async def test_what_a_middleware_swallowed_holds_no_place(make_crawler, clock):
    """A request that ended without a word is no longer the downloader's, and no longer
    counted.
    """
    crawler = make_crawler(CONCURRENT_REQUESTS_PER_DOMAIN=1)
    scheduler = open_scheduler(crawler)
    fill(scheduler, "https://a.example/1", "https://a.example/2")
    request = scheduler.next_request()
    crawler.engine.downloader.active.add(request)
    assert scheduler.next_request() is None
    crawler.engine.downloader.active.discard(request)
    assert scheduler.next_request() is None, "the queue looks again after a second"
    clock.turn(1)
    assert scheduler.next_request() is not None


def hand_out_all(crawler, scheduler) -> list:
    """Take what the queue hands out, as long as the engine has a place."""
    taken, active = [], crawler.engine.downloader.active
    while len(active) < crawler.settings.getint("CONCURRENT_REQUESTS"):
        request = scheduler.next_request()
        if request is None:
            break
        active.add(request)
        taken.append(request)
    return taken


@ensureDeferred
async def test_sites_that_never_answer_leave_half_of_the_places(make_crawler, clock):
    """Once one hangs; each gets its turn all the same, whoever has waited longest
    first.
    """
    crawler = make_crawler(CONCURRENT_REQUESTS=8)
    scheduler = open_scheduler(crawler)
    throttle = Crawl.of(crawler).throttle
    fill(scheduler, *(f"https://new{n:02}.example/" for n in range(20)))
    fill(scheduler, *(f"https://good.example/{n}" for n in range(3)))

    def end(request, *, answered=False):
        crawler.engine.downloader.active.discard(request)
        flight = throttle.flight_of(request)
        if answered:
            throttle.answered(flight)
        else:
            throttle.in_flight.unresponsive.fail(flight, Failure.TIMED_OUT)
        throttle.release(flight)

    first = hand_out_all(crawler, scheduler)
    assert len(first) == 8, "none hangs yet"
    clock.turn(10)
    for request in first:
        end(request)
    throttle.sites.of("https://good.example").has_answered = True
    asked = hand_out_all(crawler, scheduler)
    assert [request.url[8:13] for request in asked] == [
        "new08",
        "new09",
        "new10",
        "new11",
        "good.",
        "good.",
        "good.",
    ], "and one place more stays free for good.example"
    end(asked[0], answered=True)
    (one,) = hand_out_all(crawler, scheduler)
    assert one.url == "https://new12.example/"
    for request in asked[4:]:
        end(request, answered=True)
    more = hand_out_all(crawler, scheduler)
    assert [request.url[8:13] for request in more] == ["new13", "new14", "new15"], (
        "no site that answers needs the other half: one place is kept for it"
    )
    clock.turn(120)
    for request in [*asked[1:4], one, *more]:
        end(request, answered=True)
    clock.turn(120)
    assert len(hand_out_all(crawler, scheduler)) == 4, "all that are left: none hangs"


@ensureDeferred
@pytest.mark.parametrize("concurrency", ["measured", "fixed"])
async def test_a_site_gets_sixteen_requests_until_half_of_them_are_answered(
    make_crawler, clock, concurrency
):
    """What its limit is, nobody knows yet: 64 at once are 58 refusals of a burst of
    five.
    """
    crawler = make_crawler(
        CONCURRENT_REQUESTS=64,
        CONCURRENT_REQUESTS_PER_DOMAIN=64,
        MANDELBOT_CONCURRENCY=concurrency,
    )
    scheduler = open_scheduler(crawler)
    throttle = Crawl.of(crawler).throttle
    fill(scheduler, *(f"https://a.example/{n}" for n in range(120)))

    def answer(request):
        crawler.engine.downloader.active.discard(request)
        flight = throttle.flight_of(request)
        flight.site.tally.pages += 1
        throttle.answered(flight)
        throttle.release(flight)

    under_way = hand_out_all(crawler, scheduler)
    assert len(under_way) == 16
    fill(scheduler, "https://b.example/")
    assert [one.url for one in hand_out_all(crawler, scheduler)] == [
        "https://b.example/"
    ], "another site has a start of its own"
    for request in under_way[:7]:
        answer(request)
    assert len(hand_out_all(crawler, scheduler)) == 7, "the places of seven"
    answer(under_way[7])
    assert len(hand_out_all(crawler, scheduler)) == 64 - 16, "all that settings allow"
    crawler.engine.downloader.active.clear()
    clock.turn(10)
    assert len(hand_out_all(crawler, scheduler)) == 120 - 16 - 7 - 48, (
        "none waits for what was swallowed"
    )


@ensureDeferred
@pytest.mark.parametrize("concurrency", ["measured", "fixed"])
async def test_sites_that_share_a_slot_do_not_share_their_beginning(
    make_crawler, concurrency
):
    """A new site need not wait until the others of the slot have answered."""
    crawler = make_crawler(
        CONCURRENT_REQUESTS=64,
        CONCURRENT_REQUESTS_PER_DOMAIN=64,
        MANDELBOT_CONCURRENCY=concurrency,
    )
    scheduler = open_scheduler(crawler)
    for name in "abc":
        fill(
            scheduler,
            *(f"https://{name}.example/{n}" for n in range(20)),
            meta={"download_slot": "one"},
        )
    assert len(hand_out_all(crawler, scheduler)) == 3 * 16


@ensureDeferred
async def test_without_recovery_a_site_gets_all_that_settings_allow_at_once(
    make_crawler,
):
    """As in stock Scrapy."""
    crawler = make_crawler(
        CONCURRENT_REQUESTS=64,
        CONCURRENT_REQUESTS_PER_DOMAIN=64,
        MANDELBOT_PAUSE_OPTIONS={"recovery": False},
    )
    scheduler = open_scheduler(crawler)
    fill(scheduler, *(f"https://a.example/{n}" for n in range(60)))
    assert len(hand_out_all(crawler, scheduler)) == 60


@ensureDeferred
async def test_no_site_waits_for_what_was_swallowed_of_others(make_crawler, clock):
    """A middleware that drops requests without a word does not shut out the sites that
    are new.
    """
    crawler = make_crawler(CONCURRENT_REQUESTS=4)
    scheduler = open_scheduler(crawler)
    fill(scheduler, *(f"https://new{n}.example/" for n in range(8)))
    assert len(hand_out_all(crawler, scheduler)) == 4
    crawler.engine.downloader.active.clear()
    clock.turn(10)
    assert len(hand_out_all(crawler, scheduler)) == 3, "as many as if these had hung"


@ensureDeferred
async def test_the_probe_is_another_request_than_the_one_that_failed_last(make_crawler):
    """If there is one."""
    crawler = make_crawler(MANDELBOT_PAUSE_OPTIONS={"first": 0, "recovery": False})
    scheduler = open_scheduler(crawler)
    throttle = Crawl.of(crawler).throttle
    fill(scheduler, "https://a.example/good")
    fill(scheduler, "https://a.example/bad", priority=1)
    bad = scheduler.next_request()
    crawler.engine.downloader.active.add(bad)
    flight = throttle.flight_of(bad)
    throttle.pauses.refused(flight, "503")
    scheduler.enqueue_request(throttle.send_back(flight))
    crawler.engine.downloader.active.discard(bad)

    probe = scheduler.next_request()

    crawler.engine.downloader.active.add(probe)
    assert probe.url == "https://a.example/good"
    assert scheduler.next_request() is None
    flight = throttle.flight_of(probe)
    throttle.answered(flight)
    throttle.release(flight)
    assert scheduler.next_request() is bad
    assert bad.dont_filter is False


@pytest.mark.parametrize("later", [0, 100])
@ensureDeferred
async def test_where_all_were_refused_they_are_probes_by_turns(
    make_crawler, clock, later
):
    """The one that was refused longest ago first: a limit may have refused it.

    Also where each is sent as soon as the pause is over, and the others would wait for
    longer.
    """
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    throttle, active = Crawl.of(crawler).throttle, crawler.engine.downloader.active
    fill(scheduler, *(f"https://a.example/{number}" for number in range(4)))
    sent = []

    def refuse_next() -> None:
        request = scheduler.next_request()
        sent.append(request.url[-1])
        throttle.pauses.refused(throttle.flight_of(request), "503")
        scheduler.enqueue_request(throttle.send_back(throttle.flight_of(request)))
        active.discard(request)

    first = [scheduler.next_request() for _ in range(4)]
    active.update(first)
    for request in first:
        throttle.pauses.refused(throttle.flight_of(request), "503")
    for request in first:
        scheduler.enqueue_request(throttle.send_back(throttle.flight_of(request)))
    active.clear()
    for _ in range(4):
        assert scheduler.next_request() is None, "paused"
        pause = Crawl.of(crawler).sites["https://a.example"].pause
        clock.turn(pause.until - clock.now() + later)
        refuse_next()
    assert sent == [request.url[-1] for request in first]
    assert len(list(scheduler.mqs.drain())) == 4


@ensureDeferred
async def test_peek_is_what_pop_would_return(make_crawler):
    """And leaves it in the queue."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    assert scheduler.mqs.peek() is None
    fill(scheduler, *URLS)
    while scheduler.mqs:
        expected = scheduler.mqs.peek()
        assert scheduler.mqs.pop() is expected


@ensureDeferred
async def test_a_site_without_requests_is_not_shown(make_crawler):
    """Empty sub-queues are of nobody's interest."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, *URLS)
    drain(scheduler)
    queue = scheduler.mqs
    assert list(queue.sub_queues()) == []
    assert len(queue) == 0
    assert len(scheduler) == 0


@ensureDeferred
async def test_the_engine_is_woken_for_requests_that_wait(
    make_crawler, clock, monkeypatch
):
    """For requests that wait, of the site or of any; with none, it sleeps on."""
    woken = []
    monkeypatch.setattr(site_queue.engine, "wake", woken.append)
    crawler = make_crawler(CONCURRENT_REQUESTS=2)
    scheduler, throttle = open_scheduler(crawler), Crawl.of(crawler).throttle
    fill(scheduler, "https://a.example/")
    site = throttle.sites.of("https://a.example")
    throttle.update(site)
    assert len(woken) == 1, "its request waits"
    (request,) = hand_out_all(crawler, scheduler)
    throttle.update(site)
    assert len(woken) == 1, "it has none"
    throttle.in_flight.unresponsive.fail(throttle.flight_of(request), Failure.TIMED_OUT)
    fill(scheduler, "https://b.example/")
    assert scheduler.next_request() is None
    throttle.update(site)
    assert len(woken) == 2, "another site's request is held until one answers"


@ensureDeferred
async def test_a_sub_queue_is_made_once_for_a_page_and_its_links(
    make_crawler, monkeypatch
):
    """And again after a thousand other sites: a crawl may meet a million."""
    made = Counter()

    def counted(site, parts):
        made[site.name] += 1
        return SubQueue(site, parts)

    monkeypatch.setattr(site_queue, "SubQueue", counted)
    scheduler = open_scheduler(make_crawler())
    for number in range(3):
        fill(scheduler, f"https://a.example/{number}")
        drain(scheduler)
    assert made == {"https://a.example": 1}
    for number in range(_MOST_RESTING):
        fill(scheduler, f"https://site{number}.example/")
        drain(scheduler)
    fill(scheduler, "https://a.example/", f"https://site{number}.example/2")
    assert made["https://a.example"] == 2
    assert made[f"https://site{number}.example"] == 1


@ensureDeferred
async def test_a_sub_queue_whose_requests_wait_is_not_dropped(make_crawler, clock):
    """However many others have none left meanwhile: it would be made a second time."""
    crawler = make_crawler()
    scheduler, throttle = open_scheduler(crawler), Crawl.of(crawler).throttle
    fill(scheduler, "https://a.example/1")
    flight = throttle.flight_of(scheduler.next_request())
    flight.not_before = clock.now() + 60
    scheduler.enqueue_request(throttle.send_back(flight))
    fill(scheduler, "https://b.example/1")
    drain(scheduler)
    fill(scheduler, "https://b.example/2")
    refuse(crawler, "https://b.example/")
    for number in range(_MOST_RESTING + 1):
        fill(scheduler, f"https://site{number}.example/")
    drain(scheduler)
    assert Crawl.of(crawler).waiting("https://b.example") == 1
    fill(scheduler, "https://a.example/2")
    clock.turn(60)
    assert sorted(drain(scheduler))[:2] == [
        "https://a.example/1",
        "https://a.example/2",
    ]


@ensureDeferred
async def test_a_site_that_only_waits_takes_little_memory(make_crawler):
    """With what Scrapy keeps of its request: a download slot of one sub-queue has no
    dict.
    """
    scheduler = open_scheduler(make_crawler())
    requests = [Request(f"https://site{number}.example/") for number in range(2_000)]
    tracemalloc.start()
    for request in requests:
        scheduler.enqueue_request(request)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken / len(requests) < 3_150  # bytes


def calls_of(function) -> int:
    """Return how many functions, of Python and C, a call of this one calls."""
    calls = []
    sys.setprofile(
        lambda _frame, event, _argument: calls.append(event.endswith("call"))
    )
    function()
    sys.setprofile(None)
    return sum(calls)


@ensureDeferred
async def test_pushes_and_pops_cost_the_same_among_many_sites(make_crawler):
    """Among twenty sites or five thousand: neither looks at the others."""
    found = []
    for sites in 20, 5_000:
        crawler = make_crawler()
        scheduler = open_scheduler(crawler)
        fill(scheduler, *(f"https://site{number}.example/" for number in range(sites)))
        scheduler.next_request()
        again = Request(f"https://site{sites - 5}.example/2")
        pushed = calls_of(lambda: scheduler.enqueue_request(again))  # noqa: B023 -- called at once
        found.append((pushed, calls_of(scheduler.next_request)))
    for few, many in zip(*found, strict=True):
        assert many < 1.1 * few  # a collection of garbage in between calls some


@ensureDeferred
async def test_the_robots_txt_of_a_site_that_never_answered_holds_a_place(make_crawler):
    """As the page does that waits for it: hosts that hang would hold all places."""
    crawler = make_crawler(CONCURRENT_REQUESTS=8)
    scheduler = open_scheduler(crawler)
    throttle = Crawl.of(crawler).throttle
    fill(scheduler, "https://new.example/")
    hand_out_all(crawler, scheduler)
    robots = Request(
        "https://new.example/robots.txt",
        callback=NO_CALLBACK,
        meta={"dont_pause": True},
    )
    flight = throttle.flight_of(robots)
    assert len(throttle.in_flight.unresponsive) == 2
    throttle.release(flight)
    assert len(throttle.in_flight.unresponsive) == 1


@ensureDeferred
async def test_what_waits_for_a_time_of_its_own_is_counted_once_among_those_that_wait(
    make_crawler, clock
):
    """While it waits, when its time has come, and when the queue is closed before."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    throttle = Crawl.of(crawler).throttle
    waiting = Crawl.of(crawler).waiting
    fill(scheduler, "https://a.example/1", "https://a.example/2")
    (queue,) = throttle.in_flight.queues

    def delay() -> None:
        flight = throttle.flight_of(scheduler.next_request())
        flight.not_before = clock.now() + 60
        scheduler.enqueue_request(throttle.send_back(flight))

    delay()
    assert waiting("https://a.example") == 2
    assert queue.delayed_of(throttle.sites.of("https://a.example")) == 1
    clock.turn(60)
    assert waiting("https://a.example") == 2
    assert queue.delayed_of(throttle.sites.of("https://a.example")) == 0
    delay()
    delay()
    assert len(list(queue.drain())) == 2
    assert queue.delayed_of(throttle.sites.of("https://a.example")) == 0
