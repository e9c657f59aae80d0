"""Which waiting request probes a site, without a site."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import scrapy

from scrapy_mandelbot.politeness.failures import Failures
from scrapy_mandelbot.politeness.probe import (
    MOST_LOOKED_THROUGH,
    choose_probe,
    look_for_probe,
)


def request(path, method="GET"):
    return scrapy.Request(f"https://example.com{path}", method=method)


def path_of(one):
    return one.url.removeprefix("https://example.com")


@pytest.fixture
def site():
    """Return a paused one, whose /sick/ is suspected and whose /old was refused."""
    pause = SimpleNamespace(
        failed_probes=0, backoff=SimpleNamespace(place=0), rate_control=None
    )
    faults = SimpleNamespace(
        is_suspect=lambda one, _well: "/sick/" in one.url,
        urls={},
    )
    return SimpleNamespace(
        has_refused=True,
        pause=pause,
        faults=faults,
        failures=Failures.NONE,
        times=lambda path: path == "/old",
        well_url="https://example.com/",
    )


@pytest.mark.parametrize(
    "unfit",
    [
        request("/form", "POST"),
        request("/sick/1"),
        request("/sick/form", "POST"),
        request("/old"),
    ],
    ids=path_of,
)
def test_what_changes_something_or_is_suspected_is_no_probe(site, unfit):
    """Nor is a page that was refused before."""
    assert choose_probe(site, [unfit] * 3, path_of) is None
    assert choose_probe(site, [unfit, unfit, request("/new")], path_of) == 2


def test_a_site_that_never_refused_is_probed_with_the_first(site):
    site.has_refused = False
    assert choose_probe(site, [request("/old"), request("/new")], path_of) == 0


def looked_for(site, batches, *, is_checked=False):
    """Look for a probe in batches; return it, what was taken, and how many were asked
    for each time.
    """
    left = iter(batches)
    asked = []

    def take(most):
        asked.append(most)
        return next(left, [])

    found = look_for_probe(site, take, path_of, 2, lambda _: is_checked)
    return (*found, asked)


def test_more_requests_are_looked_through_until_one_is_fit(site):
    """Each time as many as before; all that were taken are returned."""
    first = [request("/old"), request("/sick/1")]
    second = [request("/sick/2"), request("/new")]
    chosen, taken, asked = looked_for(site, [first, second, [request("/newer")]])
    assert taken == [*first, *second]
    assert chosen == 3
    assert asked == [2, 2]


@pytest.mark.parametrize("is_checked", [True, False])
def test_if_none_is_fit_a_health_check_goes_else_the_one_refused_least(
    site, is_checked
):
    requests = [request("/sick/1"), request("/old")]
    chosen, taken, _ = looked_for(site, [requests], is_checked=is_checked)
    assert taken == requests
    assert chosen == (None if is_checked else 0)


def test_no_more_are_looked_through_than_the_limit(site):
    """The queue of a site may be long."""
    batches = [[request("/old")] * MOST_LOOKED_THROUGH, [request("/new")]]
    chosen, taken, asked = looked_for(site, batches, is_checked=True)
    assert chosen is None
    assert len(taken) == MOST_LOOKED_THROUGH
    assert len(asked) == 1


@pytest.mark.parametrize("is_checked", [True, False])
def test_where_pages_are_in_doubt_a_page_that_was_well_goes_first(site, is_checked):
    """What failed may be the pages: another one of the queue says less."""
    site.failures = Failures()
    site.failures.failed(b"/sick", sent=1, ticks=1, now=0.0)
    assert site.failures.doubted
    requests = [request("/new")]
    chosen, taken, asked = looked_for(site, [requests], is_checked=is_checked)
    if is_checked:
        assert (chosen, taken, asked) == (None, [], [])
    else:
        assert (chosen, taken) == (0, requests)
