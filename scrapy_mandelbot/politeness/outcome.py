"""What an answer to ``/robots.txt`` means.

Source: Mandelbot, "HTTP Status Codes". One table, read from the top; the first row that takes
the answer decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container


class OutcomeKind(Enum):
    """What a fetch tells us about a site."""

    RULES = "rules"
    """The body holds the site's rules."""
    ALLOW_ALL = "allow all"
    """There is no robots.txt: every URL may be crawled."""
    UNAVAILABLE = "unavailable"
    """Nobody knows yet: the site is left alone for a while, then asked again."""
    UNASKED = "unasked"
    """The question never reached a site: the request goes on, and fails or not by itself."""


@dataclass(frozen=True)
class Outcome:
    """What one fetch of a robots.txt told us, and why, in words for a log."""

    kind: OutcomeKind
    reason: str
    status: int | None = None
    retry_after: float | None = None
    """Seconds that the server asks to be left alone, where it asked."""

    @property
    def keeps(self) -> bool:
        """Whether the outcome holds until its copy is stale."""
        return self.kind in {OutcomeKind.RULES, OutcomeKind.ALLOW_ALL}


_STATUS_MEANINGS = (
    (range(200, 300), OutcomeKind.RULES, "has rules"),
    (range(300, 400), OutcomeKind.ALLOW_ALL, "redirects to nowhere"),
    # 401 and 403 too. (Mandelbot, "HTTP Status Codes")
    (range(400, 500), OutcomeKind.ALLOW_ALL, "there is none"),
    (range(500, 600), OutcomeKind.UNAVAILABLE, "a server error"),
    # No document speaks of these. A server that answers so is out of order.
    (range(1000), OutcomeKind.UNAVAILABLE, "a status without a meaning"),
)


def status_outcome(
    status: int, pause_statuses: Container[int], retry_after: float | None = None
) -> Outcome:
    """Return what the final status of a robots.txt fetch means, redirects having been followed.

    Args:
        status: the HTTP status code, 0 to 999.
        pause_statuses: the statuses that pause a site whatever was asked.
        retry_after: seconds that the server asks for, if it does.
    """
    if status in pause_statuses:  # whatever was asked, before anything else
        kind, meaning = OutcomeKind.UNAVAILABLE, "asks for a pause"
    else:
        kind, meaning = next(row[1:] for row in _STATUS_MEANINGS if status in row[0])
    if kind is not OutcomeKind.UNAVAILABLE:
        retry_after = None
    return Outcome(kind, f"robots.txt: {status}, {meaning}", status, retry_after)
