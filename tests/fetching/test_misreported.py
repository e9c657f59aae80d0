"""Whether a site sends a 5xx for what does not exist, without a crawl."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scrapy_mandelbot.fetching.requesting import IMPOSSIBLE_PATH, RobotsRequester
from scrapy_mandelbot.store.memory import MemoryStore

SITE = "https://example.com"


class Requester(RobotsRequester):
    """Asks a site whose statuses are given, by path."""

    def __init__(self, statuses):
        self.asked = []
        self._store = MemoryStore()
        self._now = lambda: 1e9
        self._events = SimpleNamespace(emit=lambda *_, **__: None)

        async def status(url, _request):
            self.asked.append(url.removeprefix(SITE))
            return statuses[self.asked[-1]]

        self.files = SimpleNamespace(status=status)

    def misreports(self, status):
        """Return whether it sends this status in place of a 404."""
        with pytest.raises(StopIteration) as ended:
            self._misreports(SITE, None, status).send(None)
        return ended.value.value


@pytest.mark.parametrize(
    ("front", "missing", "misreports"),
    [(200, 500, True), (200, 404, False), (200, 503, False), (301, 500, True)],
)
def test_a_site_that_sends_it_for_a_path_that_cannot_exist(front, missing, misreports):
    """The store knows it for a day."""
    requester = Requester({"/": front, IMPOSSIBLE_PATH: missing})
    assert requester.misreports(500) == misreports
    assert requester.misreports(500) == misreports
    assert requester.asked == ["/", IMPOSSIBLE_PATH]


@pytest.mark.parametrize("front", [500, 404, None])
def test_a_site_whose_front_page_is_not_good_is_asked_no_more(front):
    requester = Requester({"/": front})
    assert not requester.misreports(500)
    assert requester.asked == ["/"]
