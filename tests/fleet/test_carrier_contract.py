"""What the carrier of a job does behind the six calls of ``RedisJobServer``.

Nothing here knows what the server is. Leases are of a tenth of a second where one has
to end.
"""

from __future__ import annotations

import os
import time
from itertools import count

import pytest
from redis_server import NEEDS_REDIS

from scrapy_mandelbot.fleet.job_server import JobTerms
from scrapy_mandelbot.fleet.redis_job import RedisJobServer
from scrapy_mandelbot.fleet.shared_job import SharedJob
from scrapy_mandelbot.job.job_store import OWN_START, START, Place, StorageError

SITE, OTHER = "https://example.com", "https://example.org"
FIRST_IN = Place(0, 0, is_last_first=False)
SHORT = 0.1  # seconds
_names = count()


class Member:
    """A worker of a job, as the crawl has it, whose exchanges a test makes."""

    def __init__(self, url: str, terms: JobTerms) -> None:
        self.server = RedisJobServer(url, terms)
        self.joined = self.server.join()
        self.job = SharedJob(self.joined, time.monotonic)

    def exchange(self, take: int = 0, idle: str = "", out=()):
        """Say all, request so many sites, and return the reply."""
        reply = self.server.exchange(self.job.next_exchange(take, idle, out))
        if not reply.is_lost:
            self.job.take_answer(reply)
        return reply

    def bodies(self, site: str) -> list[bytes]:
        """Claim all that came of a site."""
        found = []
        while (kept := self.job.claim(site)) is not None:
            found.append(kept.body)
        return found

    def all_bodies(self, site: str, most: int) -> list[bytes]:
        """Claim all that waits of a site, in so many exchanges at most."""
        found = self.bodies(site)
        for _ in range(most):
            self.job.poll_dry([site])
            self.exchange()
            found += self.bodies(site)
        return found

    def settle(self, site: str) -> None:
        """Report all that was claimed of a site as done, and give the site back."""
        for number in list(self.job._claimed):
            self.job.acknowledge(number)
        self.job.give_back(site)
        self.exchange()


@pytest.fixture
def url(request) -> str:
    return request.getfixturevalue("redis_server").url


@pytest.fixture
def member(url):
    """Let workers join one job, which no other test has."""
    name = f"contract-{os.getpid()}-{next(_names)}"
    opened = []

    def join(lease: float = 60.0, **terms) -> Member:
        opened.append(Member(url, JobTerms(name, lease, **terms)))
        return opened[-1]

    yield join
    for one in opened:
        one.server.leave(one.job.worker, one.job.token)
    if opened:
        opened[-1].server.view().forget()
    for one in opened:
        one.server.close()


@NEEDS_REDIS
def test_workers_join_one_job(member):
    """Each has a number of its own, and a token."""
    one, other = member().server, member().server
    first, second = one.join(), other.join()
    assert first.worker != second.worker
    assert first.token != second.token
    assert (first.run, first.born) == (second.run, second.born)
    assert second.others == first.others + 1
    one.leave(first.worker, first.token)
    other.leave(second.worker, second.token)


@NEEDS_REDIS
def test_cookies_are_the_last_change_of_each(member):
    """In the order of their changes, some at a time, and no more than the limit."""
    one, other = member().server, member().server
    reply = one.cookies(0, 10, 3, [("a", b"1"), ("b", b"1")])
    assert reply.bodies == [b"1", b"1"]
    assert other.cookies(0, 10, 3, [("a", b"2")]).bodies == [b"1", b"2"]
    assert one.cookies(reply.last, 10, 3, []).bodies == [b"2"]
    some = one.cookies(0, 1, 3, [])
    assert (some.bodies, some.has_more) == ([b"1"], True)
    rest = one.cookies(some.last, 10, 3, [])
    assert (rest.bodies, rest.has_more) == ([b"2"], False)
    one.cookies(rest.last, 10, 3, [("c", b"3"), ("d", b"3")])
    assert other.cookies(0, 10, 3, []).bodies == [b"2", b"3", b"3"]


@NEEDS_REDIS
def test_a_finished_job_has_no_cookies(member):
    one = member()
    last = one.server.cookies(0, 10, 10, [("a", b"1")]).last
    one.job.push(SITE, FIRST_IN, b"page")
    one.exchange(take=1)
    one.bodies(SITE)
    assert one.server.cookies(0, 10, 10, []).bodies == [b"1"]
    one.settle(SITE)
    assert one.exchange(idle="wait").outcome == "finished"
    reply = one.server.cookies(0, 10, 10, [])
    assert (reply.bodies, reply.last) == ([], last)


@NEEDS_REDIS
def test_own_start_requests_are_sent_once_in_each_run(member):
    """By all workers together; a run begins when no other worker is alive."""
    first, second = member(), member()
    for one in (first, second):
        one.job.push_child(SITE, FIRST_IN, b"login", 7, OWN_START)
    assert [one.exchange().passed_over for one in (first, second)] == [0, 1]
    for one in (first, second):
        one.server.leave(one.job.worker, one.job.token)
    third = member()
    third.job.push_child(SITE, FIRST_IN, b"login", 7, OWN_START)
    assert third.exchange().passed_over == 0


@NEEDS_REDIS
def test_a_job_belongs_to_one_project(member):
    """A worker of another one is refused; one that names none is not."""
    member(project="shops")
    with pytest.raises(StorageError, match="shops"):
        member(project="news")
    member()


@NEEDS_REDIS
def test_parent_and_children_change_in_one_exchange(member):
    """Made again without an answer it is applied once, and returns all that it gave."""
    one = member()
    one.job.push(SITE, FIRST_IN, b"parent")
    one.exchange(take=1)
    parent = one.job.claim(SITE)
    one.job.push_new(SITE, FIRST_IN, b"child", 7, parent.number)
    one.job.acknowledge(parent.number)
    one.server.exchange(one.job.next_exchange(0, ""))  # the answer does not arrive
    assert one.exchange().is_again
    one.job.poll_dry([SITE])
    one.exchange()
    assert one.bodies(SITE) == [b"child"]
    assert one.server.view().lengths() == {SITE: (0, 1)}


@NEEDS_REDIS
def test_a_site_has_one_owner(member):
    """Until that one gives it back."""
    one, other = member(), member()
    one.job.push(SITE, FIRST_IN, b"page")
    one.exchange(take=1)
    other.job.push(SITE, FIRST_IN, b"another")
    other.exchange(take=5)
    assert not other.job.sites
    one.job.give_back(SITE)
    one.exchange()
    other.exchange(take=5)
    assert other.bodies(SITE) == [b"page", b"another"]


@NEEDS_REDIS
def test_requests_of_a_site_come_by_priority_and_order(member):
    """The lower first, then the older, or the newer where that is asked for."""
    one = member()
    for priority, body in ((0, b"c"), (-1, b"a"), (0, b"d"), (-1, b"b"), (5, b"e")):
        place = Place(priority, 0, is_last_first=False)
        one.job.push(SITE, place, body)
        one.job.push(OTHER, place._replace(is_last_first=True), body)
    one.exchange(take=2)
    assert one.all_bodies(SITE, 5) == [b"a", b"b", b"c", b"d", b"e"]
    assert one.all_bodies(OTHER, 5) == [b"b", b"a", b"d", b"c", b"e"]


@NEEDS_REDIS
def test_a_fingerprint_is_stored_once(member):
    """Whichever worker sees it first."""
    one, other = member(), member()
    for worker in (one, other):
        worker.job.push_new(SITE, FIRST_IN, b"page", -7, None)
    assert one.exchange(take=1).dropped == 0
    assert other.exchange().dropped == 1
    assert one.bodies(SITE) == [b"page"]


@NEEDS_REDIS
def test_requests_without_a_filter_are_stored_as_often_as_one_worker_yields_them(
    member,
):
    """All workers run start()."""
    one, other = member(), member()
    one.job.push_child(SITE, FIRST_IN, b"front", 7, START)
    for _ in range(2):
        other.job.push_child(SITE, FIRST_IN, b"front", 7, START)
    assert one.exchange().passed_over == 0
    assert other.exchange(take=1).passed_over == 1
    assert other.bodies(SITE) == [b"front"] * 2


@NEEDS_REDIS
def test_a_site_is_left_alone_as_long_as_its_owner_says(member):
    """Its state comes with it to the next owner."""
    one, other = member(), member()
    one.job.push(SITE, FIRST_IN, b"page")
    one.exchange(take=1)
    one.job.rest(SITE, b"paused", "200")
    one.job.give_back(SITE)
    one.exchange()
    reply = other.exchange(take=1)
    if not reply.sites:  # else the machine was slow
        assert 0 < reply.next_due <= 0.2
    while not reply.sites:
        reply = other.exchange(take=1)
    assert reply.sites == {SITE: b"paused"}


@NEEDS_REDIS
def test_a_worker_that_is_silent_loses_its_sites(member):
    """Another one gets what waited, then what was sent."""
    late, other = member(lease=SHORT), member()
    for number in range(3):
        late.job.push(SITE, FIRST_IN, b"%d" % number)
    late.exchange(take=1)
    sent = late.job.claim(SITE)
    late.exchange(out={sent.number})
    while not other.job.sites:
        other.exchange(take=1)
    assert other.all_bodies(SITE, 3) == [b"1", b"2", b"0"]
    late.job.acknowledge(sent.number)
    assert late.exchange().is_lost
    assert not late.server.sends(late.job.worker, late.job.token, [sent.number])


@NEEDS_REDIS
def test_a_request_with_which_workers_died_is_set_aside(member):
    """After as many deaths as the terms say; the view has the reason."""
    other = member(deliveries=2)
    other.job.push(SITE, FIRST_IN, b"kills")
    other.exchange()
    for _ in range(2):
        late = member(deliveries=2)
        late.exchange(take=1)
        late.exchange(out={late.job.claim(SITE).number})
        late.server._lease = -1  # it ends with the next exchange
        late.server.exchange(late.job.only_renewing())
    aside = other.exchange(take=1).aside
    assert [(line, body) for line, _, body in aside] == [(SITE, b"kills")]
    view = other.server.view()
    ((reason, number),) = view.aside()[SITE].items()
    assert (reason, number) == (aside[0][1], 1)
    assert [one.body for one in view.requests()] == [b"kills"]
    assert view.requeue(SITE) == [SITE]
    assert view.aside() == {}


@NEEDS_REDIS
def test_a_request_that_was_not_sent_has_no_part_in_a_death(member):
    """However often workers die that hold it: another one gets it in its place."""
    member(deliveries=1)
    late, other = member(lease=SHORT, deliveries=1), member(deliveries=1)
    late.job.push(SITE, FIRST_IN, b"waits")
    late.job.push(SITE, FIRST_IN, b"next")
    late.exchange(take=1)
    assert late.job.claim(SITE).body == b"waits"
    late.exchange()
    while not other.job.sites:
        assert other.exchange(take=1).aside == ()
    assert other.all_bodies(SITE, 2) == [b"waits", b"next"]
    assert other.server.view().aside() == {}


@NEEDS_REDIS
def test_a_request_that_one_version_cannot_read_goes_to_another(member):
    """A worker of its own version does not get it again."""
    old, new = member(version="old"), member(version="new")
    old.job.push(SITE, FIRST_IN, b"page")
    old.exchange(take=1)
    old.job.refuse(old.job.claim(SITE).number, "no such method")
    old.job.give_back(SITE)
    old.exchange()
    old.exchange(take=1)
    assert not old.job.sites
    new.exchange(take=1)
    assert new.bodies(SITE) == [b"page"]


@NEEDS_REDIS
def test_a_request_left_to_the_next_run_goes_to_no_worker_before(member):
    """It waits, as the view has it, and the run does not count as finished."""
    one, other = member(), member()
    for body in (b"given up", b"page"):
        one.job.push(SITE, FIRST_IN, body)
    one.exchange(take=1)
    one.job.leave_to_next_run(one.job.claim(SITE).number)
    one.job.give_back(SITE)
    one.exchange()
    other.exchange(take=1)
    assert other.bodies(SITE) == [b"page"]
    other.settle(SITE)
    view = other.server.view()
    assert view.lengths() == {SITE: (1, 0)}
    assert view.aside() == {}
    replies = [who.exchange(take=1, idle="wait") for who in (one, other, one)]
    assert (replies[-1].run, replies[-1].outcome) == (1, "sites_paused")
    for who in (one, other):
        who.server.leave(who.job.worker, who.job.token)
    last = member()
    last.exchange(take=1)
    last.exchange(take=1)
    assert last.bodies(SITE) == [b"given up"]
    last.settle(SITE)
    assert view.lengths() == {}
    assert last.exchange(take=1, idle="wait").outcome == "finished"


@NEEDS_REDIS
def test_a_leaving_worker_frees_its_sites_and_has_not_died(member):
    """What it says of them holds for the next owner."""
    one, other = member(), member()
    for site in (SITE, OTHER):
        one.job.push(site, FIRST_IN, b"page")
    one.exchange(take=2)
    one.exchange(out={one.job.claim(SITE).number})
    left = [(OTHER, b"paused", "100000")]
    one.server.leave(one.job.worker, one.job.token, left)
    other.exchange(take=2)
    assert other.bodies(SITE) == [b"page"]
    assert OTHER not in other.job.sites
    assert other.server.view().known() == {OTHER: b"paused"}


@NEEDS_REDIS
def test_a_run_ends_when_all_are_idle_and_nothing_waits(member):
    """Not before; each learns of it by its next exchange."""
    one, other = member(), member()
    one.job.push(SITE, FIRST_IN, b"page")
    one.exchange(take=1)
    other.exchange(idle="wait")
    one.job.acknowledge(one.job.claim(SITE).number)
    one.job.give_back(SITE)
    one.exchange()
    assert other.exchange(idle="wait").run == 0
    reply = one.exchange(idle="wait")
    assert (reply.run, reply.outcome) == (1, "finished")
    assert other.exchange(idle="wait").run == 1


@NEEDS_REDIS
def test_who_joins_a_finished_job_learns_when_it_finished(member):
    """And how many requests it filters; not once there is something to do again."""
    one = member()
    assert one.joined.finished is None
    for number in range(3):
        one.job.push_new(SITE, FIRST_IN, b"page", number, None)
    one.exchange(take=1)
    assert len(one.all_bodies(SITE, most=3)) == 3
    assert member().joined.finished is None
    one.settle(SITE)
    before = one.exchange().now
    assert one.exchange(idle="wait").outcome == ""  # the other one is not idle
    one.server.leave(one.job.worker, one.job.token)
    last = member()
    reply = last.exchange(idle="wait")
    while reply.outcome != "finished":
        reply = last.exchange(idle="wait")
    finished = member().joined.finished
    assert before <= finished.at <= last.exchange().now
    assert finished.requests == 3
    last.job.push_new(SITE, FIRST_IN, b"new", 9, None)
    last.exchange()
    assert member().joined.finished is None


@NEEDS_REDIS
def test_reports_are_the_last_of_each_worker_in_the_last_run(member):
    """Each goes with an exchange that says something, or with the last one."""
    one, other = member(), member()
    view = one.server.view()
    one.job.report("one", 0, b"first")
    one.exchange()
    assert view.reports() == ([], 0)
    assert one.job.has_report
    one.job.see(7)
    one.exchange()
    assert view.reports() == ([b"first"], 0)
    for worker, body in ((one, b"second"), (other, b"other")):
        worker.job.report("one" if worker is one else "other", 0, body)
        worker.server.exchange(worker.job.next_exchange(0, "", is_last=True))
    assert sorted(view.reports()[0]) == [b"other", b"second"]
    other.exchange()
    other.job.report("other", 1, b"of the next run")
    other.job.see(8)
    other.exchange()
    assert view.reports() == ([b"of the next run"], 0)
    one.exchange()
    one.job.report("one", 0, b"late")
    one.job.see(9)
    one.exchange()
    assert view.reports() == ([b"of the next run"], 0)


@NEEDS_REDIS
def test_reports_of_many_workers_are_bounded(member):
    """Those that were written longest ago go, and are counted."""
    one = member()
    for number in range(203):
        one.job.report(f"worker {number}", 0, b"%d" % number)
        one.job.see(number)
        one.exchange()
    bodies, gone = one.server.view().reports()
    assert (len(bodies), gone) == (200, 3)


@NEEDS_REDIS
def test_the_view_changes_nothing_and_forgets_no_job_with_workers(member):
    """It shows who has the job."""
    one = member()
    one.job.push(SITE, FIRST_IN, b"page")
    one.exchange(take=1)
    view = one.server.view()
    assert view.exists()
    assert view.lengths() == {SITE: (0, 1)}
    ((_, (left, sites)),) = view.workers().items()
    assert 0 < left <= 60
    assert sites == 1
    with pytest.raises(StorageError):
        view.forget()
    assert one.bodies(SITE) == [b"page"]
