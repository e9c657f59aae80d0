"""What a kill leaves of the items in each kind of feed, when the run after it has
ended.
"""

from __future__ import annotations

import csv
import gzip
import json
import xml.etree.ElementTree as ET

import pytest
from scrapy.extensions.feedexport import FeedExporter

pytestmark = pytest.mark.slow

ITEMS = 120
RUNS = 30, 2, 41
"""After how many calls each run ends."""
MOST_AGAIN = sum(RUNS) // 2
"""How many items may be there twice: what was written in the tenth of a second before a
kill, so how many depends on the machine; far from all of them.
"""
HAS_BATCHES = hasattr(FeedExporter, "_schedule_slot_close")
"""Whether Scrapy stores a batch when it is full: before 2.15 all were stored at the
end.
"""
SPIDER = """
import os, signal, sys
from pathlib import Path
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.extensions.feedexport import BlockingFeedStorage

class FarStorage(BlockingFeedStorage):
    def __init__(self, uri, *, feed_options=None):
        self.path = Path("far", uri.rpartition("/")[2])

    def _store_in_thread(self, file):
        file.seek(0)
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_bytes(file.read())
        file.close()

class FedSpider(scrapy.Spider):
    name = "fed"
    called = 0
    start_urls = [f"data:,{n}" for n in range(ITEMS)]

    def parse(self, response):
        self.called += 1
        if sys.argv[2] == "kill" and self.called > int(sys.argv[1]):
            os.kill(os.getpid(), signal.SIGKILL)
        yield {"n": int(response.text), "name": "é, " + response.text}

gzipped = {"postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"]}
process = CrawlerProcess({
    "ADDONS": {"scrapy_mandelbot.Addon": 500}, "JOBDIR": "job", "LOG_LEVEL": "INFO",
    "TELNETCONSOLE_ENABLED": False, "CONCURRENT_ITEMS": 1, "CONCURRENT_REQUESTS": 2,
    "USER_AGENT": "Examplebot/1.0 (+https://example.com/bot)",
    "CLOSESPIDER_ITEMCOUNT": int(sys.argv[1]) * (sys.argv[2] == "close"),
    "FEED_STORAGES": {"far": FarStorage},
    "FEEDS": {
        "items.json": {"format": "json"},
        "over.json": {"format": "json", "overwrite": True, "indent": 2},
        "items.xml": {"format": "xml"},
        "items.csv": {"format": "csv"},
        "items.jl": {"format": "jsonlines"},
        "items.jl.gz": {"format": "jsonlines", **gzipped},
        "items.json.gz": {"format": "json", **gzipped},
        "far://bucket/items.json": {"format": "json"},
        "far://bucket/items.csv": {"format": "csv"},
        "batch-%(batch_id)d.json": {"format": "json", "batch_item_count": 25},
        "far://bucket/batch-%(batch_id)d.jl": {
            "format": "jsonlines",
            "batch_item_count": 25,
        },
    },
})
process.crawl(FedSpider)
process.start()
"""


def lines(text: str) -> list:
    return [json.loads(line) for line in text.splitlines()]


CLOSE = pytest.param(
    "close",
    marks=pytest.mark.skipif(
        not HAS_BATCHES, reason="it closes when all items are there"
    ),
)


@pytest.mark.parametrize("how", ["kill", CLOSE])
def test_no_item_is_lost_and_each_feed_is_whole(tmp_path, forked, how):
    """After runs that were killed, and after those that were closed; a batch has its
    number.
    """
    script = tmp_path / "fed.py"
    text = SPIDER.replace("ITEMS", str(ITEMS))
    kept = [
        line
        for line in text.splitlines()
        if HAS_BATCHES or "batch_item_count" not in line
    ]
    script.write_text("\n".join(kept))

    def run(calls):
        ended = forked.program(tmp_path, script, calls, how)
        return ended.returncode, ended.stderr.decode()

    for calls in RUNS:
        status, log = run(calls)
        assert status == (-9 if how == "kill" else 0), log
    _, log = run(10 * ITEMS)
    assert "Spider closed (finished)" in log, log
    assert "Traceback" not in log
    assert "may lack items" not in log

    far = tmp_path / "far"
    with (tmp_path / "items.csv").open(encoding="utf-8") as file:
        near_csv = [*csv.DictReader(file)]
    with (far / "items.csv").open(encoding="utf-8") as file:
        far_csv = [*csv.DictReader(file)]
    batches = sorted(tmp_path.glob("batch-*.json"))
    far_batches = sorted(far.glob("batch-*.jl"))
    found = {
        "json": json.loads((tmp_path / "items.json").read_text("utf-8")),
        "over": json.loads((tmp_path / "over.json").read_text("utf-8")),
        "xml": [
            {"n": one.findtext("n"), "name": one.findtext("name")}
            for one in ET.parse(tmp_path / "items.xml").getroot()
        ],
        "csv": near_csv,
        "lines": lines((tmp_path / "items.jl").read_text("utf-8")),
        "gzip": lines(
            gzip.decompress((tmp_path / "items.jl.gz").read_bytes()).decode()
        ),
        "json, gzip": json.loads(
            gzip.decompress((tmp_path / "items.json.gz").read_bytes())
        ),
        "far": json.loads((far / "items.json").read_text("utf-8")),
        "far, csv": far_csv,
    }
    if HAS_BATCHES:
        read = [one for path in batches for one in json.loads(path.read_text("utf-8"))]
        far_read = [
            one for path in far_batches for one in lines(path.read_text("utf-8"))
        ]
        found |= {"batches": read, "far batches": far_read}
    for kind, items in found.items():
        numbers = [int(one["n"]) for one in items]
        assert sorted({*numbers}) == [*range(ITEMS)], kind
        assert len(numbers) <= ITEMS + MOST_AGAIN, kind
        assert all(one["name"] == f"é, {one['n']}" for one in items), kind
    for paths in (batches, far_batches):
        ids = sorted(int(path.stem.partition("-")[2]) for path in paths)
        assert ids == [*range(1, len(ids) + 1)]
        assert len(ids) <= 8

    assert "Spider closed (finished)" in run(10 * ITEMS)[1]
    again = json.loads((tmp_path / "items.json").read_text("utf-8"))
    assert len(again) == len(found["json"]) + ITEMS
    assert len(json.loads((tmp_path / "over.json").read_text("utf-8"))) == ITEMS
    assert len(json.loads((far / "items.json").read_text("utf-8"))) == ITEMS
