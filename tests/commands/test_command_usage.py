"""``scrapy robots ledger``, ``explain --purpose``, and the row of ``compare``: the use of pages."""

from __future__ import annotations

import json

import pytest

from scrapy_mandelbot import RobotsTxt
from scrapy_mandelbot.purposes.ledger_file import LedgerFile, copy_path
from scrapy_mandelbot.robots.preferences import usage_in, words_of
from scrapy_mandelbot.robots.preferences.ledger import (
    NO_LINE,
    FetchRecord,
    RulesInForce,
    entry_of,
    line_of,
)

ROBOTS = b"User-agent: *\nAllow: /a\nDisallow: /\nContent-Usage: train-ai=n\n"
AGENT = "Examplebot/1.0 (+https://example.com/bot)"


@pytest.fixture
def ledger(tmp_path):
    """Two pages, as a crawl notes them."""
    path = tmp_path / "ledger.jsonl"
    file = LedgerFile(path)
    robots = RobotsTxt.parse(ROBOTS)
    rules = RulesInForce(robots, file.keep(ROBOTS), 512_000, "rules")
    for page, headers in (("/a", []), ("/a/b", [("Content-Signal", "search=yes")])):
        url = f"https://example.com{page}"
        words = words_of(headers, b"", AGENT)
        usage = robots.usage(url, AGENT).and_also(usage_in(words, AGENT))
        time = "2026-11-22T06:00:00.000+00:00"
        file.write(
            entry_of(FetchRecord(url, time, 200, AGENT, words, usage, rules, None, ("search",)))
        )
    file.close()
    return path


def test_why_shows_the_line_that_let_it_be_fetched_and_every_statement(robots, ledger):
    """For a terminal, and for programs."""
    run = robots("ledger", "why", "https://example.com/a/b", "--file", str(ledger))
    assert run.returncode == 0
    text = run.stdout.decode()
    assert "robots.txt: allowed by line 2, Allow: /a" in text
    assert "train-ai  disallowed" in text
    assert "train-ai disallowed by Content-Usage: train-ai=n (robots.txt line 4)" in text
    assert "search allowed by Content-Signal: search=yes (header)" in text
    as_json = ("--file", str(ledger), "--format", "json")
    report = json.loads(robots("ledger", "why", "https://example.com/a", *as_json).stdout)
    (page,) = report["pages"]
    assert page["answers"]["train-ai"] == "disallowed"


def test_a_page_without_a_line(robots, ledger):
    """Is told, with exit code 1."""
    run = robots("ledger", "why", "https://example.com/c", "--file", str(ledger))
    assert run.returncode == 1
    assert b"has no line of https://example.com/c" in run.stderr


def test_why_tells_images_from_pages_and_where_terms_stood(robots, tmp_path):
    """What is said of images answers nothing for the page; each has its line."""
    headers, page = [("X-Robots-Tag", "noimageai")], b"<head>\n<link rel=license href=/l>"
    words = words_of(headers, page, AGENT)
    line = FetchRecord("https://e.example/", "", 200, AGENT, words, usage_in(words, AGENT), None)
    (tmp_path / "ledger.jsonl").write_bytes(line_of(entry_of(line), 1, NO_LINE))
    text = robots("ledger", "why", "https://e.example/", "--file", "ledger.jsonl").stdout.decode()
    assert "  train-ai  unknown" in text
    assert "train-ai of images disallowed by X-Robots-Tag: noimageai (header)" in text
    assert "license /l (link line 2)" in text


@pytest.mark.parametrize(
    "change", [{"agent": None}, {"statements": [{"category": "tdm"}]}, {"answers": 7}]
)
def test_why_shows_what_can_be_read(robots, ledger, change):
    """A line that was changed is told, and the others of the page are shown."""
    lines = ledger.read_bytes().splitlines(keepends=True)
    entry = json.loads(lines[0]) | change
    ledger.write_bytes(json.dumps(entry).encode() + b"\n" + lines[0])
    run = robots("ledger", "why", "https://example.com/a", "--file", str(ledger))
    assert run.returncode == 0
    text = run.stdout.decode()
    assert "the line cannot be read: " in text
    assert "train-ai disallowed by Content-Usage: train-ai=n (robots.txt line 4)" in text


def test_verify_decides_all_again(robots, ledger, project):
    """By the project's setting, too."""
    run = robots("ledger", "verify", "--file", str(ledger))
    told, head, _ = run.stdout.decode().splitlines()
    assert (run.returncode, told) == (0, f"{ledger}: 2 lines, 2 verified, 0 not")
    known = head.removeprefix("hash of the last line: ")
    run = robots("ledger", "verify", known, "--file", str(ledger))
    assert (run.returncode, run.stdout.decode().splitlines()[-1]) == (
        *(0, "0 lines written after the known one"),
    )
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(lines[0])
    run = robots("ledger", "verify", known, "--file", str(ledger))
    assert run.returncode == 3
    assert b"no line has the known hash: the last lines are missing or changed" in run.stdout
    ledger.write_bytes(b"".join(lines))
    assert robots("ledger", "verify", "-s", f"MANDELBOT_LEDGER={ledger}").returncode == 0


def test_verify_tells_what_does_not_agree(robots, ledger):
    """A line that was changed, one that is none, a copy that was changed: exit code 3."""
    lines = ledger.read_bytes().splitlines(keepends=True)
    entry = json.loads(lines[0])
    entry["answers"]["train-ai"] = "allowed"
    ledger.write_bytes(json.dumps(entry).encode() + b"\n" + lines[1] + b"what?\n")
    run = robots("ledger", "verify", "--file", str(ledger))
    assert run.returncode == 3
    text = run.stdout.decode()
    assert "line 1: https://example.com/a" in text
    assert "line 3" in text
    assert "3 lines, 0 verified, 3 not" in text
    place = copy_path(ledger, entry["robots"]["sha256"])
    place.write_bytes(ROBOTS + b"#")
    report = json.loads(
        robots("ledger", "verify", "--file", str(ledger), "--format", "json").stdout
    )
    assert report["disagree"] == 3
    assert "has been changed" in report["disagreements"][1]["problems"][1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["ledger", "verify"], "there is no ledger here: say MANDELBOT_LEDGER, or --file"),
        (["ledger", "verify", "--file", "none.jsonl"], "none.jsonl: no such file"),
        (["ledger", "why"], "the following arguments are required: URL"),
        (["ledger", "verify", "x", "y"], "unrecognized arguments: y"),
        (["ledger", "show"], "invalid choice: 'show'"),
    ],
)
def test_wrong_use_is_told(robots, arguments, told):
    """In a line, with exit code 2."""
    run = robots(*arguments)
    assert run.returncode == 2
    assert told in (run.stdout + run.stderr).decode()


# explain --purpose.


SIGNALS = "User-agent: *\nContent-Signal: search=yes, ai-train=no\nDisallow: /private\n"


@pytest.mark.parametrize(
    ("purposes", "code", "shown"),
    [
        ((), 0, ()),
        (("search",), 0, ("search: allowed",)),
        (("train-ai",), 1, ("train-ai: disallowed", "(robots.txt", "line 2)")),
        (("search", "tdm"), 0, ("search: allowed", "tdm: unknown")),
        (("search", "train-ai"), 1, ("search: allowed", "train-ai: disallowed")),
    ],
)
def test_explain_tells_of_a_purpose(robots, tmp_path, purposes, code, shown):
    """The answer with every statement; a use that is refused makes the exit code 1."""
    (tmp_path / "robots.txt").write_text(SIGNALS)
    asked = [part for purpose in purposes for part in ("--purpose", purpose)]
    run = robots("explain", "https://example.com/a", "--file", "robots.txt", *asked)
    assert run.returncode == code
    text = run.stdout.decode()
    assert all(part in text for part in shown)
    assert ("may say more" in text) == bool(purposes)


def test_compare_has_a_row_of_uses(robots, tmp_path):
    """Where the file says something of one."""
    (tmp_path / "robots.txt").write_text(SIGNALS)
    (tmp_path / "silent.txt").write_text("User-agent: *\nDisallow: /private\n")
    row = b"of use: search allowed, ai-input unknown, train-ai disallowed, tdm unknown\n"
    assert row in robots("compare", "/a", "--file", "robots.txt").stdout
    assert b"of use" not in robots("compare", "/a", "--file", "silent.txt").stdout


# Lists.


def test_a_list_has_a_column_for_each_use_asked_about(robots, tmp_path):
    """And counts the answers; nothing of uses where none is asked about."""
    (tmp_path / "robots.txt").write_text(SIGNALS)
    asked = ("explain", "/a", "/private/b", "--file", "robots.txt", "--agent", "Bot")
    run = robots(*asked, "--purpose", "train-ai", "--purpose", "search")
    assert run.returncode == 1
    assert run.stdout.decode() == (
        "verdict    line  by                  train-ai    search   URL\n"
        "allowed          no rule matches     disallowed  allowed  /a\n"
        "forbidden     3  Disallow: /private  unknown     unknown  /private/b\n"
        "\n"
        "2 verdicts: 1 allowed, 1 forbidden\n"
        "train-ai: 1 disallowed, 1 unknown\n"
        "search: 1 allowed, 1 unknown\n"
    )
    assert b"train-ai" not in robots(*asked).stdout


def test_a_list_is_refused_where_the_use_of_one_page_is(robots, tmp_path):
    """All may be crawled, but not for training: exit code 1, and 0 for search."""
    (tmp_path / "robots.txt").write_text(
        "User-agent: *\nContent-Usage: /art train-ai=n\nAllow: /\n"
    )
    asked = ("explain", "/a", "/art/1", "--file", "robots.txt", "--purpose")
    assert robots(*asked, "train-ai").returncode == 1
    assert robots(*asked, "search").returncode == 0


@pytest.mark.parametrize("verb", ["explain", "compare"])
def test_rows_for_programs_tell_all_uses(robots, tmp_path, verb):
    """JSON has the statements about each use, whatever is asked about."""
    (tmp_path / "robots.txt").write_text(SIGNALS)
    asked = (verb, "/a", "/private/b", "--file", "robots.txt", "--format")
    rows = json.loads(robots(*asked, "json").stdout)["urls"]
    answers = [{one["category"]: one["answer"] for one in row["usage"]} for row in rows]
    assert [one["train-ai"] for one in answers] == ["disallowed", "unknown"]
    assert [one["search"] for one in answers] == ["allowed", "unknown"]
    said = {one["category"]: one["statements"] for one in rows[0]["usage"]}
    assert len(said["train-ai"]) == 1
    assert "line 2" in said["train-ai"][0]
    assert said["tdm"] == []


def test_each_robot_is_asked_about_a_use(robots, tmp_path):
    """With --robots: what a group says of uses, it says to its robot alone."""
    (tmp_path / "robots.txt").write_text(
        "User-agent: Bingbot\nContent-Signal: search=no\nAllow: /\n\nUser-agent: *\nAllow: /\n"
    )
    asked = ("--file", "robots.txt", "--robots", "--purpose", "search", "--format", "json")
    rows = json.loads(robots("explain", *asked).stdout)["urls"]
    refused = {
        row["agent"]
        for row in rows
        for one in row["usage"]
        if (one["category"], one["answer"]) == ("search", "disallowed")
    }
    assert refused == {"Bingbot"}


@pytest.mark.parametrize("form", ["text", "sarif", "github", "json", "html"])
def test_each_format_of_check_has_the_findings_about_uses(robots, tmp_path, form):
    """As all others, and they can be chosen."""
    (tmp_path / "robots.txt").write_text("User-agent: *\nContent-Usage: train-ai=maybe\nAllow: /\n")
    wanted = ("--select", "bad-content-usage", "--select", "unknown-usage")
    told = robots("check", "robots.txt", "--format", form, *(() if form == "html" else wanted))
    assert b"bad-content-usage" in told.stdout
    ignored = robots("check", "robots.txt", "--ignore", "unknown-usage", "--format", "json")
    assert b"unknown-usage" not in ignored.stdout
