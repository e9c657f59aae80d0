"""When a crawl counts as cut off: no site is to blame then."""

from __future__ import annotations

import pytest

from scrapy_mandelbot.politeness.network import ENOUGH_SILENT, SILENCE, Network

PATIENCE = 100.0


def sites(number, *, known=1):
    """Return sites, of which so many have answered in this run."""
    made = []
    for one in range(number):
        # each is another key
        site = type("Site", (), {"has_answered": one < known, "number": one})
        made.append(site)
    return made


@pytest.fixture
def network():
    return Network(PATIENCE)


def test_several_that_fail_for_a_second_are_a_failure_of_the_network(network):
    """It began with the first of them, and is news once."""
    first, *others, last = sites(ENOUGH_SILENT + 1)
    assert not network.failed(first, 10.0)
    assert not any(network.failed(one, 10.5) for one in others)
    assert not network.is_down(10.5)
    assert network.failed(last, 10.0 + SILENCE)
    assert network.down_since == 10.0
    assert network.is_down(10.0 + SILENCE)
    assert not network.failed(first, 12.0)


@pytest.mark.parametrize(
    ("number", "known", "after"),
    [
        (ENOUGH_SILENT, 0, SILENCE),  # dead hosts are all that is left
        (ENOUGH_SILENT - 1, 1, SILENCE),
        (ENOUGH_SILENT, 1, SILENCE / 2),
    ],
    ids=["none has answered", "too few", "too soon"],
)
def test_anything_less_is_none(network, number, known, after):
    failed = sites(number, known=known)
    for site in failed:
        network.failed(site, 10.0)
    assert not network.failed(failed[0], 10.0 + after)
    assert not network.is_down(10.0 + after)
    assert network.answered() == ()


def test_the_one_that_has_answered_may_be_any_of_them(network):
    """Here it is the last that fails."""
    *others, known = reversed(sites(ENOUGH_SILENT))
    for site in (*others, known):
        network.failed(site, 10.0)
    assert network.failed(others[0], 10.0 + SILENCE)


def test_an_answer_ends_it(network):
    """Those that were silent are asked at once."""
    failed = sites(ENOUGH_SILENT)
    for site in failed:
        network.failed(site, 10.0)
    network.failed(failed[0], 10.0 + SILENCE)
    assert network.answered() == tuple(failed)
    assert not network.is_down(12.0)
    assert network.answered() == ()


def test_it_counts_again_after_a_while(network):
    """Three hosts may be down for good."""
    failed = sites(ENOUGH_SILENT)
    for site in failed:
        network.failed(site, 10.0)
    network.failed(failed[0], 10.0 + SILENCE)
    assert network.counts_at == 10.0 + PATIENCE
    assert network.is_down(10.0 + PATIENCE - 1)
    assert not network.is_down(10.0 + PATIENCE)
