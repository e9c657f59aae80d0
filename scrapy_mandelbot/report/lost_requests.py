"""Names the requests that a crawl loses, so that the next one can send them again."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from mandelbot.formatting import shown
from mandelbot.origins import without_user

from scrapy_mandelbot import events
from scrapy_mandelbot.throttle.in_flight import SitePausedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy import Request

    from scrapy_mandelbot.events.emitter import Events
    from scrapy_mandelbot.politeness.tally import End

MOST_OF_A_SITE = 10
"""Lost requests of a site that are logged."""
MOST_SITES = 1_000
"""Sites whose lost requests are logged."""


class LostRequests:
    """Reports each lost request: to the log, if Scrapy does not, and to subscribers."""

    def __init__(self, emitter: Events) -> None:
        self._events = emitter
        self._logged: Counter[str] = Counter()
        """By site: its lost requests that were logged, and one more if there are."""

    def report(
        self, request: Request, site: str, end: End, exception: Exception
    ) -> None:
        """Report a request of a site that ended so, with this exception."""
        why = shown(str(exception)) or type(exception).__name__
        values: dict[str, Any] = {
            "request": request,
            "site": site,
            "end": end,
            "why": why,
        }
        if isinstance(exception, SitePausedError) and self._may_log(site):
            self._events.emit(events.REQUEST_LOST, **values)
        else:  # Scrapy logs the others, and too many of a site are only counted
            self._events.count(events.REQUEST_LOST, **values)

    def _may_log(self, site: str) -> bool:
        logged = self._logged
        if logged[site] > MOST_OF_A_SITE:
            return False
        if site not in logged and len(logged) >= MOST_SITES:
            return False
        logged[site] += 1
        if logged[site] <= MOST_OF_A_SITE:
            return True
        self._events.emit(events.REQUESTS_LOST_UNLOGGED, site=site)
        return False


def lost_line(values: Mapping[str, Any]) -> dict[str, str]:
    """Return what the list of lost requests has of one: a line of JSON."""
    request = values["request"]
    return {
        "url": without_user(request.url),
        "method": request.method,
        "end": str(values["end"]),
        "reason": values["why"],
    }


class LostFile:
    """The file that lists the lost requests of a run, a line of JSON each.

    Each line is written at once, so that a killed crawl leaves it. There is a file only
    if a request is lost; that of a previous run is removed. A failed write is logged,
    once, and affects nothing else.
    """

    def __init__(self, path: Path, emitter: Events) -> None:
        self._path = path
        self._events = emitter
        self._file: TextIO | None = None
        self._is_writable = True

    def open(self) -> None:
        """Remove the file of a previous run, and list what is lost from now on."""
        with suppress(OSError):  # what cannot be removed cannot be written either
            self._path.unlink(missing_ok=True)
        self._events.subscribe(self._write, events.REQUEST_LOST)

    def close(self) -> None:
        """Close the file."""
        self._is_writable = False
        if self._file is not None:
            self._file.close()

    def _write(self, values: Mapping[str, Any]) -> None:
        if not self._is_writable:
            return
        line = lost_line(values)
        try:
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._path.open("w", encoding="ascii", buffering=1)
            self._file.write(json.dumps(line) + "\n")
        except OSError as error:
            self._failed(error)

    def _failed(self, error: OSError) -> None:
        self._is_writable = False
        why = str(error)
        self._events.emit(events.LOST_NOT_WRITTEN, path=str(self._path), why=why)
