"""Feeds of a job from run to run, without a crawl: a run dies, is stopped, or ends."""

from __future__ import annotations

import csv
import gzip
import inspect
import json
import xml.etree.ElementTree as ET
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from pytest_twisted import ensureDeferred
from scrapy import signals
from scrapy.exporters import PythonItemExporter
from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.defer import deferred_from_coro

from scrapy_mandelbot.job.feeds import Feeds, cut

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
    "overwritten": Kind("items.json", {"format": "json", "overwrite": True}, of_json),
}
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


class Run:
    """A run of the job, as far as its feed goes."""

    def __init__(
        self, make_crawler, folder, kind, kept=None, *, has_died=False, **settings
    ) -> None:
        self._folder = folder
        self.crawler = make_crawler(
            FEEDS={str(folder / kind.name): kind.options}, JOBDIR=str(folder / "job"), **settings
        )
        (folder / "job").mkdir(exist_ok=True)
        written, counts = kept or (None, None)
        cut(written, folder / "job", has_died=has_died)
        self.exporter = FeedExporter.from_crawler(self.crawler)
        self.crawler.signals.disconnect(self.exporter.close_spider, signals.spider_closed)
        self.crawler.extensions = SimpleNamespace(middlewares=[self.exporter])
        self.exporter.open_spider(self.crawler.spider)
        self.feeds = Feeds(
            self.crawler, is_synced=True, folder=folder / "job", goes_on=kept is not None
        )
        self.feeds.begin(counts)

    async def scrape(self, *numbers: int) -> None:
        """Have items come."""
        for number in numbers:
            item = {"n": number, "text": "é\n"}
            self.crawler.signals.send_catch_log(
                signals.item_scraped, item=item, response=None, spider=self.crawler.spider
            )

    def commit(self) -> tuple[bytes, bytes]:
        """Return what the job keeps of the feed."""
        self.feeds.flush()
        return self.feeds.written(), self.feeds.counts()

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
        left = {path: path.read_bytes() for path in self._folder.rglob("*") if path.is_file()}
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
    return kind.read((gzip.decompress(octets) if "gz" in kind.name else octets).decode())


@each_kind
@ensureDeferred
async def test_a_run_that_died_is_gone_on_with(begin, tmp_path, kind):
    """Items of settled pages once, those of others when they come again; one head, and one end."""
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
async def test_a_run_that_was_stopped_is_gone_on_with(begin, tmp_path, kind):
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


@each_kind
@ensureDeferred
async def test_a_run_that_died_before_its_first_commit_begins_anew(begin, tmp_path, kind):
    """What it wrote is cut, and kept where the job is."""
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


BATCHES = Kind("items-%(batch_id)d.jsonl", {"format": "jsonlines", "batch_item_count": 2}, of_lines)


def batches(folder) -> dict[str, list[int]]:
    files = sorted(folder.glob("items-*.jsonl"))
    return {path.stem[6:]: of_lines(path.read_text()) for path in files}


@pytest.mark.skipif(not hasattr(FeedExporter, "_schedule_slot_close"), reason="Scrapy before 2.15")
@ensureDeferred
async def test_the_batch_that_was_under_way_is_gone_on_with(begin, tmp_path):
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


@each_kind
def test_a_crash_harms_none_of_these(begin, kind):
    """So none is named at the start."""
    assert list(begin(kind).feeds.not_kept()) == []


@ensureDeferred
async def test_a_feed_of_a_class_of_the_projects_own_is_named(begin, tmp_path):
    """Nobody knows whether that goes on in a file."""
    run = begin(
        Kind("items.own", {"format": "own"}, None), FEED_EXPORTERS={"own": PythonItemExporter}
    )
    ((uri, why),) = run.feeds.not_kept()
    assert uri.endswith("items.own")
    assert why == "own is of a class of its own"
