"""A JOBDIR that Scrapy's own scheduler has left, closed or killed, goes on as a job of
ours.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from crawling import SCRAPYS_FORM, SETTINGS, LinksSpider, ensureDeferred
from crawling import crawl as crawl_with
from queueing import open_scheduler as open_scrapys
from scrapy import Request, squeues

from scrapy_mandelbot.job import takeover as scrapys_files
from scrapy_mandelbot.job.requests import RequestForm
from scrapy_mandelbot.job.sqlite_job import SqliteJob
from scrapy_mandelbot.job.takeover import take_over

URLS = [f"http://site{n % 3}.example/{n}" for n in range(30)]


def leave(make_crawler, folder, *, is_killed=False, **settings) -> None:
    """Have Scrapy's scheduler leave requests of three sites, a start request and an
    urgent one.
    """
    crawler = make_crawler(JOBDIR=str(folder), **SCRAPYS_FORM, **settings)
    scheduler = open_scrapys(crawler, settings.get("SCHEDULER_PRIORITY_QUEUE"))
    for url in URLS:
        scheduler.enqueue_request(Request(url))
    scheduler.enqueue_request(Request("http://site0.example/urgent", priority=9))
    start = Request("http://site0.example/start", meta={"is_start_request": True})
    scheduler.enqueue_request(start)
    taken = scheduler.next_request()
    assert taken is not None
    if is_killed:
        for queue in scheduler.dqs._storage.opened.values():
            for each in queue.queues.values():
                each.f.flush()
        scheduler.df.file.flush()
        shutil.copytree(folder, f"{folder}-killed")
    scheduler.close("shutdown")
    if is_killed:
        shutil.rmtree(folder)
        Path(f"{folder}-killed").rename(folder)


@pytest.fixture
def take(tmp_path):
    """Take over what is in the folder; return the URLs that were pushed."""

    def take_over_now(push=None) -> list[str]:
        store = SqliteJob(tmp_path / "job.sqlite")
        urls: list[str] = []
        try:
            form = RequestForm(None)
            take_over(
                tmp_path,
                store,
                form,
                push or (lambda request: urls.append(request.url)),
            )
        finally:
            store.close()
        return urls

    return take_over_now


QUEUES = [
    "PickleLifoDiskQueue",
    "PickleFifoDiskQueue",
    "MarshalLifoDiskQueue",
    "PickleLifoSQLiteQueue",
    "PickleFifoSQLiteQueue",
]


@pytest.mark.parametrize("queue", [one for one in QUEUES if hasattr(squeues, one)])
@ensureDeferred
async def test_waiting_requests_of_scrapy_are_imported_once(
    make_crawler, tmp_path, take, caplog, queue
):
    """In the order of its pushes; the fingerprints with it; and a second run finds
    nothing.
    """
    leave(make_crawler, tmp_path, SCHEDULER_DISK_QUEUE=f"scrapy.squeues.{queue}")
    caplog.clear()
    caplog.set_level("INFO", "scrapy_mandelbot.job.takeover")
    urls = take()
    assert len(urls) == 31
    of_one = [url for url in urls if url.startswith("http://site1.") and url in URLS]
    assert of_one == sorted(of_one, key=URLS.index)
    assert not (tmp_path / "requests.queue").exists()
    assert (tmp_path / "requests.queue.taken-over").exists()
    assert (tmp_path / "requests.seen.taken-over").exists()
    assert "31 requests queued, 32 fingerprints" in caplog.text
    assert "WARNING" not in caplog.text
    assert take() == []


@ensureDeferred
async def test_what_can_be_read_of_a_killed_run_is_imported(
    make_crawler, tmp_path, take, caplog
):
    """What was in flight is nowhere: a warning says so."""
    leave(make_crawler, tmp_path, is_killed=True)
    assert len(take()) >= 30
    assert "did not close it" in caplog.text


@ensureDeferred
async def test_a_torn_end_costs_only_the_torn_record(
    make_crawler, tmp_path, take, caplog
):
    """All records before it come, and it is named."""
    leave(make_crawler, tmp_path)
    (file,) = (tmp_path / "requests.queue").glob("*site1*/0")
    octets = file.read_bytes()
    file.write_bytes(octets[:-7])
    assert len(take()) == 30
    assert "the end of" in caplog.text
    assert str(file) in caplog.text


@ensureDeferred
async def test_what_cannot_be_read_is_named_and_kept_aside(
    make_crawler, tmp_path, take, caplog
):
    """A file of nonsense, and a request whose callback the spider has no more."""
    leave(make_crawler, tmp_path)
    (file,) = (tmp_path / "requests.queue").glob("*site1*/0")
    file.write_bytes(b"\xff" * 5000)
    urls = take()
    assert len(urls) == 21
    assert str(file) in caplog.text
    aside = tmp_path / "requests.queue.taken-over"
    assert (
        aside / file.relative_to(tmp_path / "requests.queue")
    ).read_bytes() == b"\xff" * 5000


@pytest.mark.parametrize("gone", ["requests.queue", "requests.seen"])
@ensureDeferred
async def test_a_partial_jobdir_is_imported(make_crawler, tmp_path, take, gone, caplog):
    """Requests without fingerprints, or fingerprints alone; once."""
    leave(make_crawler, tmp_path)
    path = tmp_path / gone
    path.unlink() if path.is_file() else shutil.rmtree(path)
    caplog.set_level("INFO", "scrapy_mandelbot.job.takeover")
    assert len(take()) == (31 if gone == "requests.seen" else 0)
    assert (
        "0 fingerprints" if gone == "requests.seen" else "32 fingerprints"
    ) in caplog.text
    assert sorted(path.name for path in tmp_path.glob("requests.*")) == [
        f"{one}.taken-over"
        for one in ("requests.queue", "requests.seen")
        if one != gone
    ]
    caplog.clear()
    assert take() == []
    assert not caplog.text


@ensureDeferred
async def test_a_queue_with_a_broken_info_file_is_reported(
    make_crawler, tmp_path, take, caplog
):
    """Of the others all is taken."""
    leave(
        make_crawler,
        tmp_path,
        SCHEDULER_DISK_QUEUE="scrapy.squeues.PickleFifoDiskQueue",
    )
    (file,) = (tmp_path / "requests.queue").glob("*site1*/0/info.json")
    file.write_text("{")
    assert len(take()) == 21
    assert (
        "1 parts of a job of Scrapy's cannot be read, and are kept beside it:"
        f" {file.parent}" in (caplog.text)
    )


@ensureDeferred
async def test_an_interrupted_import_continues(
    make_crawler, tmp_path, take, monkeypatch
):
    """What was committed before is not taken twice, what was not is taken."""
    leave(make_crawler, tmp_path)
    monkeypatch.setattr("scrapy_mandelbot.job.takeover._SLICE", 10)
    first: list[str] = []

    def push(request):
        if len(first) == 25:
            raise KeyboardInterrupt
        first.append(request.url)

    with pytest.raises(KeyboardInterrupt):
        take(push)
    second = take()
    assert len(second) == 11
    assert sorted({*first, *second}) == sorted(set(first[:20] + second))
    assert len(first[:20] + second) == 31


def test_fingerprints_are_read_in_either_form(tmp_path):
    """Octets with their lengths, and lines of hexadecimal digits as earlier versions
    wrote them.
    """
    path = tmp_path / "requests.seen"
    assert list(scrapys_files.read_seen(path)) == []
    path.write_bytes(b"\0\x03abc\0\x02de\0\x09torn")
    assert list(scrapys_files.read_seen(path)) == [b"abc", b"de"]
    path.write_bytes(b"00ff\r\n0102\n01")
    assert list(scrapys_files.read_seen(path)) == [b"\0\xff", b"\1\2"]


@ensureDeferred
async def test_a_crawl_continues_a_job_of_scrapys(webs, tmp_path):
    """Every page once over both runs, but those whose start URL is asked again."""
    from webs import Closed, site

    web = site(webs, 20)
    web.refuse = closed = Closed(seconds=10**6, after=8, retry_after="1")
    settings = {**SETTINGS, "JOBDIR": str(tmp_path)}
    first = await crawl_with(
        LinksSpider,
        settings | SCRAPYS_FORM | {"MANDELBOT_PAUSE_IDLE": "close"},
        start_urls=[web.url + "/"],
    )
    assert first.stats["finish_reason"] == "sites_paused"
    closed.seconds = 0
    second = await crawl_with(LinksSpider, settings, start_urls=[web.url + "/"])
    assert second.stats["finish_reason"] == "finished"
    assert sorted({*first.urls(), *second.urls()}) == web.urls(20)
    again = set(first.urls()) & set(second.urls())
    assert again <= {web.url + "/"}
