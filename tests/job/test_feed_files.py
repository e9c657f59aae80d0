"""Feeds of a job from run to run, without a crawl: a run dies, is stopped, or ends."""

from __future__ import annotations

import csv
import gzip
import inspect
import json
import os
import xml.etree.ElementTree as ET
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from pytest_twisted import ensureDeferred
from scrapy import signals
from scrapy.exporters import PythonItemExporter
from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage
from scrapy.utils.defer import deferred_from_coro
from twisted.internet import reactor, task

from scrapy_mandelbot.job import held_file
from scrapy_mandelbot.job.feeds import FeedLostError, Feeds, cut, read_stored

GZIP = {"postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"]}


def of_lines(text: str) -> list[int]:
    return [json.loads(line)["n"] for line in text.splitlines()]


def of_csv(text: str) -> list[int]:
    return [int(row["n"]) for row in csv.DictReader(text.splitlines())]


def of_json(text: str) -> list[int]:
    return [item["n"] for item in json.loads(text)]


def of_xml(text: str) -> list[int]:
    return [int(one.text) for one in ET.fromstring(text).iter("n")]


class Kind(NamedTuple):
    """A feed: its name, its options, and how what is in it is read."""

    name: str
    options: dict
    read: object


KINDS = {
    "lines": Kind("items.jsonl", {"format": "jsonlines"}, of_lines),
    "csv": Kind("items.csv", {"format": "csv"}, of_csv),
    "json": Kind("items.json", {"format": "json"}, of_json),
    "xml": Kind("items.xml", {"format": "xml"}, of_xml),
    "gzip": Kind("items.jsonl.gz", {"format": "jsonlines", **GZIP}, of_lines),
    "gzip csv": Kind("items.csv.gz", {"format": "csv", **GZIP}, of_csv),
    "gzip overwritten": Kind(
        "items.jl.gz", {"format": "jsonlines", "overwrite": True, **GZIP}, of_lines
    ),
    "overwritten": Kind("items.json", {"format": "json", "overwrite": True}, of_json),
}
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


class Run:
    """A run of the job, as far as its feeds go; that of a worker has no folder."""

    def __init__(
        self,
        make_crawler,
        folder,
        kind,
        kept=None,
        *,
        has_died=False,
        is_workers=False,
        others=(),
        **settings,
    ) -> None:
        self._folder = folder
        self.crawler = make_crawler(
            FEEDS={str(folder / one.name): one.options for one in (kind, *others)},
            JOBDIR=str(folder / "job"),
            **settings,
        )
        (folder / "job").mkdir(exist_ok=True)
        files = read_stored(kept or {})
        cut(files, folder / "job", has_died=has_died)
        self.exporter = FeedExporter.from_crawler(self.crawler)
        self.crawler.signals.disconnect(
            self.exporter.close_spider, signals.spider_closed
        )
        self.crawler.extensions = SimpleNamespace(middlewares=[self.exporter])
        self.exporter.open_spider(self.crawler.spider)
        self.feeds = Feeds(
            self.crawler,
            None if is_workers else folder / "job",
            files,
            is_synced=True,
            goes_on=kept is not None,
        )
        self.feeds.begin()
        self._kept = dict(kept or {})
        self.octets = 0
        """As many as commits have written of that."""

    async def scrape(self, *numbers: int) -> None:
        """Emit items."""
        for number in numbers:
            item = {"n": number, "text": "é\n"}
            self.crawler.signals.send_catch_log(
                signals.item_scraped,
                item=item,
                response=None,
                spider=self.crawler.spider,
            )

    def commit(self) -> dict[str, bytes]:
        """Return what the job keeps of the feed."""
        changed = self.feeds.flush()
        self.octets += sum(
            len(name) + len(value or b"") for name, value in changed.items()
        )
        kept = {**self._kept, **changed}
        self._kept = {name: value for name, value in kept.items() if value is not None}
        return self._kept

    async def turn(self) -> None:
        """Let what is to be stored be stored."""
        for _ in range(10):
            await task.deferLater(reactor, 0)

    async def close(self, *, has_finished: bool = False) -> None:
        """End in good order."""
        self.feeds.has_finished = has_finished
        closed = self.exporter.close_spider(self.crawler.spider)
        await (deferred_from_coro(closed) if inspect.iscoroutine(closed) else closed)

    async def die(self) -> None:
        """Leave on the disk what is there now, and no end."""
        for slot in self.exporter.slots:
            if slot.file is not None:
                slot.file.flush()
        left = {
            path: path.read_bytes()
            for path in self._folder.rglob("*")
            if path.is_file()
        }
        await self.close()
        for path in self._folder.rglob("*"):
            if path.is_file():
                path.unlink()
        for path, octets in left.items():
            path.write_bytes(octets)


@pytest.fixture
def begin(make_crawler, tmp_path):
    """Begin a run."""
    return lambda kind, kept=None, **how: Run(make_crawler, tmp_path, kind, kept, **how)


def items(kind, folder) -> list[int]:
    octets = (folder / kind.name).read_bytes()
    return kind.read(
        (gzip.decompress(octets) if "gz" in kind.name else octets).decode()
    )


@each_kind
@ensureDeferred
async def test_a_feed_continues_after_a_run_that_died(begin, tmp_path, kind):
    """Items of settled pages once, those of others when they come again; one head, and
    one end.
    """
    first = begin(kind)
    await first.scrape(1, 2)
    kept = first.commit()
    await first.scrape(3)
    await first.die()
    second = begin(kind, kept, has_died=True)
    await second.scrape(3, 4)
    await second.close()
    assert items(kind, tmp_path) == [1, 2, 3, 4]


@each_kind
@ensureDeferred
async def test_a_feed_continues_after_a_run_that_was_stopped(begin, tmp_path, kind):
    """As if there had been no end; also where nothing is to come any more."""
    first = begin(kind)
    await first.scrape(1, 2)
    kept = first.commit()
    await first.close()
    assert items(kind, tmp_path) == [1, 2]
    second = begin(kind, kept)
    await second.scrape(3)
    kept = second.commit()
    await second.close()
    third = begin(kind, kept)
    await third.close(has_finished=True)
    assert items(kind, tmp_path) == [1, 2, 3]


@pytest.mark.parametrize("kind", ["gzip", "gzip csv", "gzip overwritten"])
@ensureDeferred
async def test_each_run_adds_a_gzip_member_and_leaves_no_spool(begin, tmp_path, kind):
    """A run that died while it wrote one leaves a part, which is cut off."""
    kind = KINDS[kind]
    feed, job = tmp_path / kind.name, tmp_path / "job"
    first = begin(kind)
    await first.scrape(1, 2)
    kept = first.commit()
    await first.close()
    assert not list(job.iterdir())
    member = feed.read_bytes()
    second = begin(kind, kept)
    await second.scrape(3)
    kept = second.commit()
    feed.write_bytes(member + b"half")
    (spool,) = job.iterdir()
    spool.with_suffix(".length").write_text(str(len(member)))
    await second.die()
    third = begin(kind, kept, has_died=True)
    await third.close(has_finished=True)
    assert feed.read_bytes().startswith(member)
    assert items(kind, tmp_path) == [1, 2, 3]
    assert not list(job.iterdir())


@each_kind
@ensureDeferred
async def test_a_feed_of_a_run_without_commits_starts_over(
    begin, tmp_path, monkeypatch, kind
):
    """What it wrote is cut, and kept where the job is; here each write is at once."""
    monkeypatch.setattr(held_file, "_PIECE", 1)
    first = begin(kind)
    kept = first.commit()
    await first.scrape(1)
    await first.die()
    second = begin(kind, kept, has_died=True)
    await second.scrape(1, 2)
    await second.close()
    assert items(kind, tmp_path) == [1, 2]
    (of_first,) = (tmp_path / "job").glob("cut-*")
    assert b"1" in of_first.read_bytes()


class Disk:
    """Takes so many bytes, and then none until there is room."""

    def __init__(self) -> None:
        self.room = 10**9

    def write(self, file: int, part: bytearray) -> int:
        if not self.room:
            raise OSError(28, "No space left on device")
        written = os.write(file, part[: self.room])
        self.room -= written
        return written


@pytest.fixture
def disk(monkeypatch) -> Disk:
    """The disk of the feeds, on which each write is at once."""
    one = Disk()
    monkeypatch.setattr(held_file, "_PIECE", 1)
    monkeypatch.setattr(held_file, "write_to", one.write)
    return one


@each_kind
@ensureDeferred
async def test_a_full_disk_costs_a_feed_no_item(begin, tmp_path, disk, kind):
    """No commit succeeds while an item is not in its file; then each is there once."""
    run = begin(kind)
    await run.scrape(1)
    disk.room = 5  # octets, so an item is torn
    await run.scrape(2, 3)
    with pytest.raises(OSError, match="No space"):
        run.commit()
    await run.scrape(4)
    disk.room = 10**9
    run.commit()
    await run.scrape(5)
    await run.close(has_finished=True)
    assert items(kind, tmp_path) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind", ["lines", "csv", "json", "xml", "overwritten"])
@ensureDeferred
async def test_a_full_disk_costs_a_feed_of_a_worker_no_item(
    begin, tmp_path, disk, kind
):
    """No exchange settles a page while its item is not in the file."""
    kind = KINDS[kind]
    run = begin(kind, is_workers=True)
    await run.scrape(1)
    run.commit()
    disk.room = 5
    await run.scrape(2, 3)
    with pytest.raises(OSError, match="No space"):
        run.commit()
    disk.room = 10**9
    await run.scrape(4)
    run.commit()
    await run.close()
    assert items(kind, tmp_path) == [1, 2, 3, 4]


@pytest.mark.parametrize("is_workers", [False, True])
@ensureDeferred
async def test_all_feeds_of_a_crawl_together_hold_so_much(
    begin, disk, monkeypatch, is_workers
):
    """Ten full disks take no more memory than one."""
    monkeypatch.setattr(held_file, "MOST_HELD", 1_000)
    others = [Kind(f"{n}.jsonl", {"format": "jsonlines"}, of_lines) for n in range(9)]
    run = begin(KINDS["lines"], is_workers=is_workers, others=others)
    await run.scrape(1)
    disk.room = 0
    await run.scrape(*range(2, 50))
    held = [slot.exporter.held for slot in run.exporter.slots]
    of_all = held[0].of_all
    assert 900 < of_all.total <= 1_000
    disk.room = 10**9
    with pytest.raises(FeedLostError, match="No space"):
        run.commit()
    for one in held:
        one.flush()
    assert of_all.total == 0
    await run.die()


@ensureDeferred
async def test_a_csv_with_a_byte_order_mark_has_one(begin, tmp_path):
    """A text encoder writes it where the file begins, and asks where that is."""
    kind = Kind("items.csv", {"format": "csv", "encoding": "utf-8-sig"}, of_csv)
    first = begin(kind)
    await first.scrape(1)
    kept = first.commit()
    await first.close()
    second = begin(kind, kept)
    await second.scrape(2)
    await second.close(has_finished=True)
    text = (tmp_path / kind.name).read_bytes()
    assert text.count(b"\xef\xbb\xbf") == 1
    assert of_csv(text.decode("utf-8-sig")) == [1, 2]


@each_kind
@ensureDeferred
async def test_a_run_that_died_on_a_full_disk_is_cut_to_its_last_commit(
    begin, tmp_path, disk, kind
):
    """The next one crawls the pages of the other items again."""
    first = begin(kind)
    await first.scrape(1)
    kept = first.commit()
    disk.room = 5
    await first.scrape(2)
    disk.room = 10**9
    await first.die()
    second = begin(kind, kept, has_died=True)
    await second.scrape(2, 3)
    await second.close(has_finished=True)
    assert items(kind, tmp_path) == [1, 2, 3]


@each_kind
@ensureDeferred
async def test_a_job_ends_where_too_much_of_a_feed_waits_for_room(
    begin, tmp_path, disk, monkeypatch, kind
):
    """Memory is bounded. An item that is dropped is never committed, though there is
    room again.
    """
    monkeypatch.setattr(held_file, "MOST_HELD", 300)
    first = begin(kind)
    await first.scrape(1)
    kept = first.commit()
    disk.room = 0
    await first.scrape(*range(2, 50))
    disk.room = 10**9
    with pytest.raises(FeedLostError, match="No space"):
        first.commit()
    assert FeedLostError.ends_run == "job_not_saved"
    await first.die()
    second = begin(kind, kept, has_died=True)
    await second.scrape(2, 3)
    await second.close(has_finished=True)
    assert items(kind, tmp_path) == [1, 2, 3]


@ensureDeferred
async def test_what_others_have_written_to_a_file_of_lines_stays(begin, tmp_path):
    """Since a run that was closed; since one that died it is as what that one wrote."""
    kind = KINDS["lines"]
    first = begin(kind)
    await first.scrape(1)
    kept = first.commit()
    await first.close()
    with (tmp_path / kind.name).open("a") as feed:
        feed.write('{"n": 9}\n')
    second = begin(kind, kept)
    await second.scrape(2)
    kept = second.commit()
    await second.close()
    assert items(kind, tmp_path) == [1, 9, 2]
    with (tmp_path / kind.name).open("a") as feed:
        feed.write('{"n": 9}\n')
    await begin(kind, kept, has_died=True).close()
    assert items(kind, tmp_path) == [1, 9, 2]


needs_batches = pytest.mark.skipif(
    not hasattr(FeedExporter, "_schedule_slot_close"), reason="Scrapy before 2.15"
)
BATCHES = Kind(
    "items-%(batch_id)d.jsonl", {"format": "jsonlines", "batch_item_count": 2}, of_lines
)


def batches(folder) -> dict[str, list[int]]:
    files = sorted(folder.glob("items-*.jsonl"))
    return {path.stem[6:]: of_lines(path.read_text()) for path in files}


@needs_batches
@ensureDeferred
async def test_an_interrupted_batch_is_completed(begin, tmp_path):
    """Numbers go on; what was stored is not stored again, and what was full is."""
    first = begin(BATCHES)
    await first.scrape(1, 2, 3)
    kept = first.commit()
    await first.die()
    second = begin(BATCHES, kept, has_died=True)
    await second.scrape(4, 5)
    kept = second.commit()
    await second.close()
    assert batches(tmp_path) == {"1": [1, 2], "2": [3, 4], "3": [5]}
    (tmp_path / "items-1.jsonl").unlink()  # as who takes batches away does
    third = begin(BATCHES, kept)
    await third.scrape(6)
    await third.close(has_finished=True)
    assert batches(tmp_path) == {"2": [3, 4], "3": [5], "4": [6]}
    assert not list((tmp_path / "job").glob("*.spool"))


WHOLE_BATCHES = Kind(
    "items-%(batch_id)d.json", {"format": "json", "batch_item_count": 2}, of_json
)


def whole_batches(folder) -> dict[str, list[int]]:
    files = sorted(folder.glob("items-*.json"))
    return {path.stem[6:]: of_json(path.read_text()) for path in files}


@needs_batches
@ensureDeferred
async def test_a_batch_that_was_full_at_a_kill_is_closed_properly(begin, tmp_path):
    """It is stored by the next run, with no item more, and the one behind it has its
    number.
    """
    first = begin(WHOLE_BATCHES)
    await first.scrape(1, 2)
    kept = first.commit()
    await first.die()
    second = begin(WHOLE_BATCHES, kept, has_died=True)
    await second.scrape(3)
    await second.close(has_finished=True)
    assert whole_batches(tmp_path) == {"1": [1, 2], "2": [3]}


@needs_batches
@ensureDeferred
async def test_a_full_disk_costs_a_batch_no_item(begin, tmp_path, disk):
    """A batch that is full meanwhile is closed when there is room again."""
    run = begin(WHOLE_BATCHES)
    await run.scrape(1)
    disk.room = 0
    await run.scrape(2, 3)
    await run.turn()
    with pytest.raises(OSError, match="No space"):
        run.commit()
    disk.room = 10**9
    run.commit()
    await run.turn()
    await run.scrape(4, 5)
    await run.close(has_finished=True)
    assert whole_batches(tmp_path) == {"1": [1, 2], "2": [3, 4], "3": [5]}
    assert not list((tmp_path / "job").glob("*.spool"))


class Far(FileFeedStorage):
    """Stores nothing while it cannot be reached."""

    is_down = False

    def __init__(self, uri, *, feed_options=None) -> None:
        super().__init__(uri, feed_options=feed_options)
        self.write_mode = "wb"

    def store(self, file):
        file.close()
        if self.is_down:
            raise OSError("down")


@needs_batches
@ensureDeferred
async def test_a_batch_that_could_not_be_stored_is_stored_by_the_next_run(
    begin, tmp_path, monkeypatch
):
    """Though a later one was stored; it has its end once."""
    far = {"FEED_STORAGES": {"": Far}}
    first = begin(WHOLE_BATCHES, **far)
    monkeypatch.setattr(Far, "is_down", True)
    await first.scrape(1, 2)
    await first.turn()
    monkeypatch.setattr(Far, "is_down", False)
    await first.scrape(3, 4, 5)
    await first.turn()
    kept = first.commit()
    assert len(list((tmp_path / "job").glob("*.spool"))) == 2, (
        "the first, and the one under way"
    )
    await first.die()
    (tmp_path / "items-1.json").unlink()
    second = begin(WHOLE_BATCHES, kept, has_died=True, **far)
    await second.scrape(6)
    await second.close(has_finished=True)
    assert whole_batches(tmp_path) == {"1": [1, 2], "2": [3, 4], "3": [5, 6]}
    assert not list((tmp_path / "job").glob("*.spool"))


@needs_batches
@ensureDeferred
async def test_a_batch_without_a_commit_starts_over(begin, tmp_path):
    """Its pages are asked for again; it may end within a line. What it had is kept."""
    first = begin(BATCHES)
    await first.scrape(1)
    kept = first.commit()
    await first.scrape(2, 3)
    await first.die()
    second = begin(BATCHES, kept, has_died=True)
    await second.scrape(2, 3)
    await second.close(has_finished=True)
    assert batches(tmp_path) == {"1": [1, 2], "2": [3]}
    assert len(list((tmp_path / "job").glob("cut-*-2.spool"))) == 1


@needs_batches
@pytest.mark.parametrize("are_stored", [True, False])
@ensureDeferred
async def test_stored_batches_leave_no_states_in_the_job(
    begin, monkeypatch, are_stored
):
    """Not with its square: a commit writes what has changed, and nothing of those
    stored.
    """
    monkeypatch.setattr(Far, "is_down", not are_stored)
    one_each = Kind(
        "items-%(batch_id)04d.jsonl", {"format": "jsonlines", "batch_item_count": 1}, 0
    )
    run, octets = begin(one_each, FEED_STORAGES={"": Far}), {}
    for number in range(1, 101):
        await run.scrape(number)
        await run.turn()
        kept = run.commit()
        octets[number] = run.octets
    assert octets[50] == pytest.approx(2 * octets[25], rel=0.05)
    assert octets[100] == pytest.approx(4 * octets[25], rel=0.05)
    assert len(kept) == (0 if are_stored else 100)
    await run.close()


@ensureDeferred
async def test_a_file_that_is_no_longer_a_feed_is_not_cut(begin, tmp_path):
    """Others may have written to it; when it is a feed once more it is gone on with."""
    kind, other = KINDS["json"], Kind("others.jsonl", {"format": "jsonlines"}, of_lines)
    first = begin(kind)
    await first.scrape(1)
    kept = first.commit()
    await first.die()
    second = begin(other, kept, has_died=True)
    kept = second.commit()
    await second.die()
    file = tmp_path / kind.name
    longer = file.read_bytes() + b',\n{"n": 9}'
    file.write_bytes(longer)
    third = begin(kind, kept, has_died=True)
    assert file.read_bytes() == longer
    await third.scrape(2)
    await third.close()
    assert items(kind, tmp_path) == [1, 9, 2]


@each_kind
def test_feeds_that_a_crash_cannot_harm_cause_no_warning(begin, kind):
    """So none is named at the start."""
    assert list(begin(kind).feeds.not_kept()) == []


@ensureDeferred
async def test_a_feed_with_a_custom_exporter_is_reported(begin, tmp_path):
    """Nobody knows whether that goes on in a file."""
    run = begin(
        Kind("items.own", {"format": "own"}, None),
        FEED_EXPORTERS={"own": PythonItemExporter},
    )
    ((uri, why),) = run.feeds.not_kept()
    assert uri.endswith("items.own")
    assert why == "own uses a custom exporter"
