"""How many requests at once a site gets that resets further connections."""

from __future__ import annotations

from math import inf

import pytest

from scrapy_mandelbot.politeness.connection_ceiling import ConnectionCeiling


class Resets:
    """A site that accepts so many connections, and a crawl of so many at once.

    `dead`: pages that drop their connections. `drops_new`: whether each page drops a
    connection that is new, once; one that was kept open Twisted replaces by itself.
    """

    def __init__(
        self, accepts: float, most: int = 8, dead: int = 0, *, drops_new: bool = False
    ) -> None:
        self.accepts = accepts
        self.most = most
        self.dead = dead
        self.drops_new = drops_new
        self.kept_open = 1
        self.ceiling = ConnectionCeiling()
        self.in_flight: list[int] = []
        self.tick = 0
        self.lost = 0
        self.spent = 0
        self.checks = 0

    def fill_up(self) -> None:
        """Send as many as may go; what is lost goes back at once."""
        sent: list[tuple[int, bool]] = []
        while len(self.in_flight) + len(sent) < min(self.most, self.ceiling.most):
            self.tick += 1
            at_once = len(self.in_flight) + len(sent) + 1
            is_dead = self.dead > 0 and self.tick % self.dead == 0
            is_dropped = self.drops_new and at_once > self.kept_open
            sent.append((self.tick, is_dead or is_dropped or at_once > self.accepts))
        for number, (tick, is_lost) in enumerate(sent):
            if not is_lost:
                self.in_flight.append(tick)
                continue
            self.lost += 1
            left = sum(lost for _, lost in sent[number:])
            at_once = len(self.in_flight) + left
            page = b"%d" % tick
            if not self.ceiling.lost(page, at_once, tick, self.tick):
                self.spent += 1
            if self.ceiling.is_in_doubt:
                self.check()

    def check(self) -> None:
        """Request a page again that was well: a new connection is all it needs."""
        self.tick += 1
        self.checks += 1
        if len(self.in_flight) + 1 > self.accepts:
            self.lost += 1
            self.ceiling.lost_check(self.tick, self.tick)
        else:
            self.kept_open = max(self.kept_open, len(self.in_flight) + 1)

    def crawl(self, pages: int) -> None:
        """Answer so many, a round trip at a time."""
        while pages > 0:
            self.fill_up()
            pages -= len(self.in_flight)
            for _ in self.in_flight:
                self.tick += 1
                self.ceiling.answered(self.tick)
            self.in_flight.clear()


@pytest.mark.parametrize("accepts", [1, 2, 3, 5, 6])
def test_the_number_of_connections_is_found_by_their_resets(accepts):
    """Few are lost, and hardly a retry is spent."""
    site = Resets(accepts)
    site.crawl(300)
    assert accepts <= site.ceiling.most <= accepts + 1, "one more is tried at times"
    assert site.ceiling.confirmed
    assert site.lost <= 16
    assert site.spent <= 1


def test_a_limit_that_is_lifted_is_noticed():
    site = Resets(3)
    site.crawl(100)
    site.accepts = inf
    site.crawl(2_000)
    assert site.ceiling.most == inf


@pytest.mark.parametrize("dead", [2, 3, 6, 20])
def test_pages_that_drop_their_connections_keep_no_other_back(dead):
    """Some of them are lost in a row; the requests at once are as many as before, most
    of the time.
    """
    site = Resets(inf, dead=dead)
    round_trips = 0
    limited = 0
    for _ in range(300):
        site.crawl(1)
        round_trips += 1
        limited += site.ceiling.most < site.most
    assert limited < 0.1 * round_trips


def test_pages_that_drop_a_connection_once_are_no_limit():
    """A page that was well needs a new connection, too, and gets one."""
    site = Resets(inf, drops_new=True)
    site.crawl(300)
    assert site.ceiling.most == inf
    assert not site.ceiling.is_certain
    assert site.checks <= 8


def test_a_lost_connection_confirms_no_number_if_a_check_is_answered():
    site = Resets(inf, drops_new=True)
    site.fill_up()
    assert site.ceiling.most == 1
    site.crawl(4)
    assert site.checks
    assert site.ceiling.most > 1
    assert not site.ceiling.confirmed


def test_a_limit_is_checked_once():
    """From then on a lost connection alone confirms it."""
    site = Resets(3)
    site.crawl(300)
    assert site.checks == 1
    assert site.ceiling.is_certain


def test_a_connection_that_is_lost_alone_is_the_pages():
    ceiling = ConnectionCeiling()
    assert not any(ceiling.lost(b"%d" % page, 1, page, page) for page in range(9))
    assert ceiling.most == inf


def test_one_page_that_is_lost_again_and_again_is_no_sign():
    ceiling = ConnectionCeiling()
    assert not any(ceiling.lost(b"one", 8, tick, tick) for tick in range(9))


def test_an_outage_is_no_limit_of_connections():
    """All are lost: fewer are sent, and when the last one is lost, too, the pages'
    retries count from then on.
    """
    ceiling = ConnectionCeiling()
    explained = [ceiling.lost(b"%d" % one, 8 - one, 0, 9) for one in range(8)]
    assert explained == [False, *[True] * 6, False]
    later = [ceiling.lost(b"%d" % one, 8, one, one) for one in range(10, 30)]
    assert not any(later), "nothing was answered well since"
    assert ceiling.most == inf


def test_what_no_limit_explains_is_counted_after_all():
    """Of each page of a burst that the site accepted none of, once."""
    ceiling = ConnectionCeiling()
    explained = [one for one in range(8) if ceiling.lost(b"%d" % one, 8 - one, 0, 9)]
    owed = [one for one in range(8) if ceiling.take_owed(b"%d" % one)]
    assert owed == explained
    assert not any(ceiling.take_owed(b"%d" % one) for one in range(8))


def test_what_a_limit_explains_is_not_counted():
    """Some of the burst were accepted, though a later trial refutes the number."""
    ceiling = ConnectionCeiling()
    explained = [ceiling.lost(b"%d" % one, 8 - one, 0, 9) for one in range(5)]
    assert explained == [False, *[True] * 4]
    assert ceiling.most == 3
    for tick in range(10, 16):
        ceiling.lost(b"alone", 1, tick, tick)
    assert ceiling.most == inf
    assert not any(ceiling.take_owed(b"%d" % one) for one in range(8))


def test_a_check_that_is_well_begins_no_new_count():
    """Pages of another method may all be lost; a page has to be answered well."""
    ceiling = ConnectionCeiling()
    for one in range(8):
        ceiling.lost(b"%d" % one, 8 - one, 0, 9)
    ceiling.answered(10, is_check=True)
    later = [ceiling.lost(b"%d" % one, 8, one, one) for one in range(11, 30)]
    assert not any(later)
    ceiling.answered(30)
    assert any(ceiling.lost(b"%d" % one, 8, one, one) for one in range(31, 50))
