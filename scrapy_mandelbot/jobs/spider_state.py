"""``spider.state``, kept in the job's commits, so that a run that died leaves it too."""

from __future__ import annotations

import logging
import pickle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider

    from scrapy_mandelbot.stores.job import JobStore

logger = logging.getLogger(__name__)

_STATE = "spider.state"
_SHARE = 20
"""A pickling that took so long is not done again before this many times as long has passed: a state
of 200,000 entries takes 8 ms."""


class SpiderState:
    """What Scrapy's extension of that name keeps at a clean end, kept at commits.

    Args:
        spider: whose state it is.
        store: where it is kept.
        now: returns seconds, by a clock that only goes forward.
    """

    def __init__(self, spider: Spider, store: JobStore, now: Callable[[], float]) -> None:
        self._spider: Any = spider
        self._store = store
        self._now = now
        self._kept: bytes | None = None
        self._not_before = 0.0
        self._is_complained_of = False

    def restore(self) -> None:
        """Give the spider the state of a run that died; Scrapy has given it that of one before.

        Raises:
            CannotKeepError: what was kept cannot be read.
        """
        kept = self._store.get_state(_STATE)
        if kept is None:
            return
        try:
            self._spider.state = pickle.loads(kept)  # noqa: S301 -- of our own file, as Scrapy does
        except Exception as error:  # noqa: BLE001 -- whatever a changed spider leads to
            logger.warning("spider.state of the last run cannot be read: %r", error)

    def save(self, *, is_last: bool = False) -> None:
        """Have the state in the next commit, where it has changed and is not too costly."""
        state = getattr(self._spider, "state", None)
        began = self._now()
        if (not state and self._kept is None) or (began < self._not_before and not is_last):
            return
        try:
            pickled = pickle.dumps(state, protocol=4)
        except Exception as error:  # noqa: BLE001 -- whatever a project's objects raise
            if not self._is_complained_of:
                self._is_complained_of = True
                logger.warning("spider.state is not kept over a crash: %r", error)
            return
        ended = self._now()
        self._not_before = ended + _SHARE * (ended - began)
        if pickled != self._kept:
            self._kept = pickled
            self._store.put_state(_STATE, pickled)
