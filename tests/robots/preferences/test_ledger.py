"""The ledger: lines that can be decided again, copies by hash, and what a crash leaves of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from cases.usage import CASES
from hypothesis import given
from hypothesis import strategies as st

from scrapy_mandelbot import RobotsTxt
from scrapy_mandelbot.purposes.ledger_file import LedgerFile, copy_path, kept_copy, lines_of
from scrapy_mandelbot.robots.preferences import TdmFile, usage_in, with_tdm_file, words_of
from scrapy_mandelbot.robots.preferences.in_pages import PageWords
from scrapy_mandelbot.robots.preferences.ledger import (
    LINE_LIMIT,
    FetchRecord,
    RulesInForce,
    digest_of,
    disagreements,
    line_of,
    read_line,
)


def fetched(case):
    """Return a case as a crawl would note it, and the copies."""
    robots = RobotsTxt.parse(case.file)
    words = words_of(case.headers, case.octets, case.agent)
    page = usage_in(words, case.agent)
    copies = {digest_of(case.file): case.file}
    tdm = None
    if case.tdmrep is not None:
        body = case.tdmrep.encode()
        tdm = digest_of(body)
        copies[tdm] = body
        page = with_tdm_file(page, TdmFile.parse(body).usage(case.url))
    usage = robots.usage(case.url, case.agent).and_also(page)
    rules = RulesInForce(robots, digest_of(case.file), 512_000, "rules")
    line = FetchRecord(
        *(case.url, "2026-11-22T06:00:00.000+00:00", 200, case.agent),
        *(words, usage, rules, tdm, ("train-ai",)),
    )
    return line, copies


PARAMETERS = [pytest.param(case, id=f"{n}") for n, case in enumerate(CASES)]


@pytest.mark.parametrize("case", PARAMETERS)
def test_every_line_is_decided_alike_again(case):
    """From the line and the copies alone, and the answers are those of the case."""
    page, copies = fetched(case)
    line = line_of(page)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    entry = read_line(line)
    assert disagreements(entry, copies.get) == []
    known = {key: value for key, value in entry["answers"].items() if value != "unknown"}
    assert known == case.means


@pytest.mark.parametrize(
    ("url", "times"),
    [("https://example.com/a", 50_000), ("https://example.com/" + "\x01" * 400_000, 1)],
)
def test_a_line_is_bounded_whatever_a_site_sends(url, times):
    """64 KiB at most: it is cut, says so, and what is left of it agrees."""
    page, copies = fetched(CASE)
    one = words_of((), b'<meta name="robots" content="noai">', "Examplebot")
    words = PageWords((), one.metas * times, ())
    line = line_of(page._replace(url=url, words=words, usage=usage_in(words, "Examplebot")))
    assert len(line) <= LINE_LIMIT
    entry = read_line(line)
    assert entry["is_cut"] is True
    assert entry["status"] == 200
    assert disagreements(entry, copies.get) == []


CASE = next(case for case in CASES if case.tdmrep is not None and case.page == "")
PAGE, COPIES = fetched(CASE)
ENTRY = read_line(line_of(PAGE))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"answers": {}}, "answers are {}"),
        ({"statements": []}, "statements are []"),
        ({"words": [[["tdm-reservation", "0"]], [], []]}, "answers are"),
        ({"url": "https://example.com/other?x"}, ""),
        ({"tdmrep": "0" * 64}, "the copy of its tdmrep.json is missing"),
        ({"robots": {**ENTRY["robots"], "sha256": "f" * 64}}, "copy of its robots.txt is missing"),
        ({"robots": {**ENTRY["robots"], "dialect": "mine"}}, "dialect 'mine' is not known here"),
        (
            {"robots": {**ENTRY["robots"], "verdict": {"allowed": False}}},
            "the robots.txt says now: allowed",
        ),
        ({"version": 99}, "of version 99"),
        ({"words": 7}, "the line cannot be read"),
        ({"agent": None}, "the line cannot be read"),
    ],
)
def test_what_was_changed_does_not_agree(change, told):
    """In a line: an answer, a statement, a word, a copy's name."""
    changed = {**ENTRY, **change}
    problems = disagreements(changed, COPIES.get)
    if told:
        assert any(told in problem for problem in problems)
    else:  # another page of which the same is said
        assert problems == []


def test_a_copy_that_was_changed_does_not_agree():
    """By its hash."""
    (problem,) = disagreements(ENTRY, lambda _: b"User-agent: *\nDisallow: /\n")[:1]
    assert "has been changed" in problem


@given(
    st.recursive(
        st.none() | st.integers() | st.text() | st.booleans(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(list(ENTRY)), inner, max_size=4)
        ),
    ),
    st.sampled_from(list(ENTRY)),
)
def test_no_line_raises(value, key):
    """Whatever became of it."""
    entry = read_line(json.dumps({**ENTRY, key: value}).encode())
    if entry is not None:
        assert isinstance(disagreements(entry, COPIES.get), list)


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"7", b'{"url": 7}', b"[" * 99_999, b"\xff"])
def test_what_is_no_line_is_none(line):
    """And raises nothing."""
    assert read_line(line) is None


# On disk.

LINE = b'{"url":"https://example.com/"}\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b""),
        (LINE, LINE),
        (LINE * 3 + LINE[:-5], LINE * 3),
        (LINE[:-5], b""),
        (LINE + LINE[:-1], LINE + LINE),  # only its end is missing
        (LINE * 3_000 + b"x" * 200_000, LINE * 3_000),
        (b"x" * 200_000, b""),
    ],
)
def test_a_torn_last_line_is_mended(tmp_path, before, after):
    """And what is written next is a line of its own."""
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(before)
    ledger = LedgerFile(path)
    assert path.read_bytes() == after
    ledger.write(LINE)
    ledger.close()
    assert path.read_bytes() == after + LINE


def test_half_a_line_is_none(tmp_path, monkeypatch):
    """Where the disk takes a part only, that part goes again."""
    path = tmp_path / "ledger.jsonl"
    ledger = LedgerFile(path)
    ledger.write(LINE)
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:9]))
    with pytest.raises(OSError, match="9 of"):
        ledger.write(LINE)
    monkeypatch.undo()
    ledger.write(LINE)
    ledger.close()
    assert list(lines_of(path)) == [LINE[:-1]] * 2


def test_a_copy_is_kept_once_and_whole(tmp_path):
    """By its hash; one that is not there, or whose name is no hash, is none."""
    path = tmp_path / "new" / "ledger.jsonl"
    ledger = LedgerFile(path)
    digest = ledger.keep(b"User-agent: *\n")
    place = copy_path(path, digest)
    written = place.stat().st_mtime_ns
    assert ledger.keep(b"User-agent: *\n") == digest
    assert place.stat().st_mtime_ns == written
    assert [file.name for file in place.parent.iterdir()] == [digest]
    assert kept_copy(path, digest) == b"User-agent: *\n"
    assert kept_copy(path, "0" * 64) is None
    assert kept_copy(path, "../../etc/passwd") is None
    ledger.close()


WRITER = """
import sys
from itertools import count
from scrapy_mandelbot.purposes.ledger_file import LedgerFile
ledger = LedgerFile(sys.argv[1])
for number in count():
    digest = ledger.keep(b"Disallow: /%d" % (number // 50))
    line = '{"url":"https://example.com/%d","robots":"%s","x":"%s"}\\n'
    ledger.write((line % (number, digest, "x" * 5_000)).encode())
    if number % 100 == 0:
        print(number, flush=True)
"""


def test_a_process_that_is_killed_loses_one_line_at_most(tmp_path):
    """SIGKILL in the middle, three times: every line is whole, none is there twice or missing."""
    path = tmp_path / "ledger.jsonl"
    for run in range(1, 4):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE
        ) as process:
            for _ in range(5):
                told = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
        LedgerFile(path).close()
        entries = [read_line(line) for line in lines_of(path)]
        assert None not in entries
        numbers = [int(entry["url"].rpartition("/")[2]) for entry in entries]
        starts = [place for place, number in enumerate(numbers) if number == 0]
        assert len(starts) == run
        assert numbers[starts[-1] :] == list(range(len(numbers) - starts[-1]))
        assert numbers[-1] >= told
        assert all(kept_copy(path, entry["robots"]) is not None for entry in entries)
