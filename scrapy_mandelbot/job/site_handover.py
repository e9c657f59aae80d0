"""What is known of a site, for its next owner: another worker, or a later run.

What outlasts a change of owner continues: a pause, its failed probes, suspended
sections, the turn of a crawl delay, what is used up of a budget, and the copy of
robots.txt, which another machine does not have. A recovery starts over with a probe. A
state that cannot be read delays a site no longer than its owner has said to Redis.

It is written as three lines, which may be empty: pauses, budget, robots.txt.
``fleet/lua/requeue.lua`` drops the first of them.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Container
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.politeness.budget import Spent
from scrapy_mandelbot.politeness.flight import OUTLASTS_RUN
from scrapy_mandelbot.store import pack
from scrapy_mandelbot.store.rows import NO_ROW_OF_OURS, as_copy, as_pause, as_row

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.pause_policy import LeftPause
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.store import CachedRobots

ENDLESS = "inf"  # of a site that is given up: no worker gets it before the next run
_MOST = 50  # pauses of a site, which chooses the paths of its sections


class StoredBudget(NamedTuple):
    """What a site has used up, and whether that was all that the run allowed."""

    spent: Spent
    is_reached: bool


class SiteHandover(NamedTuple):
    """What is known of a site; times are of the clock of who has it.

    Pauses and the copy have the values, and their order, of the rows of a store
    (``store/rows.py``). Left out on purpose:

    - The pace: the next owner reads it in the copy, by its own settings. A turn is in
      the store's file, or the rest of the site on the server (:func:`rest_of`).
    - A quota: the first answer says what is left of it. The end of one that is used up
      is part of the rest of the site on the server.
    - The rate after a pause. In simulated crawls of four limits, the next owner that
      got the last one's had 2 to 6 refusals fewer, of 10 to 20. Where the limit had
      become four times as high, three of the four took 3 to 6 times as long.
    - The number of requests at once. With it, the next owner had no fewer refusals of
      the same limits. What was measured of answer times holds for one worker's line.
    - Single pages that were refused, up to 1,000 of a site, in each report of its
      state. They are asked for again. Sections are among the pauses.
    """

    pauses: tuple[LeftPause, ...] = ()
    """Of the site and of its sections, those that had not ended."""
    budget: StoredBudget | None = None
    """None: it has no budget, or has used up nothing of it."""
    robots: CachedRobots | None = None
    """None: none is known, or whoever comes next knows it."""

    def written(self, server_time: float = 0.0) -> bytes:
        """Return it as it is stored; empty: nothing is known.

        `server_time`: seconds by which the clock of the server is ahead.
        """
        lines = (
            _pauses_line(self.pauses, server_time),
            _budget_line(self.budget),
            _robots_line(self.robots, server_time),
        )
        return b"\n".join(lines).rstrip(b"\n")


def read_handover(state: bytes, server_time: float = 0.0) -> SiteHandover:
    """Read what was written; what cannot be read of it is left out."""
    pauses, budget, robots, *_ = (*state.split(b"\n"), b"", b"", b"")
    return SiteHandover(
        _read_pauses(pauses, server_time),
        _read_budget(budget),
        _read_robots(robots, server_time),
    )


def _pauses_line(pauses: tuple[LeftPause, ...], server_time: float) -> bytes:
    if not pauses:
        return b""
    rows = []
    for one in pauses:
        row = [one.until + server_time, one.reason, one.failed_probes, one.section]
        if one.refuses_robots:  # few do
            row.append(True)
        rows.append(row)
    return json.dumps(rows).encode()


def _read_pauses(line: bytes, server_time: float) -> tuple[LeftPause, ...]:
    try:
        pauses = [*map(as_pause, json.loads(line or b"[]"))]
    except NO_ROW_OF_OURS:
        return ()
    return tuple(one._replace(until=one.until - server_time) for one in pauses)


def _budget_line(budget: StoredBudget | None) -> bytes:
    if budget is None:
        return b""
    return json.dumps([*budget.spent, budget.is_reached]).encode()


def _read_budget(line: bytes) -> StoredBudget | None:
    if not line:
        return None
    try:
        pages, size, seconds, is_reached = json.loads(line)
        spent = Spent(int(pages), int(size), float(seconds))
    except (ValueError, TypeError, OverflowError):
        return None
    if not isfinite(spent.seconds) or min(spent) < 0:
        return None
    return StoredBudget(spent, bool(is_reached))


def _robots_line(copy: CachedRobots | None, server_time: float) -> bytes:
    if copy is None:
        return b""
    body = b64encode(pack(copy.body)).decode()
    _, *others = as_row(copy._replace(fetched_at=copy.fetched_at + server_time))
    return json.dumps([body, *others]).encode()


def _read_robots(line: bytes, server_time: float) -> CachedRobots | None:
    if not line:
        return None
    try:
        body, *others = json.loads(line)
        copy = as_copy((b64decode(body), *others))
    except NO_ROW_OF_OURS:
        return None
    return copy._replace(fetched_at=copy.fetched_at - server_time)


def is_calm(site: Site) -> bool:
    """Return whether the next owner of a site can continue all that is in progress."""
    if site.is_plain:
        return True
    return site.scout is None and next(site.left(), None) is None


def pauses_of(site: Site) -> tuple[LeftPause, ...]:
    return tuple(islice(site.left(), _MOST))


def handover_of(site: Site, now: float, unsettled: Container[Any] = ()) -> SiteHandover:
    """Return what is known of a site, without its robots.txt.

    `unsettled`: the requests that the next owner would send anew.
    """
    budget = None
    if site.budget is not None:
        spent = site.budget.settled(now, unsettled)
        budget = StoredBudget(spent, site.budget.is_reached)
    if site.is_plain:
        return SiteHandover(budget=budget)
    return SiteHandover(pauses_of(site), budget)


def _quota_due(site: Site, now: float) -> float:
    """Return when a new owner may ask, which has no request in flight."""
    quota = site.pacer.quota
    if quota is None or len(quota.flights) < quota.left:
        return now
    return quota.until


def rest_of(site: Site, now: float, least: float) -> str:
    """Return for how many milliseconds a site is left alone by its next owner.

    `least`: seconds that it waits at least. ``ENDLESS``: until the next run.
    """
    if site.is_plain and not least:
        return "0"
    due = max(site.pacer.due_after(now), site.pause_due(now), _quota_due(site, now))
    rest = max(least, due - now, 0.0)
    if site.decide(now).wait in OUTLASTS_RUN:
        return ENDLESS
    if not isfinite(rest):  # probed just now
        rest = least
    return f"{rest * 1000:.0f}"
