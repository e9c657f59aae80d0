"""What the queue handed out comes back as it was."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from scrapy import Request

from scrapy_mandelbot.gates import Handouts


@pytest.fixture
def handouts() -> Handouts:
    downloader = SimpleNamespace(active=set(), slots={}, domain_concurrency=1)
    crawler = SimpleNamespace(
        engine=SimpleNamespace(downloader=downloader),
        settings=SimpleNamespace(getdict=lambda _: {}),
    )
    return Handouts(crawler, lambda _slot: None)


@pytest.mark.parametrize(
    "meta", [{}, {"download_slot": "mine", "other": 1}, {"proxy": "http://mine:1"}]
)
@pytest.mark.parametrize("dont_filter", [True, False])
def test_it_comes_back_as_it_was(handouts, meta, dont_filter):
    """The downloader writes its slot, a middleware a proxy, the way back its mark: none stays."""
    request = Request("https://example.com/", meta=dict(meta), dont_filter=dont_filter)
    handouts.hand_out(request, "example.com", "https://example.com")
    assert handouts.gate(request) == "https://example.com"
    request.meta["download_slot"] = "example.com"
    request.meta["proxy"] = "http://another:1"

    back = handouts.send_back(request, not_before=7.0)
    assert back is request
    assert back.dont_filter, "it has to pass the dupe filter"
    assert handouts.is_coming_back(request)
    assert handouts.in_slot("example.com") == 0
    assert handouts.take_back(request) == 7

    assert request.meta == meta
    assert request.dont_filter is dont_filter
    assert request not in handouts
    assert not handouts.is_coming_back(request)
    assert handouts.gate(request) is None


def test_what_was_not_handed_out_cannot_go_back(handouts):
    """Returned from a middleware it would be sent again at once."""
    with pytest.raises(KeyError):
        handouts.send_back(Request("https://example.com/"))


def test_a_new_request_is_taken_as_it_is(handouts):
    """A request that a spider yields is none that comes back."""
    request = Request("https://example.com/", meta={"download_slot": "mine"}, dont_filter=True)
    assert handouts.take_back(request) == 0
    assert request.dont_filter
    assert request.meta == {"download_slot": "mine"}
