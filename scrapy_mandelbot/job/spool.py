"""Spools: files in JOBDIR that stand in for feeds until all items are there."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from scrapy.extensions.feedexport import (
    FileFeedStorage,
)
from scrapy.extensions.postprocessing import PostProcessingManager
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from scrapy.extensions.feedexport import FeedSlot

    from scrapy_mandelbot.clock import Clock


_PIECE = 262_144  # bytes of a spool that are copied in a turn of the event loop


class FeedStates(Protocol):
    """What a spool needs of the feeds of its crawl."""

    clock: Clock
    has_finished: bool
    """The job is done: what is stored from now on is all."""

    def put(self, path: str, file: None) -> None:
        """Note that a file has gone, for the next commit."""


class Spool:
    """Stands in for a feed's storage: items stay in JOBDIR until all are stored."""

    def __init__(self, slot: FeedSlot, path: Path, feeds: FeedStates) -> None:
        self.path = path
        self._feed = slot
        self._storage: Any = slot.storage
        self._options = slot.feed_options
        self._feeds = feeds

    def open(self, spider: Any) -> IO[bytes]:  # noqa: ARG002 -- Scrapy's interface
        return self.path.open("ab")

    def store(self, file: IO[bytes]) -> Deferred[None]:
        file.close()
        return Deferred.fromCoroutine(self._copy())

    async def _copy(self) -> None:
        """Copy the spool into the feed, a slice in each turn of the event loop."""
        storage = self._storage
        if isinstance(storage, FileFeedStorage) and not isinstance(self, MemberSpool):
            storage.write_mode = "wb"  # it has all of what is there
        target = storage.open(self._feed.spider)
        plugins = self._options.get("postprocessing")
        into = (
            PostProcessingManager(plugins, target, self._options) if plugins else target
        )
        with self.path.open("rb") as spool:
            into.write(spool.read(_PIECE))
            while piece := spool.read(_PIECE):
                turn: Deferred[None] = Deferred()
                self._feeds.clock.call_later(0, turn.callback, None)
                await turn
                into.write(piece)
        if plugins:
            into.close()
        if isinstance(stored := storage.store(target), Deferred):
            await stored
        self._is_stored()

    def _is_stored(self) -> None:
        if self._options.get("batch_item_count"):
            mark = mark_of(self.path)
            # they are stored in any order
            last = max(self._feed.batch_id, last_stored(mark))
            mark.write_text(str(last), "ascii")
            self.path.unlink()
            self._feeds.put(str(self.path.absolute()), None)
        elif self._feeds.has_finished:
            is_appended = isinstance(self._storage, FileFeedStorage)
            if self._options.get("overwrite") or not is_appended:
                self.path.unlink()


class MemberSpool(Spool):
    """Becomes a gzip member of its feed, a local file, when a run ends."""

    def open(self, spider: Any) -> IO[bytes]:
        self._storage.open(spider).close()  # emptied, if the run overwrites it
        self._storage.write_mode = "ab"
        return super().open(spider)

    def store(self, file: IO[bytes]) -> Deferred[None]:
        feed = Path(self._storage.path)
        length = self.path.with_suffix(".length")
        # a run died, and left a part of a member
        with suppress(FileNotFoundError, ValueError):
            os.truncate(feed, min(feed.stat().st_size, int(length.read_text("ascii"))))
        length.write_text(str(feed.stat().st_size), "ascii")
        return super().store(file)

    def _is_stored(self) -> None:
        self.path.with_suffix(".length").unlink()
        self.path.unlink()


def mark_of(spool: Path) -> Path:
    return spool.with_name(f"{spool.stem.rpartition('-')[0]}.stored")


def last_stored(mark: Path) -> int:
    return int(mark.read_text("ascii")) if mark.exists() else 0
