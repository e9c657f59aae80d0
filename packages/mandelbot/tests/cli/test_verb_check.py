"""``scrapy robots check``: faults of a file and of how a site delivers it."""

from __future__ import annotations

import json

import pytest

RULES = b"User-agent: *\nDisallow: /private/\n"

SEVERITIES = [
    (0, RULES, "nothing is wrong"),
    (0, b"User-agent: *\nAllow: /a\n", "1 note"),
    (1, b"User-agent: *\nUser-agent: a\nDisallow: /a$b\nNoindex: /\n", "2 warnings"),
    (3, b"User-agent: *\nDisallow /\n", "1 error"),
]


def codes(run) -> list[str]:
    return [one["code"] for one in json.loads(run.stdout)["findings"]]


@pytest.mark.parametrize(("code", "body", "says"), SEVERITIES)
def test_the_exit_code_is_of_the_worst_finding(robots, code, body, says):
    """0: nothing but notes; 1: warnings; 3: errors."""
    run = robots("check", "-", stdin=body)
    assert run.returncode == code
    assert says in run.stdout.decode()
    assert run.stderr == b""


def test_each_finding_has_its_line(robots, tmp_path):
    """Line, severity, what is wrong; of errors the line's text, and why it matters to
    whom.
    """
    (tmp_path / "robots.txt").write_bytes(b"User-agent: googlebot\nDisallow /\n")
    run = robots("check", "robots.txt")
    assert (
        run.stdout.decode()
        == '    1  warning   The group for "googlebot" has no rules.'
        " [group-without-rules]\n    2  error     There is no colon after Disallow."
        " [missing-colon]\n                 Disallow /\n                 Google's"
        " robots and Protego, Scrapy's parser, read such a line;\n                "
        " most others ignore it.\n\nrobots.txt: 1 error, 1 warning\n"
    )


@pytest.mark.parametrize(
    ("name", "code"),
    [("robots.txt", []), ("ROBOTS.TXT", ["name-in-capitals"]), ("draft.txt", [])],
)
def test_moderatobot_file_name(robots, tmp_path, name, code):
    """But that of a draft says nothing of where it will be. (File name and location)"""
    (tmp_path / name).write_bytes(RULES)
    assert codes(robots("check", name, "--format", "json")) == code
