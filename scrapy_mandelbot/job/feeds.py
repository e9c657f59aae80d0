"""The files that items are written to: flushed before each commit, and cut where it was.

A run that died may have written items of callbacks whose requests come back, and the half of a
line. The next run cuts what it wrote after its last commit, keeps what is cut in JOBDIR, and goes
on in the same file: a CSV has one head, and JSON and XML one pair of brackets. A feed with which
that cannot be done (compressed, remote, in batches, named after the time) goes to a file in JOBDIR
at first, its spool, and as a whole from there into the feed when the run or the batch ends.
"""

from __future__ import annotations

import csv
import json
import logging
import os
import re
from hashlib import blake2b
from operator import mod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import scrapy.signals
from scrapy.exporters import (
    CsvItemExporter,
    JsonItemExporter,
    JsonLinesItemExporter,
    MarshalItemExporter,
    PickleItemExporter,
    XmlItemExporter,
)
from scrapy.extensions import feedexport
from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage, StdoutFeedStorage
from scrapy.extensions.postprocessing import PostProcessingManager
from twisted.internet.defer import Deferred

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.robots.shown import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot

logger = logging.getLogger(__name__)

_WHOLE = JsonItemExporter, XmlItemExporter
"""Those that write something at the end."""
_END = re.compile(rb"\s*(?:\]|</[^<>]*>)\s*")
"""What they write there."""
_PIECE, _PIECES = 65_536, 4  # bytes of a spool that are copied at once, and how often in a turn
_KNOWN = (
    *_WHOLE,
    CsvItemExporter,
    JsonLinesItemExporter,
    MarshalItemExporter,
    PickleItemExporter,
)
"""Those that write one item after the other, so that they can go on in a file."""


class Feeds:
    """The feeds of a crawl.

    Args:
        crawler: whose feeds they are.
        is_synced: whether they are on the disk, and not only handed to the system, at a commit.
        folder: JOBDIR, where a next run finds what this one has left; None: there is none.
        goes_on: whether the last run of the job did not finish it.
    """

    def __init__(
        self,
        crawler: Crawler,
        *,
        is_synced: bool,
        folder: Path | None = None,
        goes_on: bool = False,
    ) -> None:
        self._crawler = crawler
        self.clock = Crawl.of(crawler).clock
        self._is_synced = is_synced
        self._folder = folder
        self._goes_on = goes_on
        self.has_finished = False
        """Whether the job is done, so that what is stored from now on is all."""
        self._offsets: dict[str, int] = {}
        self._full: dict[str, int] = {}
        """How long the files of batches are that are full, and may not be stored yet."""
        self._counts: dict[str, int] = {}
        """By file, how many items it has."""
        self._exporter: Any = None
        self._ready: list[FeedSlot] = []
        """Those that were looked at."""

    def begin(self, kept: bytes | None = None) -> None:
        """Have each file be gone on with, and note how long it is before anything is written.

        `kept`: how many items each file has, as :meth:`counts` has told it.
        """
        extensions = self._crawler.extensions.middlewares
        self._exporter = next((one for one in extensions if isinstance(one, FeedExporter)), None)
        self._counts = json.loads(kept or b"{}")
        if self._folder is not None and self._exporter is not None:
            self._exporter.slots = [self._batch_gone_on_with(one) for one in self._slots()]
        self._look()
        if any(map(_in_batches, self._slots())):
            self._crawler.signals.connect(self._look, scrapy.signals.item_scraped)
        for path in filter(None, map(_path, self._slots())):
            self._offsets[str(path)] = path.stat().st_size if path.exists() else 0

    def flush(self) -> bool:
        """Have all items written; return whether that made a file longer.

        Raises:
            OSError: a file cannot be written.
        """
        offsets, self._counts = self._offsets | self._full, dict(self._counts)
        for slot in self._slots():
            path, file = _path(slot), slot.file
            if path is None or file is None or file.closed:
                continue
            file.flush()
            if self._is_synced:
                os.fsync(file.fileno())
            offsets[str(path)] = file.tell()
            self._counts[str(path)] = slot.itemcount
        is_longer, self._offsets = offsets != self._offsets, offsets
        return is_longer

    def written(self) -> bytes:
        """Return how long each file is, as :func:`cut` takes it."""
        return json.dumps(self._offsets).encode()

    def counts(self) -> bytes:
        """Return how many items each file has, as :meth:`begin` takes it."""
        return json.dumps(self._counts).encode()

    def not_kept(self) -> Iterator[tuple[str, str]]:
        """Yield the feeds that may have items twice or none after a crash: URI, and why."""
        for slot in self._slots():
            why = _why_not(slot)
            if why is not None:
                yield slot.uri, why

    @property
    def _starts_batches(self) -> bool:
        """Whether Scrapy stores a batch when it is full, and has what is asked of it for that.

        Neither is public. Before 2.15 all were stored at the end of the crawl.
        """
        wanted = "_get_uri_params", "_start_new_batch", "_schedule_slot_close"
        return all(hasattr(FeedExporter, one) for one in wanted)

    def _slots(self) -> list[FeedSlot]:
        return [] if self._exporter is None else self._exporter.slots

    def _look(self) -> None:
        """Make those feeds ready that are new: a batch that is full has another one behind it."""
        for slot in self._slots():
            if self._folder is not None and slot not in self._ready:
                self._make_ready(slot, self._folder)
        for path, file in (
            (_path(one), one.file) for one in self._ready if one not in self._slots()
        ):
            if file is not None and not file.closed:  # it is stored in another turn of the loop
                file.flush()
            if path is not None and path.exists():
                self._full[str(path)] = path.stat().st_size
        self._ready = list(self._slots())

    def _make_ready(self, slot: FeedSlot, folder: Path) -> None:
        form = slot.exporters[slot.format]
        if not issubclass(form, _KNOWN) or isinstance(slot.storage, StdoutFeedStorage):
            return
        if _in_batches(slot) and not self._starts_batches:
            return
        if _is_spooled(slot):
            path = _spool(folder, slot, slot.batch_id)
            slot.storage = Spool(slot, path, self)
            options = slot.feed_options.items()
            slot.feed_options = {name: one for name, one in options if name != "postprocessing"}
        elif self._goes_on and isinstance(slot.storage, FileFeedStorage):
            slot.storage.write_mode = "ab"
        path = _path(slot) or folder
        own = _going_on(form, is_known=str(path) in self._counts)
        slot.exporters = {**slot.exporters, slot.format: own}
        is_whole = issubclass(form, _WHOLE) or isinstance(slot.storage, Spool)
        has_items = self._counts.get(str(path)) and path.exists() and path.stat().st_size
        if is_whole and has_items and getattr(slot.storage, "write_mode", "ab") == "ab":
            slot.itemcount = self._counts[str(path)]
            slot.start_exporting()  # so that its end is written, though no item may come

    def _batch_gone_on_with(self, slot: FeedSlot) -> FeedSlot:
        """Return the batch that the last run was at, in place of the first one."""
        assert self._folder is not None  # noqa: S101 -- see its caller
        if not (_in_batches(slot) and self._starts_batches):
            return slot
        left = {
            int(path.stem.rpartition("-")[2]): path
            for path in self._folder.glob(f"{_spool(self._folder, slot, 0).stem[:-2]}-*.spool")
        }
        stored = _stored(self._folder, slot)
        number = max([stored + 1, *left])
        for old in sorted(left.keys() - {number}):
            if old > stored:  # it was full, and the run died before it was stored
                Spool(self._batch(slot, old), left[old], self).store(None)
            else:
                left[old].unlink()
        return slot if number == 1 else self._batch(slot, number)

    def _batch(self, slot: FeedSlot, number: int) -> FeedSlot:
        exporter, spider, options = self._exporter, self._crawler.spider, slot.feed_options
        slot.batch_id = number - 1
        params = exporter._get_uri_params(spider, options["uri_params"], slot)  # noqa: SLF001
        fill = getattr(feedexport, "apply_uri_params", mod)
        batch: FeedSlot = exporter._start_new_batch(  # noqa: SLF001
            batch_id=number,
            uri=fill(slot.uri_template, params),
            feed_options=options,
            spider=spider,
            uri_template=slot.uri_template,
        )
        return batch


def _in_batches(slot: FeedSlot) -> bool:
    return bool(slot.feed_options.get("batch_item_count"))


class Spool:
    """Stands for the storage of a feed: its items are in JOBDIR until all of them are stored."""

    def __init__(self, slot: FeedSlot, path: Path, feeds: Feeds) -> None:
        self.path = path
        self._feed = slot
        self._storage: Any = slot.storage
        self._options = slot.feed_options
        self._feeds = feeds

    def open(self, spider: Any) -> IO[bytes]:  # noqa: ARG002 -- Scrapy's interface
        """Return the file in which its items are."""
        return self.path.open("ab")

    def store(self, file: IO[bytes] | None) -> Deferred[None]:
        """Have all of them in the feed, as if one run had given them; the loop has turns within."""
        if file is not None:
            file.close()
        storage = self._storage
        if isinstance(storage, FileFeedStorage):
            storage.write_mode = "wb"  # it has all of what is there
        target = storage.open(self._feed.spider)
        plugins = self._options.get("postprocessing")
        into = PostProcessingManager(plugins, target, self._options) if plugins else target
        copied: Deferred[None] = Deferred()
        self._copy(self.path.open("rb"), into, copied)
        if plugins:
            copied.addCallback(lambda _: into.close())
        return copied.addCallback(lambda _: storage.store(target)).addCallback(self._is_stored)

    def _copy(self, spool: IO[bytes], into: Any, copied: Deferred[None]) -> None:
        try:
            for _ in range(_PIECES):
                piece = spool.read(_PIECE)
                into.write(piece)
                if len(piece) < _PIECE:
                    spool.close()
                    break
        except Exception:  # noqa: BLE001 -- who has the feed stored hears of it
            spool.close()
            copied.errback()
            return
        if spool.closed:
            copied.callback(None)
        else:
            self._feeds.clock.call_later(0, self._copy, spool, into, copied)

    def _is_stored(self, _: object) -> None:
        if self._options.get("batch_item_count"):
            mark = self.path.with_name(f"{self.path.stem.rpartition('-')[0]}.stored")
            mark.write_text(str(self._feed.batch_id), "ascii")
            self.path.unlink()
        elif self._feeds.has_finished:
            is_appended = isinstance(self._storage, FileFeedStorage)
            if self._options.get("overwrite") or not is_appended:
                self.path.unlink()


def _spool(folder: Path, slot: FeedSlot, batch: int) -> Path:
    digest = blake2b(slot.uri_template.encode(), digest_size=6).hexdigest()
    return folder / f"feed-{digest}-{batch}.spool"


def _stored(folder: Path, slot: FeedSlot) -> int:
    """Return the number of the last batch that was stored; 0: none was."""
    mark = folder / f"{_spool(folder, slot, 0).stem[:-2]}.stored"
    return int(mark.read_text("ascii")) if mark.exists() else 0


def _is_spooled(slot: FeedSlot) -> bool:
    """Return whether a feed cannot be gone on with where it is."""
    options = slot.feed_options
    is_local = isinstance(slot.storage, FileFeedStorage)
    is_whole = issubclass(slot.exporters[slot.format], _WHOLE)
    is_new_each_time = is_whole and slot.uri != slot.uri_template
    is_cut_up = options.get("batch_item_count") or "postprocessing" in options
    return bool(not is_local or is_cut_up or is_new_each_time)


def _path(slot: FeedSlot) -> Path | None:
    """Return the file of a feed; None: it cannot be cut where it was."""
    if isinstance(slot.storage, Spool):
        return slot.storage.path.absolute()
    if not isinstance(slot.storage, FileFeedStorage) or _why_not(slot) is not None:
        return None
    return Path(slot.storage.path).absolute()


def _why_not(slot: FeedSlot) -> str | None:
    """Return why a feed cannot be cut where it was at a commit; None: it can."""
    if isinstance(slot.storage, Spool):
        return None
    if not issubclass(slot.exporters[slot.format], _KNOWN):
        return f"{slot.format} is of a class of its own"
    if not isinstance(slot.storage, FileFeedStorage):
        return "it is no local file"
    if "postprocessing" in slot.feed_options:
        return "it is postprocessed"
    if slot.feed_options.get("batch_item_count"):
        return "it is written in batches"
    return None


def _going_on(form: Any, *, is_known: bool) -> Any:
    """Return a class of exporters that write no head where the file has one.

    `is_known`: the file was written by the job, and its end is cut.
    """

    class GoingOn(form):  # type: ignore[misc]
        """Goes on in a file."""

        def __init__(self, file: Any, *arguments: Any, **options: Any) -> None:
            super().__init__(file, *arguments, **options)
            self._goes_on = file.tell() > 0
            if self._goes_on and getattr(self, "include_headers_line", False):
                self.include_headers_line = False
                with open(file.name, encoding=self.encoding or "utf-8", newline="") as written:  # noqa: PTH123 -- it has a name
                    head = next(csv.reader(written, self.csv_writer.dialect), None)
                self.fields_to_export = super().__getattribute__("fields_to_export") or head

        def start_exporting(self) -> None:
            if self._goes_on and is_known and isinstance(self, _WHOLE):
                self.first_item = False
            else:
                super().start_exporting()

    return GoingOn


def cut(written: bytes | None, folder: Path, *, has_died: bool = True) -> None:
    """Cut each file to where it was at the last commit: one that a run has closed, its end.

    Args:
        written: how long each was, as :meth:`Feeds.written` has told it.
        folder: where what is cut is put.
        has_died: whether the last run was not closed. Else who has written to a file of lines since
            has done so for good.

    Raises:
        OSError: a file cannot be cut.
        ValueError: where that was cannot be read.
    """
    offsets: dict[str, int] = json.loads(written or b"{}")
    for path, offset in offsets.items():
        file = Path(path)
        if file.exists() and file.stat().st_size > offset:
            _cut(file, offset, folder / f"cut-{file.name}", has_died=has_died)


def _cut(file: Path, offset: int, kept: Path, *, has_died: bool) -> None:
    with file.open("rb+") as feed:
        feed.seek(offset)
        rest = feed.read()
        if _END.fullmatch(rest):
            feed.truncate(offset)
            return
        if not has_died:
            return
        with kept.open("ab") as rest_of_it:
            rest_of_it.write(rest)
        feed.truncate(offset)
    logger.info(
        "Cut %s from %s, which the last run wrote after its last commit: its pages are"
        " asked for again. They are in %s.",
        counted(len(rest), "byte"),
        file,
        kept,
    )
