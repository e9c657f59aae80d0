"""``explain --purpose`` and the row of ``compare``: the use of pages."""

from __future__ import annotations

import json

import pytest

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
def test_explain_reports_a_purpose(robots, tmp_path, purposes, code, shown):
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
    row = (
        b"of use: search allowed, ai-input unknown, train-ai disallowed, tdm unknown\n"
    )
    assert row in robots("compare", "/a", "--file", "robots.txt").stdout
    assert b"of use" not in robots("compare", "/a", "--file", "silent.txt").stdout


# Lists.


def test_a_list_has_a_column_for_each_use_asked_about(robots, tmp_path):
    """And counts the answers; nothing of uses where none is asked about."""
    (tmp_path / "robots.txt").write_text(SIGNALS)
    asked = ("explain", "/a", "/private/b", "--file", "robots.txt", "--agent", "Bot")
    run = robots(*asked, "--purpose", "train-ai", "--purpose", "search")
    assert run.returncode == 1
    assert (
        run.stdout.decode()
        == "verdict    line  by                  train-ai    search   URL\n"
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
def test_json_rows_have_all_uses(robots, tmp_path, verb):
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
        "User-agent: Bingbot\nContent-Signal: search=no\nAllow: /\n\nUser-agent:"
        " *\nAllow: /\n"
    )
    asked = (
        "--file",
        "robots.txt",
        "--robots",
        "--purpose",
        "search",
        "--format",
        "json",
    )
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
    (tmp_path / "robots.txt").write_text(
        "User-agent: *\nContent-Usage: train-ai=maybe\nAllow: /\n"
    )
    wanted = ("--select", "bad-content-usage", "--select", "unknown-usage")
    told = robots(
        "check", "robots.txt", "--format", form, *(() if form == "html" else wanted)
    )
    assert b"bad-content-usage" in told.stdout
    ignored = robots(
        "check", "robots.txt", "--ignore", "unknown-usage", "--format", "json"
    )
    assert b"unknown-usage" not in ignored.stdout
