"""Stores ``spider.state`` in a job, so that it survives a crash."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mandelbot.files import open_regular

if TYPE_CHECKING:
    from scrapy_mandelbot.crawl import StoredJob
    from scrapy_mandelbot.job.job_storage import JobStorage

    Seconds = Callable[[], float]


logger = logging.getLogger(__name__)

_STATE = "spider.state"
_SHARE = 20
"""Pause between picklings, in multiples of the last one: 8 ms for 200,000 entries."""


def set_damaged_aside(path: Path) -> None:
    """Rename Scrapy's file of ``spider.state`` if it can be neither read nor written.

    Scrapy's extension would log a traceback as it opens or closes, and empty the file.
    """
    try:
        with open_regular(path) as file:
            pickle.dumps(pickle.load(file), protocol=4)  # noqa: S301 -- as Scrapy does
    except FileNotFoundError:
        return
    except Exception as error:  # noqa: BLE001 -- whatever a damaged pickle leads to
        aside = path.with_name(f"{path.name}.damaged")
        logger.warning(
            "spider.state of the previous run cannot be restored, and is kept as %s:"
            " %r",
            aside.name,
            error,
        )
        with suppress(OSError):
            path.rename(aside)


class SpiderState:
    """Stores ``spider.state`` at commits.

    Scrapy's extension does so at a clean end only. `busy` returns seconds of processor
    time, which a suspended machine does not add to.
    """

    def __init__(
        self, storage: JobStorage, job: StoredJob, now: Seconds, busy: Seconds
    ) -> None:
        self._form = storage.form
        self._spider: Any = storage.form.spider
        self._job = job
        self._now = now
        self._busy = busy
        self._kept: bytes | None = None
        self._not_before = 0.0
        self._is_complained_of = False

    def restore(self) -> None:
        """Restore the state of a run that died.

        Scrapy has restored that of an earlier one.
        """
        kept = self._job.kept(_STATE).get(_STATE)
        if kept is None:
            return
        try:
            self._spider.state = self._form.load(kept)
        except Exception as error:  # noqa: BLE001 -- whatever a changed spider leads to
            logger.warning(
                "spider.state of the previous run cannot be restored: %r", error
            )

    def save(self, *, is_last: bool = False) -> None:
        """Add the state to the next commit, if it changed and pickling is cheap."""
        state = getattr(self._spider, "state", None)
        if not state and self._kept is None:
            return
        if self._now() < self._not_before and not is_last:
            return
        began = self._busy()
        try:
            pickled = self._form.dump(state)
        except Exception as error:  # noqa: BLE001 -- whatever a project's objects raise
            if not self._is_complained_of:
                self._is_complained_of = True
                logger.warning(
                    "spider.state does not survive a crash: it cannot be pickled: %r",
                    error,
                )
            return
        self._not_before = self._now() + _SHARE * (self._busy() - began)
        if pickled != self._kept:
            self._kept = pickled
            self._job.put(_STATE, pickled)
