"""What a job keeps of its sites: the run after a crash asks them as carefully as the
last one.
"""

from __future__ import annotations

import json
from math import inf

import pytest
from flights import follow
from scrapy import Request
from scrapy.utils.request import RequestFingerprinter
from test_job_scheduler import EngineSlot

from scrapy_mandelbot import JobScheduler
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.job.job import Job
from scrapy_mandelbot.job.site_handover import (
    ENDLESS,
    SiteHandover,
    StoredBudget,
    handover_of,
    is_calm,
    read_handover,
    rest_of,
)
from scrapy_mandelbot.politeness.budget import Spent
from scrapy_mandelbot.politeness.flight import GO, Flight, Wait
from scrapy_mandelbot.politeness.pace import Pace
from scrapy_mandelbot.politeness.pause import PauseState
from scrapy_mandelbot.politeness.pause_policy import LeftPause, PausePolicy, Refusal
from scrapy_mandelbot.politeness.site_state import Site
from scrapy_mandelbot.store import CachedRobots

SITE, OTHER = "https://example.com", "https://other.example"


class Run:
    """A run of the job; there is no store that outlasts it."""

    def __init__(self, crawler, clock) -> None:
        crawler.request_fingerprinter = RequestFingerprinter(crawler)
        crawler.engine._slot = EngineSlot()
        self._clock = clock
        self._stats = crawler.stats
        self._active = crawler.engine.downloader.active
        self.scheduler = JobScheduler.from_crawler(crawler)
        self.scheduler.open(crawler.spider)
        self.crawl = Crawl.of(crawler)
        self.throttle = self.crawl.throttle
        self.job = Job.of(crawler)
        self.is_over = False

    def push(self, *urls: str) -> None:
        for url in urls:
            self.scheduler.enqueue_request(Request(url))

    def next(self) -> Request | None:
        """Take what may be sent next."""
        request = self.scheduler.next_request()
        if request is not None:
            self._active.add(request)
        return request

    def all(self) -> list[Request]:
        """Take all that may be sent now."""
        return list(iter(self.next, None))

    def answer(
        self, request: Request, *, refuses: bool = False, retry_after=None
    ) -> None:
        """Answer a request, well or by a 503; one that was refused waits again."""
        flight = self.throttle.flight_of(request)
        self.throttle.let_leave(flight)
        self._active.discard(request)
        if refuses:
            self.throttle.pauses.refused(flight, "503", retry_after)
            self.scheduler.enqueue_request(self.throttle.in_flight.send_back(flight))
        else:
            self.throttle.answered(flight)
        self.throttle.release(flight)
        if not refuses:
            self.scheduler.finish_request(request)

    def refuse(self, request: Request, retry_after=None) -> None:
        self.answer(request, refuses=True, retry_after=retry_after)

    @property
    def told(self) -> int:
        """How many pauses of a former run the log tells of."""
        return self._stats.get_value("mandelbot/pause/restored", 0)

    def site(self, name: str = SITE):
        return self.throttle.sites.get(name)

    def die(self) -> None:
        """End as by a kill -9, when this turn of the loop is over."""
        self._clock.turn(0)
        self.stop(self.job.release)
        self._clock.calls.clear()

    def stop(self, how=None) -> None:
        if not self.is_over:
            self.is_over = True
            self.throttle.close()
            (how or (lambda: self.scheduler.close("shutdown")))()


@pytest.fixture
def run(make_crawler, clock, tmp_path):
    """Start a run."""
    runs = []

    def start(**settings) -> Run:
        crawler = make_crawler(
            JOBDIR=str(tmp_path), MANDELBOT_STORE="memory", **settings
        )
        runs.append(Run(crawler, clock))
        return runs[-1]

    yield start
    for one in runs:
        one.stop()


def pages(count: int, path: str = "", site: str = SITE) -> list[str]:
    return [f"{site}/{path}{number}" for number in range(count)]


def test_a_pause_is_committed_as_soon_as_it_begins(run, clock):
    """A crash in the next turn of the loop costs neither it nor its failed probes."""
    first = run()
    first.push(*pages(3))
    request = first.next()
    first.refuse(request, retry_after=60)
    first.die()
    second = run()
    assert second.told == 1
    assert not second.all()
    clock.turn(60)
    (probe,) = second.all()
    second.refuse(probe)
    second.die()
    third = run()
    assert third.site().pause.failed_probes == 1
    assert not third.all()


def test_a_pause_is_no_longer_where_the_clock_was_set_back(run, clock):
    """By a day between two runs: a pause of a minute is over after a minute."""
    first = run()
    first.push(*pages(3))
    first.refuse(first.next(), retry_after=60)
    first.job.saves.now()
    for name, value in first.job.store.states.with_prefix("site").items():
        later = json.loads(value)  # as a clock wrote it that was a day ahead
        if name.startswith("site/"):
            later = [[until + 86_400, *rest] for until, *rest in later]
        else:
            later += 86_400
        first.job.store.states.put(name, json.dumps(later).encode())
    first.job.store.commit()
    first.die()
    second = run()
    assert second.told == 1
    clock.turn(59)
    assert not second.all()
    clock.turn(1)
    assert len(second.all()) == 1


@pytest.mark.parametrize("is_back", [False, True])
def test_an_old_or_ending_pause_starts_with_a_probe(run, clock, is_back):
    """Of those that wait one goes first, however long ago it was."""
    first = run()
    first.push(*pages(5))
    first.refuse(first.next(), retry_after=60)
    if is_back:
        clock.turn(60)
        first.answer(first.next())
        assert first.site().pause.state is PauseState.RECOVERING
    first.die()
    clock.turn(100_000)
    second = run()
    assert not second.told
    (probe,) = second.all()
    second.answer(probe)
    clock.turn(1)
    assert second.all()


def test_a_recovered_sites_state_is_deleted(run, clock):
    """When it is asked as fast as before."""
    first = run()
    first.push(*pages(400))
    first.refuse(first.next(), retry_after=10)
    clock.turn(0)
    assert first.job.kept("site/")
    for _ in range(300):
        clock.turn(0.1)
        for request in first.all():
            first.answer(request)
        if first.site() is None or first.site().pause.is_open:
            break
    clock.turn(0)
    assert not first.job.kept("site/")


def test_a_given_up_site_is_tried_again_in_the_next_run(run, clock):
    """With a probe; it is tried as often as in the first run."""
    first = run(MANDELBOT_PAUSE_OPTIONS={"tries": 2})
    first.push(*pages(3))
    for _ in range(9):
        for request in first.all():
            first.refuse(request)
        clock.turn(1_000)
    assert first.site().pause.is_given_up
    first.die()
    second = run(MANDELBOT_PAUSE_OPTIONS={"tries": 2})
    (probe,) = second.all()
    second.refuse(probe)
    assert not second.site().pause.is_given_up


def test_a_section_stays_set_aside(run, clock):
    """The rest of the site is asked at once."""
    first = run()
    first.push(*pages(60), *pages(6, "shop/"))
    for _ in range(300):
        clock.turn(0.2)
        for request in first.all():
            first.answer(request, refuses="/shop/" in request.url)
        aside = list(first.site().faults.aside.values()) if first.site() else []
        if aside and aside[0].is_reported:
            break
    (section,) = aside
    due = section.pause.due(clock.now())
    assert due > clock.now()
    first.push(*pages(3, "new/"))
    first.die()
    second = run()
    (left,) = second.site().left()
    assert (left.section, left.until) == ("/shop/", due)
    urls = [request.url for request in second.all()]
    assert urls
    assert not [url for url in urls if "/shop/" in url]
    clock.turn(due - clock.now())
    (probe,) = [request for request in second.all() if "/shop/" in request.url]
    second.answer(probe)
    clock.turn(0)
    assert not second.job.kept("site/")


def test_a_pause_found_by_another_crawl_is_stored_too(run, clock):
    """Until when it holds, by this one's clock."""
    first = run()
    first.push(*pages(2))
    first.job.saves.now()
    first.crawl.throttle.peers.hear_pause(SITE, LeftPause(clock.now() + 60, "503"))
    first.die()
    assert not run().all()


def test_of_sites_without_requests_only_current_pauses_are_restored(run, clock):
    """Nothing would end the others."""
    first = run()
    first.push(*pages(1), *pages(1, site=OTHER))
    for request in first.all():
        first.crawl.manual_control.hold(
            SITE if SITE in request.url else OTHER, clock.now() + 50, "by hand"
        )
        first.scheduler.finish_request(request)
    long = Request(f"{SITE}/long")
    flight = first.throttle.flight_of(long)
    first.throttle.pauses.refused(flight, "503", 500)
    first.throttle.release(flight)
    flight = first.throttle.flight_of(Request(f"{OTHER}/short"))
    first.throttle.pauses.refused(flight, "503", 60)
    first.throttle.release(flight)
    first.die()
    clock.turn(100)
    second = run()
    assert second.site().pause.until > clock.now()
    assert second.site(OTHER) is None
    assert list(second.job.kept("site/")) == [f"site/{SITE}"]


@pytest.mark.parametrize(
    "value",
    [
        b"{",
        b"7",
        b'[["a"]]',
        b'[[null, "", 0]]',
        b"\xff",
        b'[[1e400, "", 0, "/x/", 1]]',
    ],
)
def test_an_unreadable_state_is_ignored(run, value):
    """The run begins all the same, and it is gone."""
    first = run()
    first.push(*pages(2))
    first.job.put(f"site/{SITE}", value)
    first.job.saves.now()
    first.die()
    second = run()
    assert len(second.all()) == 2


def test_a_pause_without_end_is_limited_like_any_other(run, clock):
    """Whatever the file says."""
    first = run()
    first.push(*pages(2))
    first.job.put(f"site/{SITE}", json.dumps([[1e300, "for ever", 0]]).encode())
    first.job.saves.now()
    first.die()
    second = run()
    clock.turn(7 * 86_400)
    assert len(second.all()) == 1


@pytest.mark.parametrize("section", ["", "/shop/"])
def test_a_handover_uses_the_servers_clock(section):
    """Which is ahead of that of who writes it, and by another time of that of who reads
    it.
    """
    pauses = LeftPause(100.0, "503", 2, section), LeftPause(50.0, "429", 0, "")
    copy = CachedRobots(b"User-agent: *", 200, 30.0, f"{SITE}/robots.txt", '"tag"')
    known = SiteHandover(pauses, robots=copy)
    assert read_handover(known.written(1_000.0), 1_000.0) == known
    there = read_handover(known.written(1_000.0), 400.0)
    assert [one.until for one in there.pauses] == [700.0, 650.0]
    assert there.robots.fetched_at == 630.0
    here = read_handover(known.written())
    assert [one.until for one in here.pauses] == [100.0, 50.0]


def test_a_section_that_refuses_robots_still_does_at_its_next_owner():
    """No run is kept open for it, and it is paused for hours."""
    site = Site(SITE, PausePolicy())
    site.restore(0.0, LeftPause(50.0, "a challenge", 1, "/shop/", refuses_robots=True))
    state = SiteHandover(tuple(site.left())).written()
    again = Site(SITE, PausePolicy())
    for left in read_handover(state).pauses:
        again.restore(0.0, left)
    assert again.decide(0.0, section="/shop/") == (Wait.ROBOTS, 50.0)
    assert again.decide(0.0) is GO


PAUSE = LeftPause(100.0, "503", 2, "")
BUDGET = StoredBudget(Spent(3, 70, 1.5), is_reached=True)
COPY = CachedRobots(b"\x00\xff" * 900 + b"Disallow: /\n", 404, 30.0)


@pytest.mark.parametrize("pauses", [(), (PAUSE,)])
@pytest.mark.parametrize("budget", [None, BUDGET])
@pytest.mark.parametrize("robots", [None, COPY])
def test_what_is_known_of_a_site_is_read_as_it_was_written(pauses, budget, robots):
    """Each part with and without the others; what is requeued is the first line."""
    known = SiteHandover(pauses, budget, robots)
    state = known.written()
    assert read_handover(state) == known
    assert bool(state) == any(known)
    _, *rest = state.partition(b"\n")
    without = b"".join(rest) if b"\n" in state else b""
    assert read_handover(without) == known._replace(pauses=())


# Of one site.


def refuse(site: Site, now: float, retry_after: float | None = None) -> None:
    flight = Flight(None, site)
    flight.request = type("Page", (), {"url": f"{site.name}/page", "method": "GET"})()
    site.handed_out(flight, now, as_scout=False)
    site.refused(flight, b"page", Refusal(now, "503", retry_after, 0.0))


def test_a_pause_is_left_to_the_next_owner():
    """Until when, by the server's clock, why, and how many probes have failed."""
    site = Site("https://example.com", PausePolicy())
    assert handover_of(site, 100.0) == SiteHandover()
    assert rest_of(site, 100.0, 0.0) == "0"
    refuse(site, 100.0, 30.0)
    known = handover_of(site, 110.0)
    assert rest_of(site, 110.0, 0.0) == "20000"
    assert not is_calm(site)
    (pause,) = read_handover(known.written(50.0), 70.0).pauses
    assert (pause.until, pause.reason, pause.failed_probes) == (110.0, "503", 0)


def test_a_crawl_delay_holds_for_the_next_owner():
    """The longer one; a site that is given up waits for the next run."""
    site = Site("https://example.com", PausePolicy())
    follow(site, Pace(5.0), inf, 100.0)
    assert handover_of(site, 100.0).written() == b""
    assert rest_of(site, 100.0, 0.0) == "5000"
    assert rest_of(site, 100.0, 8.0) == "8000"
    assert is_calm(site)
    site.give_up("enough")
    assert rest_of(site, 100.0, 0.0) == ENDLESS


def test_a_quota_that_is_used_up_holds_for_the_next_owner():
    """Until there is more of it; what is left of it may be asked for at once."""
    site = Site("https://example.com", PausePolicy())
    flights = [Flight(None, site) for _ in range(3)]
    for flight in flights:
        site.pacer.let_pass(flight)
    for flight, left in zip(flights, (1, 0), strict=False):
        site.pacer.note_quota(flight, left, 60.0, 100.0)
        site.recheck()
        assert rest_of(site, 110.0, 0.0) == ("0" if left else "50000")
    assert rest_of(site, 161.0, 0.0) == "0"


UNREADABLE = [b"", b"{", b"7", b'[["a"]]', b'[[null, "", 0]]', b"\xff"]


@pytest.mark.parametrize("state", UNREADABLE)
@pytest.mark.parametrize("line", range(3))
def test_an_unreadable_handover_is_ignored(state, line):
    """The server holds the site back as long as its owner has said; other lines are
    read.
    """
    lines = SiteHandover((PAUSE,), BUDGET, COPY).written().split(b"\n")
    lines[line] = state
    known = read_handover(b"\n".join(lines))
    expected = [(PAUSE,), BUDGET, COPY]
    expected[line] = SiteHandover()[line]
    assert [*known] == expected
