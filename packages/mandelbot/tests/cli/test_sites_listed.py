"""``mandelbot explain`` and ``compare`` of many URLs and of many robots: one line
each.
"""

from __future__ import annotations

import json

import pytest
from small_webs import Answer

from mandelbot.cli.output.rules_in_force import MOST_NAMED
from mandelbot.robotstxt.known_robots import KNOWN_ROBOTS

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


@pytest.mark.parametrize(
    "url",
    [
        "example.com/a",
        *(
            pytest.param(url, marks=pytest.mark.thorough)
            for url in ("//example.com/a", "https://", "a")
        ),
        "http://[x",
    ],
)
@pytest.mark.parametrize("verb", ["explain", "compare"])
def test_an_invalid_url_is_never_allowed(robots, file, tmp_path, verb, url):
    """No rule matches it, and a gate would be green: exit code 2, and the line that it
    is in.
    """
    (tmp_path / "urls.txt").write_text(f"/a\n\n{url}\n")
    for asked, where in (([url], ""), (["--urls", "urls.txt"], "urls.txt, line 3: ")):
        run = robots(verb, *asked, "--file", "robots.txt")
        assert (run.returncode, run.stdout) == (2, b"")
        said = (
            f"mandelbot: {where}{url}: this is no URL: it begins with https:// or"
            " with one"
        )
        assert run.stderr.decode().startswith(said)
    run = robots(verb, "-", stdin=f"\n{url}\n".encode())
    assert (run.returncode, run.stdout) == (2, b"")
    said = f"mandelbot: standard input, line 2: {url}: this is no URL with a site"
    assert run.stderr.decode().startswith(said)


def test_a_file_may_name_more_robots_than_anyone_asks_about(robots, tmp_path):
    """A hundred are asked about, and how many are left out is told."""
    body = b"".join(
        b"User-agent: bot-%d\nDisallow: /\n" % n for n in range(MOST_NAMED + 7)
    )
    (tmp_path / "robots.txt").write_bytes(body)
    run = robots("explain", "--robots", "--file", "robots.txt", "--format", "json")
    assert len(listed(run)) == len(KNOWN_ROBOTS) + MOST_NAMED + 1
    assert (
        run.stderr == b"mandelbot: robots.txt names 7 more robots, which are left out\n"
    )


def test_each_site_has_its_own_robots(webs, robots):
    """Each file is asked about the URLs of its site, for the robots that it names."""
    one, other = webs(), webs("127.0.0.2")
    one.pages["/robots.txt"] = Answer(BODY)
    other.pages["/robots.txt"] = Answer(b"User-agent: Thirdbot\nDisallow: /\n")
    urls = [one.url + "/a", other.url + "/b"]
    run = robots("explain", *urls, "--robots", "--format", "json")
    rows = listed(run)
    asked = {(row["url"], row["agent"]) for row in rows}
    assert (urls[0], "Ownbot") in asked
    assert (urls[1], "Thirdbot") in asked
    assert (urls[1], "Ownbot") not in asked
    assert len(rows) == 2 * (len(KNOWN_ROBOTS) + 2)
