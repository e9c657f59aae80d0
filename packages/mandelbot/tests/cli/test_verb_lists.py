"""``scrapy robots explain`` and ``compare`` of many URLs and of many robots: one line
each.
"""

from __future__ import annotations

import json

import pytest

from mandelbot import DIALECTS, RobotsTxt
from mandelbot.robotstxt.known_robots import IGNORE_STAR, KNOWN_ROBOTS, TOKENS

BODY = b"""\
User-agent: *
Disallow: /private
Allow: /private/press

User-agent: GPTBot
User-agent: Ownbot
Disallow: /
"""
URLS = ("/a", "/private/x", "/private/press/1")


@pytest.fixture
def file(tmp_path):
    (tmp_path / "robots.txt").write_bytes(BODY)
    (tmp_path / "urls.txt").write_text("\n".join(URLS))


def listed(run):
    """Return the objects of a report, one for each URL and robot."""
    return json.loads(run.stdout)["urls"]


@pytest.mark.parametrize("verb", ["explain", "compare"])
@pytest.mark.parametrize("form", [[], ["--format", "table"]], ids=["default", "table"])
def test_of_several_urls_each_has_a_line(robots, file, verb, form):
    """A head, the verdicts with the deciding lines, and how many there are of each."""
    run = robots(verb, "--urls", "urls.txt", "--file", "robots.txt", *form)
    assert run.returncode == 1
    expected = {
        "explain": (
            "verdict    line  by                     URL\n"
            "allowed          no rule matches        /a\n"
            "forbidden     2  Disallow: /private     /private/x\n"
            "allowed       3  Allow: /private/press  /private/press/1\n"
            "\n"
            "3 verdicts: 2 allowed, 1 forbidden\n"
        ),
        "compare": (
            "verdict    line  otherwise          URL\n"
            "allowed                             /a\n"
            "forbidden     2                     /private/x\n"
            "allowed       3  rep1994 extended2  /private/press/1\n"
            "\n"
            "3 lines: dialects differ in 1\n"
        ),
    }
    assert run.stdout.decode() == expected[verb]


def test_json_has_the_verdicts_of_each_url(robots, file):
    """Of a comparison those of each dialect, as the parser decides."""
    asked = [
        "--urls",
        "urls.txt",
        "--file",
        "robots.txt",
        "--agent",
        "Bot",
        "--format",
        "json",
    ]
    rows = listed(robots("explain", *asked))
    assert [
        (row["url"], row["allowed"], (row["rule"] or {}).get("line")) for row in rows
    ] == [
        ("/a", True, None),
        ("/private/x", False, 2),
        ("/private/press/1", True, 3),
    ]
    rows = listed(robots("compare", *asked))
    assert [row["agree"] for row in rows] == [True, True, False]
    found = {
        one["dialect"]: (one["allowed"], one["rule"]["line"])
        for one in rows[2]["verdicts"]
    }
    decided = {
        name: RobotsTxt.parse(BODY, dialect=name).verdict(URLS[2], "Bot")
        for name in DIALECTS
    }
    assert found == {
        name: (one.allowed, one.rule.line) for name, one in decided.items()
    }


def test_a_rule_beyond_the_size_limit_is_reported(robots, tmp_path):
    """500 KiB are read: what the rest would say is no verdict, and no secret."""
    filling = b"# filling the file up to what is read\n" * 14_000
    body = b"User-agent: *\nDisallow: /a\n" + filling + b"Disallow: /b\nAllow: /a/b\n"
    (tmp_path / "robots.txt").write_bytes(body)
    asked = ["/a/b", "/b", "/c", "--file", "robots.txt"]
    told = json.loads(robots("explain", *asked, "--format", "json").stdout)["urls"]
    beyond = [one["beyond"] for one in told]
    assert [one["allowed"] for one in told] == [False, True, True]
    assert [one and (one["allowed"], one["rule"]["line"]) for one in beyond] == [
        (True, 14_004),
        (False, 14_003),
        None,
    ]
    text = robots("explain", "/b", "--file", "robots.txt").stdout.decode()
    assert "It would be forbidden by line 14003, Disallow: /b (the group for *)" in text
    assert "past the part of the file that robots read" in " ".join(text.split())
    assert (
        "2 would be otherwise by lines past"
        in robots("explain", *asked).stdout.decode()
    )
    assert (
        "past the part of the"
        in robots("compare", "/b", "--file", "robots.txt").stdout.decode()
    )


def test_robots_lists_a_verdict_for_each_robot(robots, file):
    """A row for each known robot, others that the file names, and who stands for all
    others.
    """
    run = robots("explain", "--robots", "--file", "robots.txt", "--format", "json")
    told = json.loads(run.stdout)["urls"]
    assert {one["url"] for one in told} == {"/"}
    names = [one["agent"] for one in told]
    assert names == [*(robot.name for robot in KNOWN_ROBOTS), "Ownbot", "*"]
    allowed = {one["agent"]: one["allowed"] for one in told}
    assert [name for name in names if not allowed[name]] == ["GPTBot", "Ownbot"]
    by_name = {one["agent"]: one["robot"] for one in told}
    [known] = [robot for robot in KNOWN_ROBOTS if robot.name == "GPTBot"]
    assert by_name["GPTBot"] == {
        "kind": "ai",
        "operator": "OpenAI",
        "source": known.source,
        "dated": known.dated,
        "is_token": False,
    }
    assert set(by_name["Ownbot"].values()) == {None}
    text = robots(
        "explain", "/private/x", "--robots", "--file", "robots.txt"
    ).stdout.decode()
    tokens = len(TOKENS)  # names that fetch nothing: their use is refused
    ignoring = len({one.name for one in IGNORE_STAR} & set(names))
    forbidden = f"{len(names) - tokens - ignoring} forbidden, {tokens} disallowed"
    assert f"\n{len(names)} verdicts: {ignoring} allowed, {forbidden}\n" in text
    assert "any other" in text
    assert "GPTBot" in text


def test_a_list_without_urls_is_a_list(robots, file):
    """Nothing is asked, and nothing fails."""
    for verb in ("explain", "compare"):
        run = robots(verb, "-", "--file", "robots.txt", stdin=b"\n")
        assert (run.returncode, run.stdout) == (0, b"There are no URLs.\n")
