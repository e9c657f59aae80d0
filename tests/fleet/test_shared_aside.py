"""What is set aside in a job on Redis: pages that kill, and requests that nobody can
read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from redis_server import NEEDS_REDIS

from scrapy_mandelbot.job.job_store import Place, StorageError

if TYPE_CHECKING:
    from shared_jobs import Worker

pytestmark = NEEDS_REDIS

LIFO, FIFO = Place(0, 0, is_last_first=True), Place(0, 0, is_last_first=False)
SITE, OTHER = "https://example.com", "https://example.org"


def dies(worker: Worker) -> None:
    """End the lease of a worker, as if it had said nothing for as long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker.server, "_lease", -1)
        worker.server.exchange(worker.only_renewing())


def drain(worker: Worker, line: str = SITE) -> list[bytes]:
    bodies = []
    while (kept := worker.claim(line)) is not None:
        bodies.append(kept.body)
    return bodies


def takes(worker: Worker, line: str = SITE) -> list[bytes]:
    """Let a worker claim all that it gets of a site; it has sent all of it."""
    worker.exchange(take=4)
    worker.exchange(take=4)
    bodies = drain(worker, line)
    worker.exchange()
    return bodies


def settles(worker: Worker) -> None:
    """Let a worker end all that it has sent, and give its sites back."""
    for number in list(worker.claimed()):
        worker.acknowledge(number)
    for site in list(worker.sites):
        worker.give_back(site)
    worker.exchange()


def test_a_page_that_kills_takes_three_workers_and_no_more(worker):
    """It is set aside with its reason, which a worker logs; the rest is crawled."""
    one = worker()
    for number in range(3):
        one.push(SITE, FIFO, b"%d" % number)
    one.exchange()
    one.leave()
    for deaths in range(1, 4):
        one = worker()
        assert b"0" in takes(one), deaths
        dies(one)
    last = worker()
    crawled = takes(last)
    reply = list(last.answer.aside)
    for _ in range(4):
        settles(last)
        crawled += takes(last)
        reply += last.answer.aside
    assert sorted(crawled) == [b"1", b"2"]
    assert last.view.aside() == {SITE: {"3 workers have died with it": 1}}
    settles(last)
    last.exchange(take=1)
    answer = last.exchange(take=1, idle="wait")
    assert (answer.run, answer.outcome) == (1, "job_set_aside")


def test_requests_sent_at_a_workers_death_come_last(worker):
    """Behind what has a lower priority, and behind sites of others; what was not sent
    does not.
    """
    first, second = worker(), worker()
    first.push(SITE, FIFO, b"sent")
    first.push(SITE, FIFO, b"claimed")
    first.push(SITE, Place(9, 0, is_last_first=False), b"late")
    first.exchange(take=1)
    assert first.claim(SITE).body == b"sent"
    first.exchange()
    dies(first)
    assert takes(second) == [b"claimed", b"late", b"sent"]


def test_a_worker_gets_few_suspects_at_a_time(worker):
    """Eight; one alone where another death would be the last; others can have more."""
    first = worker()
    for number in range(20):
        first.push(SITE, FIFO, b"%d" % number)
    first.exchange(take=1)
    while len(list(first.claimed())) < 20:
        drain(first)
        first.poll_dry([SITE])
        first.exchange()
    dies(first)
    second = worker()
    second.exchange(take=1)
    for _ in range(5):
        second.exchange(take=1)
        drain(second)
        second.poll_dry([SITE])
    assert len(list(second.claimed())) == 8
    second.exchange()
    dies(second)
    third, sizes = worker(), []
    for _ in range(14):
        third.exchange(take=1)
        sizes.append(len(drain(third)) + len(drain(third)))
        settles(third)
    assert sum(sizes) > 0
    assert max(sizes) <= 4


@pytest.mark.parametrize("deliveries", range(1, 6))
def test_a_page_that_kills_among_others_is_set_aside_alone(worker, deliveries):
    """One of 200, of which 16 are sent at a time: no other page goes with it."""
    done: set[bytes] = set()
    deaths = 0
    one = worker(limit=deliveries)
    for number in range(200):
        one.push(SITE, FIFO, b"%d" % number)
    while not crawl(one, done):
        deaths += 1
        dies(one)
        one = worker(limit=deliveries)
    assert done == {b"%d" % number for number in range(200) if number != 100}
    assert deaths == max(deliveries, 2), "of several, the first death identifies none"
    told = {f"{deaths} workers have died with it": 1}
    assert one.view.aside() == {SITE: told}


def crawl(one: Worker, done: set[bytes]) -> bool:
    """Crawl as a worker does that page 100 kills; return whether it is through."""
    sent: dict[int, bytes] = {}
    nothing_for = 0
    while nothing_for < 3:
        one.poll_dry([SITE])
        one.exchange(take=1)
        while len(sent) < 16 and (kept := one.claim(SITE)) is not None:
            sent[kept.number] = kept.body
        nothing_for = 0 if sent else nothing_for + 1
        one.exchange()
        for number in list(sent)[:4]:
            body = sent.pop(number)
            if body == b"100":
                return False
            one.acknowledge(number)
            done.add(body)
    return True


def test_leaving_does_not_count_as_a_death(worker):
    """What it had sent goes on as if nothing had been; so does what was never sent."""
    first, second = worker(), worker()
    first.push(SITE, FIFO, b"page")
    first.push(SITE, FIFO, b"next")
    assert takes(first) == [b"page", b"next"]
    first.leave()
    assert takes(second) == [b"page", b"next"]
    assert not second.redis.hlen(f"{second.server.key}:deaths")


def test_settled_requests_have_no_deaths(worker):
    """Nothing of it stays."""
    first, second = worker(), worker()
    first.push(SITE, FIFO, b"page")
    takes(first)
    dies(first)
    assert takes(second) == [b"page"]
    assert second.redis.hlen(f"{second.server.key}:deaths")
    settles(second)
    assert not second.redis.hlen(f"{second.server.key}:deaths")


def test_a_request_unreadable_to_one_version_goes_to_another(worker):
    """Each of two cannot read what the other one gave; each gets its own, and all is
    done.
    """
    old, new = worker(version="a"), worker(version="b")
    for number in range(6):
        old.push(SITE, FIFO, b"a%d" % number)
        new.push(SITE, FIFO, b"b%d" % number)
    old.exchange()
    new.exchange()
    done = []
    for _ in range(20):
        for one, mine in ((old, b"a"), (new, b"b")):
            one.exchange(take=1)
            while (kept := one.claim(SITE)) is not None:
                if kept.body.startswith(mine):
                    done.append(kept.body)
                    one.acknowledge(kept.number)
                else:
                    one.refuse(kept.number, "no such method")
            one.poll_dry([SITE])
            one.exchange()
            if SITE in one.sites and not one.lengths():
                one.give_back(SITE)
    assert sorted(done) == [b"%c%d" % (who, n) for who in b"ab" for n in range(6)]
    old.exchange(take=1, idle="wait")
    answer = new.exchange(take=1, idle="wait")
    assert (answer.run, answer.outcome) == (1, "finished")


def test_a_request_unreadable_to_all_versions_waits_for_a_new_one(worker):
    """With its reason; the run ends, not as finished.

    A worker of none of them is given it.
    """
    old, new = worker(version="a"), worker(version="b")
    old.push(SITE, FIFO, b"what")
    for one in (old, new, old, new):
        one.exchange(take=1)
        kept = one.claim(SITE)
        if kept is not None:
            one.refuse(kept.number, "no such method")
            one.give_back(SITE)
        one.exchange()
    assert old.view.aside() == {SITE: {"no such method": 1}}
    old.exchange(take=1, idle="wait")
    new.exchange(take=1, idle="wait")
    answer = old.exchange(take=1, idle="wait")
    assert (answer.run, answer.outcome) == (1, "job_set_aside")
    old.leave()
    new.leave()
    again = worker(version="b")
    assert takes(again) == []
    newest = worker(version="c")
    assert takes(newest) == [b"what"]
    settles(newest)
    assert newest.view.aside() == {}


def test_a_requeued_request_counts_as_new(worker):
    """Of one site, or of all; deaths are forgotten."""
    one = worker(limit=2)
    for site in (SITE, OTHER):
        one.push(site, FIFO, b"page")
    for _ in range(3):
        for site in (SITE, OTHER):
            takes(one, site)
        dies(one)
        one = worker(limit=2)
    two = worker(limit=2)
    assert takes(two) == []
    settles(two)
    assert set(two.view.aside()) == {SITE, OTHER}
    assert two.view.requeue(OTHER) == [OTHER]
    assert takes(two, OTHER) == [b"page"]
    settles(two)
    assert two.view.requeue("") == [SITE]
    assert takes(two) == [b"page"]


def test_two_projects_cannot_share_a_job_name(worker):
    """Another one's workers are refused, and told how to give each its own; the first
    goes on.
    """
    first = worker(project="shops")
    with pytest.raises(StorageError, match=r"'shops'.*'books'.*MANDELBOT_JOB_OPTIONS"):
        worker(project="books")
    worker(project="shops")
    worker(project="")
    assert not first.exchange().is_lost
