"""Feed files: written before each commit, cut back to it after a crash.

What cannot be written stays in memory (`HeldFile`): the commit fails, and the pages of
these items are not acknowledged.

A run that died may have written items whose pages are crawled again, and half a line.
The next run cuts what was written after the last commit, stores the cut part in JOBDIR,
and appends to the same file: a CSV has one header, JSON and XML one pair of brackets. A
feed that cannot be appended to (compressed, remote, in batches, named after the time)
is first written to a file in JOBDIR, its spool, and copied into the feed as a whole
when the run or the batch ends.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from operator import mod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import scrapy.signals
from mandelbot.formatting import counted
from scrapy.exporters import (
    CsvItemExporter,
    JsonItemExporter,
    JsonLinesItemExporter,
    MarshalItemExporter,
    PickleItemExporter,
    XmlItemExporter,
)
from scrapy.extensions import feedexport
from scrapy.extensions.feedexport import (
    FeedExporter,
    FileFeedStorage,
    StdoutFeedStorage,
)
from scrapy.extensions.postprocessing import GzipPlugin
from scrapy.utils.misc import load_object

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.job.held_file import Held, HeldFile
from scrapy_mandelbot.job.job_lock import is_file
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.job.spool import MemberSpool, Spool, last_stored, mark_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot

logger = logging.getLogger(__name__)

_TAIL = 64  # octets by which a file is known
_WHOLE = JsonItemExporter, XmlItemExporter  # those that write something at the end
_END = re.compile(rb"\s*(?:\]|</[^<>]*>)\s*")  # what they write there
_KNOWN = (
    *_WHOLE,
    CsvItemExporter,
    JsonLinesItemExporter,
    MarshalItemExporter,
    PickleItemExporter,
)
"""Those that write one item after the other, so that they can go on in a file."""


IN_JOB = "feed"  # begin of the names of states: how a file of items was at a commit


class FeedLostError(StorageError):
    """A part of a feed waited for room on its disk until there was too much of it."""

    ends_run = "job_not_saved"


class FeedFile(NamedTuple):
    """How a file of items was at a commit, and how many it had."""

    # octets without its end; None: of no feed of that run, not to be cut
    length: int | None
    items: int
    tail: int = 0
    """Of the last octets of that length: another file in its place has others."""


def read_stored(states: Mapping[str, bytes]) -> dict[str, FeedFile]:
    """Return the files of a commit by path; ValueError: the states cannot be read."""
    return {
        json.loads(name.partition("/")[2]): FeedFile(*json.loads(state))
        for name, state in states.items()
    }


class Feeds:
    """The feeds of a crawl.

    `folder`: JOBDIR, where the next run finds what this one leaves; None: the job is on
    Redis, and other workers may write to the same files. `kept`: the files at the last
    commit of the previous run. `is_synced`: a commit waits until they are
    on the disk. `goes_on`: the previous run did not finish the job.
    """

    def __init__(
        self,
        crawler: Crawler,
        folder: Path | None = None,
        kept: Mapping[str, FeedFile] | None = None,
        *,
        is_synced: bool = False,
        goes_on: bool = False,
    ) -> None:
        self._crawler = crawler
        self.clock = Crawl.of(crawler).clock
        self._is_synced = is_synced
        self._folder = folder
        self._goes_on = goes_on
        self.has_finished = False  # the job is done: what is stored from now on is all
        # by path, as they were when they were looked at last
        self._files = dict(kept or {})
        # what the job does not know of that
        self._changed: dict[str, bytes | None] = {}
        self._held = Held()
        self._exporter: Any = None
        self._ready: list[FeedSlot] = []  # those that were looked at
        self._unwritten: list[FeedSlot] = []
        """Full batches that are not in their files yet."""
        self._unclosed: list[FeedSlot] = []
        """Those that Scrapy could not close, and that are closed again."""

    def begin(self) -> None:
        """Resume each file, and record its length before anything is written."""
        extensions = self._crawler.extensions.middlewares
        self._exporter = next(
            (one for one in extensions if isinstance(one, FeedExporter)), None
        )
        if self._folder is not None and self._exporter is not None:
            self._exporter.slots = [
                self._batch_gone_on_with(one) for one in self._slots()
            ]
        self._begin_new_feeds()
        if any(map(_in_batches, self._slots())):
            self._crawler.signals.connect(
                self._begin_new_feeds, scrapy.signals.item_scraped
            )
        own = {str(path) for path in map(_path, self._slots()) if path is not None}
        for path in own | self._files.keys():
            file = Path(path)
            was = self._files.get(path, FeedFile(None, 0))
            if path in own:
                length = file.stat().st_size if file.exists() else 0
                tail = _tail(file, length)
                self.put(path, was._replace(length=length, tail=tail))
            elif not file.exists():
                self.put(path, None)
            elif file.suffix != ".spool":  # others may write to it now
                self.put(path, was._replace(length=None))

    def flush(self) -> dict[str, bytes | None]:
        """Write all items; return changed states of files, None: one is gone.

        Raises:
            OSError: a file cannot be written.
            FeedLostError: one could not be written for too long.
        """
        for slot in (*self._unwritten, *self._slots()):
            self._flush(slot)
        self._unwritten.clear()
        self._close_again()
        changed = self._changed
        self._changed = {}
        return changed

    def not_kept(self) -> Iterator[tuple[str, str]]:
        """Yield the URI of each feed that a crash may damage, and why."""
        for slot in self._slots():
            why = _why_not(slot)
            if why is not None:
                yield slot.uri, why

    @property
    def _starts_batches(self) -> bool:
        """Whether Scrapy stores a batch when it is full, and has the methods for it.

        Neither is public. Before 2.15 all were stored at the end of the crawl.
        """
        wanted = "_get_uri_params", "_start_new_batch", "_schedule_slot_close"
        return all(hasattr(FeedExporter, one) for one in wanted)

    def _slots(self) -> list[FeedSlot]:
        return [] if self._exporter is None else self._exporter.slots

    def _begin_new_feeds(self) -> None:
        """Prepare new feeds: a full batch is followed by another."""
        for slot in self._slots():
            if slot in self._ready:
                continue
            if self._folder is not None:
                self._make_ready(slot, self._folder)
            elif _path(slot) is not None:
                own = _holding(slot.exporters[slot.format], self._held)
                slot.exporters = {**slot.exporters, slot.format: own}
        for slot in self._ready:
            # it is full, and stored in another turn of the loop
            if slot not in self._slots():
                self._flush_batch(slot)
        self._ready = list(self._slots())

    def _flush_batch(self, slot: FeedSlot) -> None:
        """Write a full batch; if that fails, the next commit does, or fails, too."""
        try:
            self._flush(slot)
        except OSError:
            self._unwritten.append(slot)

    def _finish(self, slot: FeedSlot) -> None:
        """Write what is left of a feed before it is closed."""
        try:
            with suppress(FeedLostError):  # the job has said so
                self._flush(slot)
        except OSError:
            self._unclosed.append(slot)
            raise

    def _close_again(self) -> None:
        """Close batches that had no room when they were closed, now that they have."""
        slots = self._unclosed
        self._unclosed = []
        for slot in slots:
            if _in_batches(slot):
                self._exporter._schedule_slot_close(slot, slot.spider)  # noqa: SLF001

    def _flush(self, slot: FeedSlot) -> None:
        path = _path(slot)
        file = slot.file
        if path is None or file is None or file.closed:
            return
        held = _held_of(slot)
        if held is not None and held.lost is not None:
            raise FeedLostError(f"{path}: {held.lost}")
        (held or file).flush()
        if self._is_synced:
            os.fsync(file.fileno())
        length = file.tell()
        was = self._files.get(str(path))
        if was is not None and was[:2] == (length, slot.itemcount):
            return
        if is_file(path, os.fstat(file.fileno())):
            now = FeedFile(length, slot.itemcount, _tail(path, length))
        else:  # it was rotated under this run: what is in its place is another's
            now = FeedFile(None, slot.itemcount)
        self.put(str(path), now)

    def put(self, path: str, file: FeedFile | None) -> None:
        """Note how a file is now, for the next commit; None: it has gone."""
        if file == self._files.get(path):
            return
        name = f"{IN_JOB}/{json.dumps(path)}"
        if file is None:
            self._changed[name] = None
            del self._files[path]
        else:
            self._changed[name] = json.dumps(file).encode()
            self._files[path] = file

    def _make_ready(self, slot: FeedSlot, folder: Path) -> None:
        form = slot.exporters[slot.format]
        if not issubclass(form, _KNOWN) or isinstance(slot.storage, StdoutFeedStorage):
            return
        if _in_batches(slot) and not self._starts_batches:
            return
        if self._goes_on and isinstance(slot.storage, FileFeedStorage):
            slot.storage.write_mode = "ab"
        feed = _gzip_feed(slot)
        if _is_spooled(slot):
            spool = MemberSpool if feed else Spool
            slot.storage = spool(slot, _spool(folder, slot, slot.batch_id), self)
            options = slot.feed_options.items()
            slot.feed_options = {
                name: one for name, one in options if name != "postprocessing"
            }
        path = _path(slot) or folder
        items = self._files.get(str(path), FeedFile(None, 0)).items
        form = _holding(form, self._held)
        own = _going_on(form, lambda: self._finish(slot), feed, is_known=items > 0)
        slot.exporters = {**slot.exporters, slot.format: own}
        is_whole = issubclass(form, _WHOLE) or isinstance(slot.storage, Spool)
        has_items = items and path.exists() and path.stat().st_size
        if is_whole and has_items and getattr(slot.storage, "write_mode", "ab") == "ab":
            slot.itemcount = items
            # so that its end is written, though no item may come
            slot.start_exporting()

    def _batch_gone_on_with(self, slot: FeedSlot) -> FeedSlot:
        assert self._folder is not None  # noqa: S101 -- see its caller
        if not (_in_batches(slot) and self._starts_batches):
            return slot
        folder = self._folder
        most = slot.feed_options["batch_item_count"]
        left: dict[int, int] = {}  # how many items each has
        for path in folder.glob(_spool(folder, slot, "*").name):
            file = self._files.get(str(path.absolute()))
            # it was begun after the last commit: its pages are asked for again
            if file is None:
                path.replace(folder / f"cut-{path.name}")
            else:
                left[int(path.stem.rpartition("-")[2])] = file.items
        stored = last_stored(mark_of(_spool(folder, slot, 0)))
        last = max(left, default=0)
        number = max(stored, last) + 1
        if last > stored and left[last] < most:
            number = last  # it is not full
        # full, and the run ended before it was stored
        for old in sorted(left.keys() - {number}):
            batch = self._batch(slot, old)
            self._make_ready(batch, folder)
            batch.file = batch.file or batch.storage.open(batch.spider)
            batch.itemcount = most
            self._exporter._schedule_slot_close(batch, batch.spider)  # noqa: SLF001
        if number == 1:
            return slot
        return self._batch(slot, number)

    def _batch(self, slot: FeedSlot, number: int) -> FeedSlot:
        exporter = self._exporter
        spider = self._crawler.spider
        options = slot.feed_options
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


def _tail(file: Path, length: int) -> int:
    """Return a checksum of what stands before a length; 0: nothing does."""
    if not length:
        return 0
    first = max(0, length - _TAIL)
    with file.open("rb") as feed:
        feed.seek(first)
        return crc32(feed.read(length - first))


def _in_batches(slot: FeedSlot) -> bool:
    return bool(slot.feed_options.get("batch_item_count"))


def _spool(folder: Path, slot: FeedSlot, batch: int | str) -> Path:
    digest = blake2b(slot.uri_template.encode(), digest_size=6).hexdigest()
    return folder / f"feed-{digest}-{batch}.spool"


def _is_spooled(slot: FeedSlot) -> bool:
    options = slot.feed_options
    is_local = isinstance(slot.storage, FileFeedStorage)
    is_whole = issubclass(slot.exporters[slot.format], _WHOLE)
    is_new_each_time = is_whole and slot.uri != slot.uri_template
    is_cut_up = options.get("batch_item_count") or "postprocessing" in options
    return bool(not is_local or is_cut_up or is_new_each_time)


def _gzip_feed(slot: FeedSlot) -> Path | None:
    """A feed's local file, if members of gzip may be appended to it."""
    plugins = map(load_object, slot.feed_options.get("postprocessing") or ())
    is_whole = issubclass(slot.exporters[slot.format], _WHOLE) or _in_batches(slot)
    if (
        is_whole
        or [*plugins] != [GzipPlugin]
        or not isinstance(slot.storage, FileFeedStorage)
    ):
        return None
    return Path(slot.storage.path)


def _path(slot: FeedSlot) -> Path | None:
    """A feed's local file; None where it cannot be cut back."""
    if isinstance(slot.storage, Spool):
        return slot.storage.path.absolute()
    if not isinstance(slot.storage, FileFeedStorage) or _why_not(slot) is not None:
        return None
    return Path(slot.storage.path).absolute()


def _held_of(slot: FeedSlot) -> HeldFile | None:
    """Return what a feed's exporter writes to; None: to its file."""
    held = getattr(slot.exporter, "held", None)
    return held if isinstance(held, HeldFile) else None


def _why_not(slot: FeedSlot) -> str | None:
    if isinstance(slot.storage, Spool):
        return None
    if not issubclass(slot.exporters[slot.format], _KNOWN):
        return f"{slot.format} uses a custom exporter"
    if not isinstance(slot.storage, FileFeedStorage):
        return "it is no local file"
    if "postprocessing" in slot.feed_options:
        return "it is postprocessed"
    if _in_batches(slot):
        return "it is written in batches"
    return None


def _holding(form: Any, of_all: Held) -> Any:
    """Return an exporter class that keeps what cannot be written yet."""

    class Holding(form):  # type: ignore[misc]
        """Writes to a `HeldFile`."""

        def __init__(self, file: Any, *arguments: Any, **options: Any) -> None:
            is_plain = isinstance(file, io.BufferedWriter)
            self.held = HeldFile(file, of_all) if is_plain else file
            super().__init__(self.held, *arguments, **options)

        def finish_exporting(self) -> None:
            super().finish_exporting()
            self.held.flush()

    return Holding


def _going_on(
    form: Any, flush: Callable[[], None], feed: Path | None = None, *, is_known: bool
) -> Any:
    """Return an exporter class that appends to a file without writing a second header.

    `form`: one that holds. `flush` is called before the closing bracket. `feed`: has
    the members of gzip before this one. `is_known`: the job wrote the file.
    """

    class GoingOn(form):  # type: ignore[misc]
        """Appends to a file."""

        def __init__(self, file: Any, *arguments: Any, **options: Any) -> None:
            super().__init__(file, *arguments, **options)
            self._goes_on = file.tell() > 0
            self._has_ended = False
            has_any = self._goes_on or feed is not None
            if has_any and getattr(self, "include_headers_line", False):
                head = self._header(file)
                self.include_headers_line = head is None
                self.fields_to_export = (
                    super().__getattribute__("fields_to_export") or head
                )

        def _header(self, file: Any) -> list[str] | None:
            """Return the first line of the CSV that is there, if it has one."""
            options: Any = {"encoding": self.encoding or "utf-8", "newline": ""}
            if self._goes_on:
                with Path(file.name).open("rt", **options) as written:
                    return self._first_row(written)
            where: Any = feed
            with gzip.open(where, "rt", **options) as written:
                return self._first_row(written)

        def _first_row(self, written: Any) -> list[str] | None:
            return next(csv.reader(written, self.csv_writer.dialect), None)

        def start_exporting(self) -> None:
            if self._goes_on and is_known and isinstance(self, _WHOLE):
                self.first_item = False
            else:
                super().start_exporting()

        def finish_exporting(self) -> None:
            flush()
            if not self._has_ended:
                self._has_ended = True
                super().finish_exporting()
            self.held.flush()

    return GoingOn


def cut(
    files: Mapping[str, FeedFile], folder: Path, *, has_died: bool = True
) -> dict[str, FeedFile]:
    """Cut each file back to the last commit, and store the cut part in the folder.

    After a run that was closed only the closing bracket is cut: others wrote later
    lines. Returns the files without those in whose place is another file now, which is
    left as it is.
    """
    own = dict(files)
    for path, (length, _, tail) in files.items():
        file = Path(path)
        if length is None or not file.exists():
            continue
        size = file.stat().st_size
        if size < length or _tail(file, length) != tail:
            logger.warning(
                "%s is not the feed that the previous run wrote: it is left as it is,"
                " and this run appends to it",
                file,
            )
            del own[path]
        elif size > length:
            _cut(file, length, folder / f"cut-{file.name}", has_died=has_died)
    return own


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
        "Cut %s from %s, written after the last commit of the previous run: its pages"
        " are crawled again. The cut part is in %s.",
        counted(len(rest), "byte"),
        file,
        kept,
    )
