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
    NO_LINE,
    Chain,
    FetchRecord,
    RulesInForce,
    digest_of,
    disagreements,
    entry_of,
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


def first_line(page):
    return line_of(entry_of(page), 1, NO_LINE)


PARAMETERS = [pytest.param(case, id=f"{n}") for n, case in enumerate(CASES)]


@pytest.mark.parametrize("case", PARAMETERS)
def test_every_line_is_decided_alike_again(case):
    """From the line and the copies alone, and the answers are those of the case."""
    page, copies = fetched(case)
    line = first_line(page)
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
    line = first_line(page._replace(url=url, words=words, usage=usage_in(words, "Examplebot")))
    assert len(line) <= LINE_LIMIT
    entry = read_line(line)
    assert entry["is_cut"] is True
    assert entry["status"] == 200
    assert disagreements(entry, copies.get) == []


CASE = next(case for case in CASES if case.tdmrep is not None and case.page == "")
PAGE, COPIES = fetched(CASE)
ENTRY = read_line(first_line(PAGE))


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


# In a chain.


def chained(*entries):
    """Return lines, without their ends, as a ledger has them."""
    lines, previous = [], NO_LINE
    for number, entry in enumerate(entries, start=1):
        lines.append(line_of(entry, number, previous)[:-1])
        previous = digest_of(lines[-1])
    return lines


def told_of(lines, copies):
    """Return what `verify` says of each line that has problems, by its place from 1."""
    chain = Chain()
    found = {}
    for place, line in enumerate(lines, start=1):
        entry = read_line(line)
        wrong = chain.problems(line, entry)
        wrong += ["no line"] if entry is None else disagreements(entry, copies.get)
        if wrong:
            found[place] = "; ".join(wrong)
    return found, chain


RUN = {"event": "run", "run": "a", "time": "", "settings": {}}
PAGES = [{"run": "a", **entry_of(PAGE._replace(url=f"{PAGE.url}?{n}"))} for n in range(4)]
ITEMS = {"event": "items", "run": "a", "time": "", "url": PAGE.url, "kept": 1, "dropped": 0}
WHOLE = chained(RUN, *PAGES, ITEMS, {"event": "end", "run": "a", "time": "", "lines": 5})


def with_value(place, **values):
    """Return the lines with one of them rewritten."""
    entry = json.dumps(read_line(WHOLE[place - 1]) | values, separators=(",", ":"))
    return [*WHOLE[: place - 1], entry.encode(), *WHOLE[place:]]


ADDED = chained(RUN, *PAGES, ITEMS)[2]
TAMPERED = {
    "a line is taken out": ([*WHOLE[:2], *WHOLE[3:]], {4 - 1: "line 3 is missing"}),
    "several are": ([*WHOLE[:2], *WHOLE[5:]], {3: "lines 3 to 5 are missing"}),
    "the first is": (WHOLE[1:], {1: "line 1 is missing", 6: "its run wrote 5 lines"}),
    "a status is changed": (with_value(3, status=404), {4: "the line before it was changed"}),
    "a date is": (with_value(2, time="2020"), {3: "the line before it was changed"}),
    "an answer is": (with_value(4, answers={}), {4: "answers are {}", 5: "was changed"}),
    "a body is": (with_value(4, body="0" * 64), {5: "the line before it was changed"}),
    "items are": (with_value(6, kept=0), {7: "the line before it was changed"}),
    "settings are": (with_value(1, settings={"x": 1}), {2: "the line before it was changed"}),
    "a line is there twice": ([*WHOLE[:4], WHOLE[2], *WHOLE[4:]], {5: "added or moved"}),
    "two change places": (
        [*WHOLE[:2], WHOLE[3], WHOLE[2], *WHOLE[4:]],
        {3: "line 3 is missing", 4: "added or moved"},
    ),
    "one is made up, numbered anew": (
        [*WHOLE[:5], *[line_of(ITEMS, 6, "0" * 64)[:-1]], *WHOLE[5:]],
        {6: "the line before it was changed", 7: "added or moved"},
    ),
    "a line becomes none": ([*WHOLE[:2], b"what?", *WHOLE[3:]], {3: "no line", 4: "was changed"}),
    "one of the first version is put in": (
        [*WHOLE[:2], json.dumps({"version": 1, "url": "x"}).encode(), *WHOLE[2:]],
        {3: "added or moved"},
    ),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_what_was_done_to_a_ledger_is_told(how):
    """A line that is missing, changed, added: by its number, and the hash of the one before."""
    lines, told = TAMPERED[how]
    found, _ = told_of(lines, COPIES)
    for place, words in told.items():
        assert words in found.get(place, ""), found


def test_what_was_written_agrees():
    """Of a file that goes on after lines without hashes, too."""
    assert told_of(WHOLE, COPIES)[0] == {}
    old = json.dumps({**ENTRY, "version": 1, "event": None, "number": None}).encode()
    previous = digest_of(old)
    assert told_of([old, line_of(ITEMS, 2, previous)[:-1]], COPIES)[0] == {}


@pytest.mark.parametrize(
    "lines", [WHOLE[:-2], with_value(7, reason="x"), [*WHOLE[:-1], WHOLE[-1] + b" "]]
)
def test_the_end_is_known_by_its_hash_alone(lines):
    """Nothing in the file tells that its last lines are gone, or changed: its head does."""
    found, chain = told_of(lines, COPIES)
    assert found == {}
    assert chain.head != told_of(WHOLE, COPIES)[1].head
    assert chain.open_runs == (len(lines) != len(WHOLE))


# On disk.

LINE = {"event": "items", "url": "https://example.com/"}


@pytest.mark.parametrize(
    ("whole", "torn", "ended"),
    [
        (0, b"", 0),
        (1, b"", 0),
        (3, b'{"url":"https://exa', 0),
        (0, b'{"url":"https://exa', 0),
        (1, None, 1),  # only its end is missing
        (3_000, b"x" * 200_000, 0),
        (0, b"x" * 200_000, 0),
    ],
)
def test_a_torn_last_line_is_mended(tmp_path, whole, torn, ended):
    """And what is written next is a line of its own, that follows the last whole one."""
    path = tmp_path / "ledger.jsonl"
    lines = chained(*[LINE] * (whole + ended + 1))
    before = lines[:whole] if torn is not None else lines[: whole + 1]
    path.write_bytes(b"\n".join([*before, torn or b""]) if torn is not None else b"\n".join(before))
    ledger = LedgerFile(path)
    ledger.write(LINE)
    ledger.close()
    assert list(lines_of(path)) == lines


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
    assert list(lines_of(path)) == chained(LINE, LINE)


@pytest.mark.skipif(sys.platform == "win32", reason="files are not shared there")
def test_two_may_write_one_ledger(tmp_path):
    """Each line follows the one before it, whoever wrote that."""
    path = tmp_path / "ledger.jsonl"
    one, other = LedgerFile(path), LedgerFile(path)
    for ledger in (one, other, other, one, other):
        ledger.write(LINE)
    assert list(lines_of(path)) == chained(*[LINE] * 5)
    assert other.head == digest_of(chained(*[LINE] * 5)[-1])
    one.close()
    other.close()


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
    url = "https://example.com/%d" % number
    ledger.write({"event": "items", "url": url, "robots": digest, "x": "x" * 5_000})
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
        chain = Chain()
        assert not any(chain.problems(line, read_line(line)) for line in lines_of(path))
        numbers = [int(entry["url"].rpartition("/")[2]) for entry in entries]
        starts = [place for place, number in enumerate(numbers) if number == 0]
        assert len(starts) == run
        assert numbers[starts[-1] :] == list(range(len(numbers) - starts[-1]))
        assert numbers[-1] >= told
        assert all(kept_copy(path, entry["robots"]) is not None for entry in entries)
