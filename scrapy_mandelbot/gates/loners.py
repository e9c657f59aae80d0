"""Which URLs a site refuses, to tell a URL that alone is refused from a site that is down.

The first refusal always pauses the site. A second one of the same request, while others were
answered well and nobody else was refused, says something of that URL and nothing of the site: the
request is set aside for a while, and the site is asked on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness import PauseLaw, Refusal


@dataclass
class _Refused:
    """A request that was refused."""

    first_sent: int
    """When it was handed out first, in ticks."""
    times: int = 0
    may_go_at: float = 0.0
    """When it may be sent again, where it alone is refused."""


@dataclass
class _Site:
    refused: dict[bytes, _Refused] = field(default_factory=dict)
    refused_since_good: set[bytes] = field(default_factory=set)


class Loners:
    """The refused requests of all sites, by fingerprint. Ticks are those of ``Handouts``."""

    def __init__(self, law: PauseLaw) -> None:
        self._law = law
        self._sites: dict[str, _Site] = {}

    def __len__(self) -> int:
        return len(self._sites)

    def answered(self, site: str, fingerprint: bytes) -> None:
        """Note that the site answered this request well."""
        noted = self._sites.get(site)
        if noted is not None:
            noted.refused_since_good.clear()
            self.forget(site, fingerprint)

    def refused(
        self, site: str, fingerprint: bytes, refusal: Refusal, sent_at: int, good_at: int | None
    ) -> bool:
        """Note a refusal of this request; return whether the URL is to blame for it.

        Args:
            site: the site that refused it.
            fingerprint: of the request.
            refusal: what is known of it.
            sent_at: when the request was handed out, in ticks.
            good_at: when the site answered any request well, the last time; None: never.
        """
        noted = self._sites.setdefault(site, _Site())
        one = noted.refused.setdefault(fingerprint, _Refused(sent_at))
        one.times += 1
        noted.refused_since_good.add(fingerprint)
        is_well = good_at is not None and good_at > one.first_sent
        if one.times == 1 or not is_well or noted.refused_since_good != {fingerprint}:
            one.may_go_at = 0.0
            return False
        pause = self._law.pause_of_one(one.times - 1, refusal.retry_after)
        one.may_go_at = refusal.now + pause
        return True

    def times_alone(self, site: str, fingerprint: bytes) -> int:
        """Return how often this request was refused, if the URL is to blame; 0: it is not."""
        one = self._get(site, fingerprint)
        return one.times if one is not None and one.may_go_at else 0

    def may_go_at(self, site: str, fingerprint: bytes) -> float:
        """Return when this request may be sent again as far as the URL is to blame; 0: now."""
        one = self._get(site, fingerprint)
        return 0.0 if one is None else one.may_go_at

    def forget(self, site: str, fingerprint: bytes) -> None:
        """Forget how often the site refused this request: it is well, or tried no more."""
        noted = self._sites.get(site)
        if noted is not None:
            noted.refused.pop(fingerprint, None)
            if not noted.refused:
                del self._sites[site]

    def _get(self, site: str, fingerprint: bytes) -> _Refused | None:
        noted = self._sites.get(site)
        return None if noted is None else noted.refused.get(fingerprint)
