"""Which URLs a site refuses, to tell a URL that alone is refused from a site that is down.

The first refusal always pauses the site. A second one of the same request, while others were
answered well and no other was refused, says something of that URL and nothing of the site: the
request waits alone for a while, and the site is asked on.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.pause import PauseLaw, Refusal

MOST_REFUSED_URLS = 1_000
"""Of a site; those that were refused first are forgotten."""


class _RefusedUrl:
    __slots__ = ("first_sent", "may_go_at", "times")

    def __init__(self, first_sent: int) -> None:
        self.first_sent = first_sent
        self.times = 0
        self.may_go_at = 0.0


class RefusedUrls:
    """The refused requests of a site, by fingerprint. Ticks are those of its state."""

    __slots__ = ("_law", "_since_good", "_urls")

    def __init__(self, law: PauseLaw) -> None:
        self._law = law
        self._urls: OrderedDict[bytes, _RefusedUrl] = OrderedDict()
        self._since_good: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._urls)

    def answered(self, fingerprint: bytes) -> None:
        """Note that the site answered this request well."""
        self._since_good.clear()
        self._urls.pop(fingerprint, None)

    def refused(
        self, fingerprint: bytes, refusal: Refusal, sent_at: int, good_at: int | None
    ) -> bool:
        """Note a refusal of this request; return whether the URL is to blame for it.

        Args:
            fingerprint: of the request.
            refusal: what is known of it.
            sent_at: when the request was handed out, in ticks.
            good_at: when the site answered any request well, the last time; None: never.
        """
        one = self._urls.get(fingerprint)
        if one is None:
            one = self._urls[fingerprint] = _RefusedUrl(sent_at)
            if len(self._urls) > MOST_REFUSED_URLS:
                forgotten, _ = self._urls.popitem(last=False)
                self._since_good.discard(forgotten)
        one.times += 1
        self._since_good.add(fingerprint)
        is_well = good_at is not None and good_at > one.first_sent
        if one.times == 1 or not is_well or self._since_good != {fingerprint}:
            one.may_go_at = 0.0
            return False
        one.may_go_at = refusal.now + self._law.pause_of_one(one.times - 1, refusal.retry_after)
        return True

    def times_alone(self, fingerprint: bytes) -> int:
        """Return how often this request was refused, if the URL is to blame; 0: it is not."""
        one = self._urls.get(fingerprint)
        return one.times if one is not None and one.may_go_at else 0

    def may_go_at(self, fingerprint: bytes) -> float:
        """Return when this request may be sent again as far as the URL is to blame; 0: now."""
        one = self._urls.get(fingerprint)
        return 0.0 if one is None else one.may_go_at

    def forget(self, fingerprint: bytes) -> None:
        """Forget how often the site refused this request: it is tried no more."""
        self._urls.pop(fingerprint, None)
        self._since_good.discard(fingerprint)
