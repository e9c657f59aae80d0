"""Which sites answered well lately, and how well."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy.utils.httpobj import urlparse_cached

from scrapy_mandelbot.politeness import Goodput, site_of

if TYPE_CHECKING:
    from scrapy import Request

_REMEMBERED_SITES = 10_000


def site_of_request(request: Request) -> str:
    """Return the site that the request goes to."""
    return site_of(urlparse_cached(request))


@dataclass
class GoodAnswers:
    """The good answers of a site."""

    goodput: Goodput = field(default_factory=Goodput)
    latest: int = 0
    """When the last came in, in ticks of ``Handouts``."""
    unanswered_since: set[bytes] = field(default_factory=set)
    """The requests that got no answer since then, by fingerprint."""

    def note(self, now: float, tick: int) -> None:
        """Note one more."""
        self.goodput.answered(now)
        self.latest = tick
        if self.unanswered_since:
            self.unanswered_since.clear()


class LatelyWell:
    """The sites that answered well latest."""

    def __init__(self) -> None:
        self._sites: OrderedDict[str, GoodAnswers] = OrderedDict()

    def get(self, site: str) -> GoodAnswers | None:
        """Return the site's good answers, if it has given any lately."""
        return self._sites.get(site)

    def note(self, site: str, now: float, tick: int) -> None:
        """Note that the site answered well."""
        good = self._sites.get(site)
        if good is None:
            good = self._sites[site] = GoodAnswers()
            if len(self._sites) > _REMEMBERED_SITES:
                self._sites.popitem(last=False)
        else:
            self._sites.move_to_end(site)
        good.note(now, tick)
