"""The files that items are written to: flushed before each commit, and cut where it was.

A run that died may have written items of callbacks whose requests come back, and the half of a
line. The next run cuts what it wrote after its last commit, and keeps what is cut in JOBDIR.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exporters import (
    CsvItemExporter,
    JsonLinesItemExporter,
    MarshalItemExporter,
    PickleItemExporter,
)
from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot

logger = logging.getLogger(__name__)

_OFFSETS = "feeds"
_APPENDING = (
    CsvItemExporter,
    JsonLinesItemExporter,
    MarshalItemExporter,
    PickleItemExporter,
)
"""Those that write one item after the other, and nothing at the end."""


class Feeds:
    """The feeds of a crawl that are local files to which items are appended.

    Args:
        crawler: whose feeds they are.
        is_synced: whether they are on the disk, and not only handed to the system, at a commit.
    """

    def __init__(self, crawler: Crawler, *, is_synced: bool) -> None:
        self._crawler = crawler
        self._is_synced = is_synced
        self._offsets: dict[str, int] = {}
        self._exporter: FeedExporter | None = None

    def begin(self) -> None:
        """Note how long each file is before anything is written to it."""
        extensions = self._crawler.extensions.middlewares
        self._exporter = next((one for one in extensions if isinstance(one, FeedExporter)), None)
        for path in filter(None, map(_path, self._slots())):
            self._offsets[str(path)] = path.stat().st_size if path.exists() else 0

    def flush(self) -> bool:
        """Have all items written; return whether that made a file longer.

        Raises:
            OSError: a file cannot be written.
        """
        offsets = dict(self._offsets)
        for slot in self._slots():
            path, file = _path(slot), slot.file
            if path is None or file is None or file.closed:
                continue
            file.flush()
            if self._is_synced:
                os.fsync(file.fileno())
            offsets[str(path)] = file.tell()
        is_longer, self._offsets = offsets != self._offsets, offsets
        return is_longer

    def written(self) -> bytes:
        """Return how long each file is, as :func:`cut` takes it."""
        return json.dumps(self._offsets).encode()

    def not_kept(self) -> Iterator[tuple[str, str]]:
        """Yield the feeds that may have items twice or none after a crash: URI, and why."""
        for slot in self._slots():
            why = _why_not(slot)
            if why is not None:
                yield slot.uri, why

    def _slots(self) -> list[FeedSlot]:
        return [] if self._exporter is None else self._exporter.slots


def _path(slot: FeedSlot) -> Path | None:
    """Return the file of a feed; None: it cannot be cut where it was."""
    if not isinstance(slot.storage, FileFeedStorage) or _why_not(slot) is not None:
        return None
    return Path(slot.storage.path).absolute()


def _why_not(slot: FeedSlot) -> str | None:
    """Return why a feed cannot be cut where it was at a commit; None: it can."""
    options = slot.feed_options
    if not isinstance(slot.storage, FileFeedStorage):
        return "it is no local file"
    if not issubclass(slot.exporters[slot.format], _APPENDING):
        return f"{slot.format} is written as a whole"
    if "postprocessing" in options:
        return "it is postprocessed"
    if options.get("batch_item_count"):
        return "it is written in batches"
    if options.get("overwrite"):
        return "a run that goes on overwrites it"
    return None


def cut(written: bytes | None, folder: Path) -> None:
    """Cut each file to where it was at the last commit.

    Args:
        written: how long each was, as :meth:`Feeds.written` has told it.
        folder: where what is cut is put.

    Raises:
        OSError: a file cannot be cut.
        ValueError: where that was cannot be read.
    """
    offsets: dict[str, int] = json.loads(written or b"{}")
    for path, offset in offsets.items():
        file = Path(path)
        if file.exists() and file.stat().st_size > offset:
            _cut(file, offset, folder / f"cut-{file.name}")


def _cut(file: Path, offset: int, kept: Path) -> None:
    with file.open("rb+") as feed, kept.open("ab") as rest_of_it:
        feed.seek(offset)
        rest = feed.read()
        rest_of_it.write(rest)
        rest_of_it.flush()
        feed.truncate(offset)
    logger.info(
        "Cut %d bytes from %s, which the last run wrote after its last commit: its pages are"
        " asked for again. They are in %s.",
        len(rest),
        file,
        kept,
    )
