"""``scrapy robots explain`` and ``compare``: who may fetch what, and why."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from crawling import ensureDeferred
from mandelbot.robotstxt.known_robots import FALLBACKS
from webs import Answer

DOCS = Path(__file__).parents[2] / "docs"

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
    """Verdict, rule, the line among its neighbours, proved changes, the owner's
    comments.
    """
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
        "  Without line 5 it is allowed.\n"
        "  It is allowed with this before line 5:\n"
        "    Allow: /shop/x\n"
        "\n"
        "  The owner's comments for this robot:\n"
        "    Please write to us first.\n"
    )


@pytest.mark.parametrize("verb", ["explain", "compare"])
def test_several_urls_from_a_file(robots, file, tmp_path, verb):
    """After those that are named, one a line; of a file that is not there one line
    tells.
    """
    (tmp_path / "urls.txt").write_bytes(b"/b\r\n\n  /private/x  \n/caf\xe9")
    options = ["--urls", "urls.txt", "--file", "robots.txt", "--format", "json"]
    for named in (["/a"], []):
        urls = [one["url"] for one in explained(robots(verb, *named, *options))]
        assert urls == [*named, "/b", "/private/x", "/caf%E9"]
    options[1] = "-"
    assert [one["url"] for one in explained(robots(verb, *options, stdin=b"/s"))] == [
        "/s"
    ]
    options[1] = "nowhere"
    run = robots(verb, *options)
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr.startswith(b"scrapy robots: nowhere: no such file or directory")


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


@ensureDeferred
async def test_each_robots_txt_is_fetched_once(webs, robots_later, project):
    """For all its URLs, with the project's agent; a site that is down tells nothing."""
    one, other = webs(), webs("127.0.0.2")
    one.pages["/robots.txt"] = Answer(BODY)
    other.pages["/robots.txt"] = Answer(b"", 503)
    urls = [one.url + "/shop", one.url + "/private", other.url + "/a"]
    run = await robots_later("explain", *urls, "--format", "json")
    answers = [(one["allowed"], one["group"]) for one in explained(run)]
    assert answers == [(False, "Examplebot"), (True, "Examplebot"), (None, None)]
    assert (run.returncode, run.stderr) == (1, b"")
    assert one.statuses() == [200]
    assert other.statuses() == [503]
    text = (await robots_later("explain", urls[2])).stdout.decode()
    assert "  unknown: 503, asks for a pause\n" in text


@pytest.mark.parametrize(
    ("status", "dialect", "answer"),
    [(404, "mandelbot", True), (403, "mandelbot", True), (403, "rep1994", False)],
)
@ensureDeferred
async def test_what_no_file_means_depends_on_the_dialect(
    webs, robots_later, status, dialect, answer
):
    """Mandelbot, "HTTP Status Codes"; the standard of 1994 takes 403 for a ban."""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"", status)
    run = await robots_later(
        "explain", web.url, "--dialect", dialect, "--format", "json"
    )
    (report,) = explained(run)
    assert (report["allowed"], run.returncode) == (answer, 0 if answer else 1)


@ensureDeferred
async def test_an_unknown_host_is_a_one_line_error(robots_later):
    """Nobody can say anything about its URLs."""
    run = await robots_later("explain", "http://nowhere.invalid/a")
    assert (run.returncode, run.stdout) == (2, b"")
    assert (
        run.stderr
        == b"scrapy robots: http://nowhere.invalid/robots.txt: no such host\n"
    )


@ensureDeferred
async def test_an_unavailable_site_does_not_stop_the_others(webs, robots_later):
    """Nobody knows what it says; the others are asked."""
    web = webs()
    web.pages["/robots.txt"] = Answer(BODY)
    urls = ["http://nowhere.invalid/a", web.url + "/a"]
    run = await robots_later(
        "explain", "-", "--format", "json", stdin="\n".join(urls).encode()
    )
    assert [one["allowed"] for one in explained(run)] == [None, True]
    assert explained(run)[0]["reason"].startswith("no such host")
    assert run.returncode == 1


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


@ensureDeferred
async def test_dialects_differ_in_what_a_status_means(webs, robots_later):
    """403: a ban to robots of 1994, no file to all others."""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"", 403)
    run = await robots_later("compare", web.url, "--format", "json")
    (report,) = explained(run)
    assert [one["dialect"] for one in report["verdicts"] if one["differs"]] == [
        "rep1994"
    ]
    assert (report["alike"], run.returncode) == (False, 1)


@ensureDeferred
async def test_project_settings_apply_as_in_a_crawl(webs, robots_later, project):
    """A status that pauses a crawl of the project is no word on the rules."""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"", 403)
    assert (await robots_later("explain", web.url + "/a")).returncode == 0
    with project.open("a") as file:
        file.write("MANDELBOT_PAUSE_HTTP_CODES = [503, 429, 403]\n")
    run = await robots_later("explain", web.url + "/a")
    assert run.returncode == 1
    assert "  unknown: 403, asks for a pause\n" in run.stdout.decode()


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
    assert "  Without line 2 it is allowed.\n" in text


@pytest.mark.parametrize("url", ["/x/../yes", "/no?u=//x", "/.no"])
def test_other_spellings_of_an_allowed_path_are_allowed(robots, tmp_path, url):
    """Only dot segments and repeated slashes of the path are resolved."""
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /no$\n")
    run = robots(
        "explain", f"https://h.example{url}", "--file", "robots.txt", "--format", "json"
    )
    (report,) = explained(run)
    assert (report["allowed"], report["resolved_url"]) == (True, None)


@pytest.mark.parametrize("robot", FALLBACKS, ids=lambda one: one.name)
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


def test_the_page_lists_the_fallbacks():
    """Each with its source and the date of the comparison."""
    page = (DOCS / "command.rst").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^``(\w+)`` +``(\w+)`` +(https://\S+) +(20[\d-]+)$", page)
    assert rows == [tuple(one) for one in FALLBACKS]


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
