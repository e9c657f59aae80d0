"""The ledger: a line for each decision about a page, copies by hash, and what a crash
leaves.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from hashlib import sha256

import pytest
import scrapy
from crawling import crawl, ensureDeferred
from mandelbot import RobotsTxt
from pages import page
from scrapy.http import TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.test import get_crawler
from test_usage import (
    AGENT,
    PAGES,
    REFUSED,
    REFUSED_BEFORE,
    ROBOTS,
    TDMREP,
    EveryPage,
    crawled,
    paths,
    site,
)
from webs import Answer

from scrapy_mandelbot import SettingsError
from scrapy_mandelbot.spidermiddlewares.ledger import (
    MOST_TERMS,
    TEXT_LIMIT,
    LedgerFile,
    copy_path,
)
from scrapy_mandelbot.spidermiddlewares.usage import UsageMiddleware

# In a crawl.


def lines(ledger, event=None):
    """Return the lines of a ledger, or those of an event by path."""
    read = [json.loads(line) for line in ledger.read_text().splitlines()]
    return read if event is None else [line for line in read if line["event"] == event]


def by_path(ledger, event, web):
    return {line["url"].removeprefix(web.url): line for line in lines(ledger, event)}


@ensureDeferred
async def test_a_line_says_what_allowed_a_page_to_be_fetched_and_used(webs, tmp_path):
    """Or did not: the rule, its file, the statement that decides, the body, the items."""
    web = site(webs)
    ledger, report = tmp_path / "out" / "ledger.jsonl", tmp_path / "report.json"
    result = await crawled(
        web,
        MANDELBOT_PURPOSE="train-ai",
        MANDELBOT_LEDGER=str(ledger),
        MANDELBOT_REPORT=str(report),
    )
    fetched, refused = (
        by_path(ledger, "fetched", web),
        by_path(ledger, "not_fetched", web),
    )
    assert fetched.keys() == PAGES.keys() - REFUSED_BEFORE
    assert refused.keys() == REFUSED_BEFORE
    for path, line in (fetched | refused).items():
        answer = (
            "disallowed" if path in REFUSED["train-ai"] else line["answers"]["train-ai"]
        )
        assert line["answers"]["train-ai"] == answer
        assert ("train-ai" in line["decided_by"]) == (answer != "unknown")
        assert line["agent"] == AGENT["USER_AGENT"]
        assert line["purposes"] == ["train-ai"]
        assert line["robots"]["allowed"] is True
        assert line["robots"]["is_obeyed"] is True
        assert copy_path(ledger, line["robots"]["sha256"]).read_bytes() == ROBOTS
        assert copy_path(ledger, line["tdmrep"]).read_bytes() == TDMREP
    for path, line in fetched.items():
        assert (line["status"], line["is_cached"]) == (200, False)
        assert line["body"] == sha256(PAGES[path].body).hexdigest()
    assert refused["/usage-no"]["decided_by"]["train-ai"] == {
        "where": "robots.txt",
        "line": 4,
        "text": "Content-Usage: /usage-no train-ai=n, search=y",
    }
    items = by_path(ledger, "items", web)
    assert {path: (line["kept"], line["dropped"]) for path, line in items.items()} == {
        path: (0, 1) if path in REFUSED["train-ai"] else (1, 0) for path in fetched
    }
    assert "noai" in items["/noai"]["why"]
    assert items["/plain"]["why"] is None
    rows = re.findall(
        "^``(\\w+)`` ", page("usage").partition("\nThe ledger\n")[2], re.MULTILINE
    )
    assert list(dict.fromkeys((*fetched["/plain"], *items["/plain"]))) == rows
    assert {name for line in lines(ledger) for name in line} == {*rows}
    count = len(lines(ledger))
    assert (
        result.stats["mandelbot/ledger/lines"]
        == count
        == 2 * len(PAGES) - len(REFUSED_BEFORE)
    )
    reported = json.loads(report.read_text())["ledger"]
    assert reported == {"path": str(ledger), "lines": count, "missing": 0}
    assert result.logged(
        f"The ledger {ledger} has {count} lines of this run; 0 are missing"
    )


@ensureDeferred
async def test_only_what_a_server_answered_is_fetched(webs, tmp_path):
    """Not what is said for a site that is given up, or by a component in place of a
    site.
    """
    web = site(webs)
    web.pages.update({f"/full{n}": Answer(status=503) for n in range(6)})
    web.pages["/robots.txt"] = Answer(b"")
    ledger = tmp_path / "ledger.jsonl"

    class Answers:
        def process_request(self, request, spider=None):
            if request.url.endswith("/made-up"):
                return TextResponse(request.url, body=b"x")
            return None

    class Spider(EveryPage):
        custom_settings = {"DOWNLOADER_MIDDLEWARES": {Answers: 500}}

        async def parse(self, response):
            for n in range(6):
                url = f"{web.url}/full{n}"
                request = scrapy.Request(
                    url, callback=NO_CALLBACK, meta={"dont_retry": True}
                )
                await self.crawler.engine.download_async(request)

    settings = {"MANDELBOT_PAUSE_OPTIONS": {"wait": 0}, "MANDELBOT_LEDGER": str(ledger)}
    urls = [f"{web.url}/{name}" for name in ("plain", "made-up")]
    await crawl(Spider, AGENT | settings, start_urls=urls)
    fetched = [line["url"].removeprefix(web.url) for line in lines(ledger, "fetched")]
    sent = [hit.path for hit in web.hits if hit.path != "/robots.txt"]
    assert sorted(fetched) == sorted(sent)
    assert "/plain" in fetched


@ensureDeferred
async def test_a_page_of_the_http_cache_was_fetched_before(webs, tmp_path):
    """Its line says so, and what stands now decides."""
    web, ledger = site(webs), tmp_path / "ledger.jsonl"
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        await crawled(web, MANDELBOT_LEDGER=str(ledger), **settings)
    cached = [line["is_cached"] for line in lines(ledger, "fetched")]
    assert cached == [False] * len(PAGES) + [True] * len(PAGES)


@ensureDeferred
async def test_a_robots_txt_that_is_not_obeyed_is_in_the_line(webs, tmp_path):
    """With what its rule says all the same."""
    web, ledger = site(webs), tmp_path / "ledger.jsonl"
    web.pages["/never"] = Answer(b"")
    settings = {"MANDELBOT_LEDGER": str(ledger), "ROBOTSTXT_OBEY": False}
    await crawl(EveryPage, AGENT | settings, start_urls=[f"{web.url}/never"])
    (line,) = lines(ledger, "fetched")
    robots = line["robots"]
    assert (robots["is_obeyed"], robots["allowed"]) == (False, False)
    assert (robots["line"], robots["rule"]) == (3, "Disallow: /never")


@ensureDeferred
async def test_a_ledger_needs_no_purpose(webs, tmp_path):
    """It has what is said of all uses; nothing is dropped, and no tdmrep.json is asked
    for.
    """
    web = site(webs)
    ledger = tmp_path / "ledger.jsonl"
    result = await crawled(web, MANDELBOT_LEDGER=str(ledger))
    assert paths(result, web) == PAGES.keys()
    assert len(lines(ledger, "fetched")) == len(PAGES)
    assert not web.asked("/.well-known/tdmrep.json")
    assert all(item["answers"] is None for item in result.items)
    assert not [stat for stat in result.stats if stat.startswith("mandelbot/usage")]


@ensureDeferred
async def test_a_second_run_appends_and_changes_no_line(webs, tmp_path):
    """A robots.txt that changed is in its lines alone: the copy of the first is still
    there.
    """
    web = site(webs)
    ledger = tmp_path / "ledger.jsonl"
    settings = {"MANDELBOT_LEDGER": str(ledger), "MANDELBOT_PURPOSE": "train-ai"}
    settings["MANDELBOT_USAGE"] = "annotate"
    await crawled(web, **settings)
    first = ledger.read_bytes()
    changed = b"User-agent: *\nContent-Usage: train-ai=y\n"
    web.pages["/robots.txt"] = Answer(changed)
    await crawled(web, **settings)
    assert ledger.read_bytes().startswith(first)
    answers = {
        copy_path(ledger, line["robots"]["sha256"]).read_bytes(): line["answers"][
            "train-ai"
        ]
        for line in lines(ledger, "fetched")
        if line["url"].endswith("/usage-no")
    }
    assert answers == {ROBOTS: "disallowed", changed: "allowed"}


@ensureDeferred
async def test_a_line_is_bounded_whatever_a_site_sends(webs, tmp_path):
    """Texts are cut, and only the statements that decide are in it."""
    web, ledger = webs(), tmp_path / "ledger.jsonl"
    path = "/" + "a" * 9_000
    head = '<meta name="robots" content="noai">' * 2_000
    link = f'<link rel=license href="/{"b" * 9_000}">' * 20
    web.pages = {
        "/robots.txt": Answer(b"User-agent: *\nAllow: /" + b"a" * 5_000 + b"*\n"),
        path: Answer(
            f"<head>{link}{head}".encode(), headers={"Content-Type": "text/html"}
        ),
    }
    settings = {"MANDELBOT_LEDGER": str(ledger), "URLLENGTH_LIMIT": 0}
    await crawl(EveryPage, AGENT | settings, start_urls=[web.url + path])
    line = lines(ledger, "fetched")[0]
    assert len(line["url"]) == TEXT_LIMIT
    assert len(line["robots"]["rule"]) < TEXT_LIMIT
    assert 0 < len(line["terms"]) <= MOST_TERMS
    assert {len(one["url"]) for one in line["terms"]} == {TEXT_LIMIT}
    assert line["decided_by"].keys() == {"train-ai"}
    assert len(ledger.read_bytes()) < 65_536


# What the disk does not take.


def test_a_ledger_that_cannot_be_written_is_an_error_at_start(tmp_path):
    """That names the setting, as every wrong value does."""
    (tmp_path / "file").write_text("")
    ledger = str(tmp_path / "file" / "ledger.jsonl")
    with pytest.raises(
        SettingsError, match=r"MANDELBOT_LEDGER = .*that can be written"
    ):
        UsageMiddleware.from_crawler(
            get_crawler(settings_dict={"MANDELBOT_LEDGER": ledger})
        )


def no_space(*_):
    raise OSError("no space left")


@ensureDeferred
async def test_a_full_disk_costs_the_line_and_no_page(webs, tmp_path, monkeypatch):
    """It is logged once, and counted."""
    web = site(webs)
    monkeypatch.setattr(LedgerFile, "append", no_space)
    result = await crawled(web, MANDELBOT_LEDGER=str(tmp_path / "ledger.jsonl"))
    assert paths(result, web) == PAGES.keys()
    assert result.stats["mandelbot/ledger/failed"] == 2 * len(PAGES)
    assert len(result.logged("The ledger lacks a line: no space left")) == 1
    (reported,) = result.logged("The ledger ")[-1:]
    assert reported.endswith(f"; {2 * len(PAGES)} are missing")


@ensureDeferred
async def test_a_copy_that_cannot_be_stored_costs_its_lines(
    webs, tmp_path, monkeypatch
):
    """A line names no copy that is not there."""
    web, ledger = site(webs), tmp_path / "ledger.jsonl"
    monkeypatch.setattr(LedgerFile, "store_copy", no_space)
    result = await crawled(web, MANDELBOT_LEDGER=str(ledger))
    assert {line["event"] for line in lines(ledger)} == {"items"}
    assert result.stats["mandelbot/ledger/failed"] == len(PAGES)


@ensureDeferred
async def test_a_ledger_may_be_a_condition(webs, tmp_path, monkeypatch):
    """The spider is closed where a line cannot be written."""
    web = site(webs)
    monkeypatch.setattr(LedgerFile, "append", no_space)
    ledger = str(tmp_path / "ledger.jsonl")
    result = await crawled(web, MANDELBOT_LEDGER=ledger, MANDELBOT_LEDGER_REQUIRED=True)
    assert result.stats["finish_reason"] == "ledger_not_saved"


# On disk.


@pytest.mark.parametrize(
    "before",
    [b"", b'{"a":1}\n', b'{"a":1}\n{"url":"https://exa', b'{"url":"https://exa', b"x"],
)
def test_a_line_is_never_appended_to_one_that_was_cut_off(tmp_path, before):
    """It stays as it is, and the next line is a line of its own."""
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(before)
    for _ in range(2):
        ledger = LedgerFile(path)
        ledger.append('{"b":2}')
        ledger.close()
    assert path.read_bytes().splitlines() == [*before.splitlines(), *[b'{"b":2}'] * 2]


@pytest.mark.parametrize("taken", [0, 1, 9])
def test_half_a_line_is_none(tmp_path, taken):
    """Where the disk takes a part only, the line is missing, and the next is a line of
    its own.
    """
    resource = pytest.importorskip("resource")
    path = tmp_path / "ledger.jsonl"
    ledger = LedgerFile(path)
    ledger.append('{"a":1}')
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + taken, before[1]))
    try:
        with pytest.raises(OSError, match=r"No space|too large"):
            ledger.append('{"b":2,"c":3}')
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    ledger.append('{"d":4}')
    ledger.close()
    cut = [b'{"b":2,"c":3}'[:taken]] * (taken > 0)
    assert path.read_bytes().splitlines() == [b'{"a":1}', *cut, b'{"d":4}']


def test_two_may_write_one_ledger(tmp_path):
    """Each appends whole lines."""
    path = tmp_path / "ledger.jsonl"
    one, other = LedgerFile(path), LedgerFile(path)
    for number, ledger in enumerate((one, other, other, one, other)):
        ledger.append(f'{{"n":{number}}}')
    one.close()
    other.close()
    assert [line["n"] for line in lines(path)] == [*range(5)]


def test_a_copy_is_stored_once_and_whole(tmp_path):
    """By its hash."""
    path = tmp_path / "new" / "ledger.jsonl"
    ledger = LedgerFile(path)
    digest = ledger.store_copy(b"User-agent: *\n")
    place = copy_path(path, digest)
    written = place.stat().st_mtime_ns
    assert (
        ledger.store_copy(b"User-agent: *\n")
        == digest
        == sha256(b"User-agent: *\n").hexdigest()
    )
    assert place.stat().st_mtime_ns == written
    assert [file.name for file in place.parent.iterdir()] == [digest]
    assert RobotsTxt.parse(place.read_bytes()).allowed("/", "a")
    ledger.close()


WRITER = """
import json, sys
from itertools import count
from scrapy_mandelbot.spidermiddlewares.ledger import LedgerFile
ledger = LedgerFile(sys.argv[1])
for number in count():
    digest = ledger.store_copy(b"Disallow: /%d" % (number // 50))
    ledger.append(json.dumps({"n": number, "robots": digest, "x": "x" * 5_000}))
    if number % 100 == 0:
        print(number, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_process_that_is_killed_loses_one_line_at_most(tmp_path):
    """SIGKILL in the middle, three times: no line is glued to another, each copy is
    whole.
    """
    path = tmp_path / "ledger.jsonl"
    for run in range(1, 4):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE
        ) as process:
            for _ in range(5):
                reported = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
        found = path.read_bytes().splitlines()
        assert not [line for line in found if b"{" in line[1:]], "two are glued"
        whole = [json.loads(line) for line in found if line.endswith(b"}")]
        numbers = [line["n"] for line in whole]
        starts = [place for place, number in enumerate(numbers) if number == 0]
        assert len(starts) == run
        assert numbers[starts[-1] :] == list(range(len(numbers) - starts[-1]))
        assert numbers[-1] >= reported
        for digest in {line["robots"] for line in whole}:
            assert sha256(copy_path(path, digest).read_bytes()).hexdigest() == digest
