"""Which responses show whether the clocks of both sides agree."""

from __future__ import annotations

from email.utils import formatdate
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.http import Response

from scrapy_mandelbot.downloadermiddlewares.signing import SigningMiddleware

URL = "https://example.com/page"
NOW = 1_800_000_000
AN_HOUR = 3_600


class Middleware(SigningMiddleware):
    """Compares clocks at a fixed time, and notes what it warns of."""

    def __init__(self):
        self.warned = []
        events = SimpleNamespace(emit=lambda _, **values: self.warned.append(values))
        self._crawl = SimpleNamespace(events=events)
        self._now = lambda: float(NOW)
        self._signed = {}
        self._knows_clocks = False
        self._has_warned_of_clocks = False

    def receive(self, off, status=200):
        """Receive the response to a signed request whose Date is so far off."""
        request = Request(URL, headers={"Signature-Agent": "x"})
        self._signed[request] = NOW - 1  # as signatures are dated back
        headers = {"Date": formatdate(NOW + off, usegmt=True)}
        self._restore(request, Response(URL, status, headers))
        assert "Signature-Agent" not in request.headers


@pytest.mark.parametrize("off", [AN_HOUR, -AN_HOUR])
def test_a_date_that_is_far_off_is_warned_of_once(off):
    middleware = Middleware()
    middleware.receive(off)
    middleware.receive(off, status=403)
    assert middleware.warned == [{"site": "https://example.com", "seconds": AN_HOUR}]


@pytest.mark.parametrize(("status", "warnings"), [(200, 0), (401, 1), (403, 1)])
def test_after_the_first_response_only_refusals_are_looked_at(status, warnings):
    """A signature that is refused may be so for its time."""
    middleware = Middleware()
    middleware.receive(0)
    middleware.receive(AN_HOUR, status)
    assert len(middleware.warned) == warnings
