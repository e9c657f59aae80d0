"""Refusals that no pause status shows. Loaded with the first answer that may be one.

A challenge, a price or a bare 403; and what the function in ``MANDELBOT_REFUSAL``
recognises.
"""

from __future__ import annotations

import json
from math import inf
from typing import TYPE_CHECKING, Any

from mandelbot.answers.content_codings import UnreadableBodyError, unpack
from mandelbot.answers.meaning import Kind, ResponseMeaning
from mandelbot.formatting import shown
from scrapy.exceptions import IgnoreRequest

from scrapy_mandelbot import events
from scrapy_mandelbot.fetching.decoding import decoded
from scrapy_mandelbot.fetching.download_limits import codings_of
from scrapy_mandelbot.politeness.faults import REFUSES_ROBOTS
from scrapy_mandelbot.politeness.pause import PauseEffect
from scrapy_mandelbot.politeness.pause_policy import Refusal
from scrapy_mandelbot.settings.values import fail_cleanly, loaded_function

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.crawl import Crawl
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.site_state import Site

_LONGEST_DETAILS = 16_384  # bytes of problem details, decoded; longer ones are not read
LONGEST_REFUSAL = 1024 * 1024
"""Bytes of a body that is unpacked for the project's function; a longer one is a page.
"""
_LONGEST = 100  # characters of a problem's type, and of its title


class Refusals:
    """Recognises the refusals of one crawl."""

    def __init__(self, crawler: Crawler, crawl: Crawl) -> None:
        self._crawler = crawler
        self._crawl = crawl
        self._has_failed = False

    # Challenges.

    def is_bot_block(
        self, flight: Flight[Site], response: Response, meaning: ResponseMeaning
    ) -> bool:
        """Note a challenge, a price or a bare 403.

        Returns whether the request goes back.

        Only the probe of a site or section that blocks robots goes back to the queue.
        """
        request = flight.request
        throttle = self._crawl.throttle
        site = flight.site
        section = site.faults.of(request)
        is_probe = False
        if section is not None and section.refuses_robots:
            is_probe = section.pause.probe is flight
        why = f"{response.status} for {request}, {meaning.said or 'no good page since'}"
        is_marked = meaning.kind is Kind.TERMS
        if is_marked and not is_probe:
            request.meta["dont_retry"] = True  # a retry gets the same
        refusal = Refusal(
            self._crawl.now(), f"{REFUSES_ROBOTS}: {why}", marked=is_marked
        )
        fingerprint = throttle.in_flight.fingerprint_of(flight)
        effect = site.refused(flight, fingerprint, refusal)
        if effect is PauseEffect.MAY_REFUSE_ROBOTS:
            self._crawl.events.emit(events.MAY_REFUSE_ROBOTS, where=site.name, why=why)
        elif effect is not None:
            if effect is PauseEffect.REFUSES_ROBOTS:
                throttle.in_flight.evict(site)
            throttle.pauses.section(effect, site, request)
            throttle.update(site)
        return is_probe

    # Bodies.

    def load(self) -> None:
        """Import the project's function."""
        with fail_cleanly(self._crawler):
            self._looks_refused = loaded_function(
                "MANDELBOT_REFUSAL", self._crawl.config.refusal
            )

    def recognised(
        self, request: Request, response: Response
    ) -> ResponseMeaning | None:
        """Return what an answer means, if the project's function refuses it."""
        as_for_spider = self._decoded(request, response)
        if as_for_spider is None:
            return None
        function = self._looks_refused
        name = f"{function.__module__}.{getattr(function, '__qualname__', function)}"
        try:
            said: Any = function(as_for_spider)
            is_refusal = bool(said)
            seconds = float(said) if is_refusal else 0.0
            problem = f"it returned {said!r}"
        except Exception as error:  # noqa: BLE001 -- whatever the project's function raises
            is_refusal = False
            seconds = -1.0
            problem = repr(error)
        if not 0 <= seconds < inf:
            emit = self._crawl.events.emit
            if self._has_failed:
                emit = self._crawl.events.count
            self._has_failed = True
            emit(events.REFUSAL_FAILED, function=name, url=response.url, error=problem)
            return None
        wait = None if said is True else seconds
        if is_refusal:
            return ResponseMeaning(Kind.NOT_NOW, wait, f"recognised by {name}")
        return None

    @staticmethod
    def problem(response: Response) -> str:
        """Return type and title of an answer's problem details, for a log line."""
        try:
            codings = codings_of(response.headers)
            details = unpack(response.body, codings, _LONGEST_DETAILS + 1).body
            if len(details) > _LONGEST_DETAILS:
                return ""
            problem = json.loads(details)
            said = [
                str(problem[name]) for name in ("type", "title") if problem.get(name)
            ]
        except (ValueError, AttributeError, RecursionError, UnreadableBodyError):
            return ""
        return "".join(f", {shown(' '.join(one.split())[:_LONGEST])}" for one in said)

    def _decoded(self, request: Request, response: Response) -> Response | None:
        """Decode an answer as for the spider; None: it is too large for a refusal.

        One that cannot be decoded is returned as it is. The spider's is decoded later:
        the HTTP cache and the stats come before, and take it as it was sent.
        """
        response.request = request
        allowed = request.meta.get("download_maxsize") or LONGEST_REFUSAL
        try:
            return decoded(
                self._crawler, request, response, min(allowed, LONGEST_REFUSAL)
            )
        except IgnoreRequest:
            return None
        except Exception:  # noqa: BLE001 -- damaged: no spider sees it
            return response
