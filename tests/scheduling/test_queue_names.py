"""What the queues within a site queue are called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_mandelbot.scheduling.round_robin import QueueParts

SITES = ["https://a.example", "http://[::1]:80", "data://"]


@pytest.mark.parametrize(
    ("site", "slot", "name"),
    [
        ("https://a.example", "a.example", "https://a.example"),
        ("https://a.example:8443", "a.example", "https://a.example:8443"),
        ("http://[::1]:80", "::1", "http://[::1]:80"),
        ("https://a.example", "mine", "https://a.example mine"),
        ("https://a.example", "my own", "https://a.example my%20own"),
        ("https://a.example", "100% /mine", "https://a.example 100%25%20/mine"),
        ("https://a.example", "", "https://a.example "),
        ("data://", "", "data://"),
    ],
)
def test_queue_names(site, slot, name):
    """A queue is named after its site, and its slot where that is another than the
    host.

    Both can be read from it again.
    """
    assert QueueParts(site, slot).name == name
    assert QueueParts.of(name) == (site, slot, "", True)


@given(
    st.sampled_from(SITES),
    st.text(),
    st.one_of(st.just(""), st.text().map("/".__add__)),
)
def test_any_slot_and_section_can_be_read_from_a_name_again(site, slot, section):
    """Spaces, slashes, percent signs and line ends are as good as any."""
    assert QueueParts.of(QueueParts(site, slot, section).name) == (
        site,
        slot,
        section,
        True,
    )


@pytest.mark.parametrize(
    "name",
    [
        "a.example",
        "127.0.0.1",
        "mine",
        "my own",
        "my /own",
        "",
        "https://a.example my own",
    ],
)
def test_a_queue_that_scrapy_left_is_named_after_its_slot(name):
    """It does not tell sites apart; nor does one whose name we would have written
    otherwise.
    """
    assert QueueParts.of(name) == (name, name, "", False)


@given(st.text())
def test_no_two_names_mean_the_same_queue(name):
    """Else the requests of one of them would be forgotten."""
    assert QueueParts.of(name).name == name
