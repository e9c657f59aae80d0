"""What sites said as they refused last: the answer to requests that are not sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.stores import Recent
from scrapy_mandelbot.throttle.proxies import key_of

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_mandelbot.politeness import Flight

REFUSAL_FLAG = "mandelbot_refused"
"""The flag of a response that answers for a site which was not asked."""

REFUSALS_LIMIT = 16 * 1024 * 1024
"""Bytes of the last refusals that are kept, of all sites."""
REFUSAL_LIMIT = 64 * 1024
"""Bytes of the body of one."""
_OVERHEAD = 2 * 1024  # bytes of a response without its body


class Refusals:
    """The last refusal of each site and route, as many as fit."""

    def __init__(self) -> None:
        self._kept: Recent[Response] = Recent(REFUSALS_LIMIT)

    def keep(self, flight: Flight, response: Response) -> None:
        """Keep what a site said to a request, in place of what it said before."""
        # Without its request: that would hold meta, and what hangs on it.
        kept = response.replace(body=response.body[:REFUSAL_LIMIT], request=None)
        self._kept.put(key_of(flight.site.name, flight.route), kept, _OVERHEAD + len(kept.body))

    def answer(self, flight: Flight) -> Response | None:
        """Return it as the answer to another request; None: nothing was said, or is kept."""
        kept = self._kept.get(key_of(flight.site.name, flight.route))
        if kept is None:
            return None
        request = flight.request
        return kept.replace(url=request.url, request=request, flags=[REFUSAL_FLAG])
