"""How sites answered lately, request by request: whom a refusal is to be blamed on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.gates.loners import Loners
from scrapy_mandelbot.gates.sites import LatelyWell, site_of_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.gates.handouts import Handouts
    from scrapy_mandelbot.politeness import PauseLaw, Refusal


class Answers:
    """The answers of all sites: good ones, refusals, and none at all."""

    def __init__(
        self, crawler: Crawler, law: PauseLaw, handouts: Handouts, now: Callable[[], float]
    ) -> None:
        self._crawler = crawler
        self._handouts = handouts
        self._now = now
        self._well = LatelyWell()
        self._loners = Loners(law)

    def fingerprint(self, request: Request) -> bytes:
        """Return what tells the request from others, also after it was on disk."""
        return self._crawler.request_fingerprinter.fingerprint(request)

    def good(self, request: Request) -> None:
        """Note that the request was answered well."""
        site = site_of_request(request)
        self._well.note(site, self._now(), self._handouts.tick())
        if len(self._loners):
            self._loners.answered(site, self.fingerprint(request))

    def good_rate(self, site: str) -> float:
        """Return the good answers a second that the site gave lately."""
        good = self._well.get(site)
        return good.goodput.rate(self._now()) if good else 0.0

    def is_to_blame(self, request: Request, refusal: Refusal) -> bool:
        """Note that the request was refused; return whether its URL is to blame, not its site."""
        site = site_of_request(request)
        good = self._well.get(site)
        return self._loners.refused(
            site,
            self.fingerprint(request),
            refusal,
            self._handouts.sent_at(request),
            None if good is None else good.latest,
        )

    def may_go_at(self, request: Request) -> float:
        """Return when the request may be sent again, where its URL is to blame; 0: it is not."""
        if not len(self._loners):
            return 0.0
        return self._loners.may_go_at(site_of_request(request), self.fingerprint(request))

    def times_alone(self, request: Request) -> int:
        """Return how often the request was refused, where its URL is to blame."""
        return self._loners.times_alone(site_of_request(request), self.fingerprint(request))

    def forget(self, request: Request) -> None:
        """Forget how often the request was refused: it is tried no more."""
        self._loners.forget(site_of_request(request), self.fingerprint(request))

    def is_silent(self, request: Request, *, is_certain: bool) -> bool:
        """Note that the request got no answer; return whether its site is down for a while.

        Not one that never answered in this run, and not for a single URL: such requests are
        RetryMiddleware's, as always.

        Args:
            request: the one that got no answer.
            is_certain: whether nobody listens there, so that one request is proof enough.
        """
        good = self._well.get(site_of_request(request))
        if good is None:
            return False
        good.unanswered_since.add(self.fingerprint(request))
        return is_certain or len(good.unanswered_since) > 1
