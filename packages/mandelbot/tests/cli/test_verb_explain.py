"""``scrapy robots explain`` and ``compare``: who may fetch what, and why."""

from __future__ import annotations

import json
import re

import pytest

from mandelbot.robotstxt.known_robots import FALLBACKS

BODY = b"""\
User-agent: Examplebot
Robot-version: 2.0
Comment: Please write to us first.
Allow: /shop/open
Disallow: /shop

User-agent: *
Disallow: /private
Allow: /private/press
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "robots.txt").write_bytes(BODY)


def explained(run):
    return json.loads(run.stdout)["urls"]


def test_a_verdict_is_told_with_its_line_and_what_would_change_it(robots, file):
    """Verdict, rule, the line among its neighbours, the owner's comments."""
    run = robots("explain", "/shop/x", "--file", "robots.txt", "--agent", "Examplebot")
    assert run.returncode == 1
    assert run.stdout.decode() == (
        "/shop/x\n"
        "  forbidden by line 5, Disallow: /shop (the group for Examplebot)\n"
        "  agent: Examplebot\n"
        "  robots.txt: robots.txt, read as mandelbot\n"
        "\n"
        "        3  Comment: Please write to us first.\n"
        "        4  Allow: /shop/open\n"
        "  >     5  Disallow: /shop\n"
        "        6\n"
        "        7  User-agent: *\n"
        "\n"
        "  The owner's comments for this robot:\n"
        "    Please write to us first.\n"
    )


def test_several_urls_from_standard_input(robots, file):
    """In their order, each answered; 0 only where all are allowed."""
    lines = (
        b"https://example.com/a\n\n/private/x\nhttps://example.com/private/press/\xff\n"
    )
    run = robots(
        "explain", "-", "--file", "robots.txt", "--format", "json", stdin=lines
    )
    assert [(one["url"], one["allowed"]) for one in explained(run)] == [
        ("https://example.com/a", True),
        ("/private/x", False),
        ("https://example.com/private/press/%FF", True),
    ]
    assert run.returncode == 1
    assert robots("explain", "/a", "/b", "--file", "robots.txt").returncode == 0


@pytest.mark.parametrize(
    ("agent", "dialect", "read_as"),
    [
        ("Googlebot-Image", [], "google, as this robot reads it"),
        ("Googlebot", ["--dialect", "rep1994"], "rep1994"),
        ("Examplebot", [], "mandelbot"),
    ],
)
def test_a_known_robot_reads_in_its_own_dialect(robots, file, agent, dialect, read_as):
    """Which is told; what was asked for counts more."""
    run = robots("explain", "/a", "--file", "robots.txt", "--agent", agent, *dialect)
    (line,) = [one for one in run.stdout.decode().splitlines() if "read as" in one]
    assert line.endswith(f"robots.txt, read as {read_as}")


def test_dialects_side_by_side(robots, file):
    """The rule that each uses; what differs from Mandelbot is marked, and makes exit
    code 1.
    """
    run = robots("compare", "/private/press", "--file", "robots.txt", "--agent", "zz")
    assert run.returncode == 1
    assert run.stdout.decode() == (
        "/private/press\n"
        "     dialect    verdict    line  by\n"
        "     mandelbot  allowed       9  Allow: /private/press (agent *)\n"
        "     rfc9309    allowed       9  Allow: /private/press (agent *)\n"
        "     google     allowed       9  Allow: /private/press (agent *)\n"
        "  *  rep1994    forbidden     8  Disallow: /private (agent *)\n"
        "     rep2008    allowed       9  Allow: /private/press (agent *)\n"
        "  *  extended2  forbidden     8  Disallow: /private (agent *)\n"
    )
    assert robots("compare", "/a", "--file", "robots.txt").returncode == 0


@pytest.mark.parametrize("url", ["/x/../no", "/./no", "//no", "/%2e/no", "/no"])
def test_other_spellings_of_a_forbidden_path_are_forbidden(robots, tmp_path, url):
    """As in a crawl: the URL and the path that servers resolve it to must both be
    allowed.
    """
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /no\nAllow: /x\n")
    url = f"https://h.example{url}"
    run = robots("explain", url, "--file", "robots.txt", "--format", "json")
    (report,) = explained(run)
    assert (report["allowed"], report["rule"]["line"], run.returncode) == (False, 2, 1)
    resolved = None if url == "https://h.example/no" else "https://h.example/no"
    assert report["resolved_url"] == resolved
    text = robots("explain", url, "--file", "robots.txt").stdout.decode()
    assert ("  servers resolve it to https://h.example/no\n" in text) == bool(resolved)


@pytest.mark.parametrize("url", ["/x/../yes", "/no?u=//x", "/.no"])
def test_other_spellings_of_an_allowed_path_are_allowed(robots, tmp_path, url):
    """Only dot segments and repeated slashes of the path are resolved."""
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /no$\n")
    run = robots(
        "explain", f"https://h.example{url}", "--file", "robots.txt", "--format", "json"
    )
    (report,) = explained(run)
    assert (report["allowed"], report["resolved_url"]) == (True, None)


@pytest.mark.parametrize(
    "robot",
    [
        pytest.param(
            robot, id=robot.name, marks=[pytest.mark.thorough] * (number % 4 > 0)
        )
        for number, robot in enumerate(FALLBACKS)
    ],
)
def test_a_robot_obeys_the_group_that_its_operator_documents(robots, robot):
    """Before that for all, and after its own."""
    everyone = "User-agent: *\nDisallow: /b\n\n"
    body = f"{everyone}User-agent: {robot.group}\nDisallow: /a\n"
    own = f"{body}\nUser-agent: {robot.name}\nDisallow: /c\n"
    for text, closed in ((everyone, "/b"), (body, "/a"), (own, "/c")):
        urls = [f"https://example.com{path}" for path in ("/a", "/b", "/c")]
        options = ("--agent", robot.name, "--format", "json", "--file", "-")
        run = robots("explain", *urls, *options, stdin=text.encode())
        found = json.loads(run.stdout)["urls"]
        assert [one["url"][-2:] for one in found if not one["allowed"]] == [closed]


def test_a_name_that_fetches_nothing_stands_for_a_use(robots):
    """It is refused, or nothing is said of it."""
    body = b"User-agent: Google-Extended\nDisallow: /\n"
    run = robots("explain", "/a", "--robots", "--file", "-", stdin=body)
    said = dict(
        re.findall(
            r"(?m)^(\S+-Extended) .*? (disallowed|unknown) ", run.stdout.decode()
        )
    )
    assert said["Google-Extended"] == "disallowed"
    assert said["Applebot-Extended"] == "unknown"
