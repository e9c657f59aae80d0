"""Sites whose sitemaps are costly to read share a fifth of the event loop. (selection.py)"""

from __future__ import annotations

import pytest

from scrapy_mandelbot.sitemap_crawl import selection
from scrapy_mandelbot.sitemap_crawl.progress import SiteProgress


class Machine:
    """A processor and a clock, turned by hand; time passes as the loop is called later."""

    def __init__(self) -> None:
        self.spent = self.now = 0.0
        self.waits: list[float] = []

    def call_later(self, delay, function, *args):
        self.waits.append(delay)
        self.now += delay
        function(*args)

    def run(self, *parts):
        """Read slices, each of a site that takes some time; return the times until the next."""
        before = len(self.waits)
        for progress, took in parts:
            began = self.spent
            self.spent += took
            self.now += took
            with pytest.raises(StopIteration):  # it ends without a wait
                self.share.end_slice(progress, began).send(None)
        return self.waits[before:]


@pytest.fixture
def machine(monkeypatch):
    machine = Machine()
    monkeypatch.setattr(selection, "thread_time", lambda: machine.spent)
    monkeypatch.setattr(selection, "monotonic", lambda: machine.now)
    monkeypatch.setattr(selection, "call_later", machine.call_later)

    async def done(_deferred):
        return None

    monkeypatch.setattr(selection, "maybe_deferred_to_future", done)
    machine.share = selection.LoopShare()
    return machine


def test_the_first_seconds_are_read_at_full_speed(machine):
    """As are all sitemaps of a site that lists a few hundred thousand pages."""
    one, other = SiteProgress(), SiteProgress()
    assert machine.run(*[(one, 0.5), (other, 0.5)] * 10) == [0.0] * 20


def test_beyond_them_a_slice_rests_four_times_as_long(machine):
    """So that others have at least four fifths of the time."""
    site = SiteProgress()
    machine.run((site, 5.0))
    assert machine.run((site, 0.5), (site, 0.25)) == [2.0, 1.0]


def test_another_site_is_still_read_at_full_speed(machine):
    """Each has its own budget."""
    costly, cheap = SiteProgress(), SiteProgress()
    machine.run((costly, 6.0))
    assert machine.run((cheap, 1.0), (costly, 1.0), (cheap, 1.0))[::2] == [0.0, 0.0]


def test_costly_sites_rest_for_each_other(monkeypatch, machine):
    """However many they are, together they have a fifth."""
    monkeypatch.setattr(
        selection, "call_later", lambda delay, f, *a: (machine.waits.append(delay), f(*a))
    )
    sites = [SiteProgress(cost=6.0) for _ in range(4)]
    waits = machine.run(*((site, 0.5) for site in sites))
    ends = [0.5 * number + wait for number, wait in enumerate(waits, 1)]
    assert ends == pytest.approx([2.5, 4.5, 6.5, 8.5])
