"""``mandelbot explain`` and ``compare``: who may fetch what, and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_webs import Answer

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
    assert run.stderr.startswith(b"mandelbot: nowhere: no such file or directory")


def test_each_robots_txt_is_fetched_once(webs, robots):
    """For all its URLs; a site that is down says nothing."""
    one, other = webs(), webs("127.0.0.2")
    one.pages["/robots.txt"] = Answer(BODY)
    other.pages["/robots.txt"] = Answer(b"", 503)
    urls = [one.url + "/shop", one.url + "/private", other.url + "/a"]
    run = robots("explain", *urls, "--agent", "Examplebot", "--format", "json")
    answers = [(one["allowed"], one["group"]) for one in explained(run)]
    assert answers == [(False, "Examplebot"), (True, "Examplebot"), (None, None)]
    assert (run.returncode, run.stderr) == (1, b"")
    assert one.statuses() == [200]
    assert other.statuses() == [503]
    text = (robots("explain", urls[2])).stdout.decode()
    assert "  unknown: 503, asks for a pause\n" in text


@pytest.mark.parametrize(
    ("status", "dialect", "answer"),
    [(404, "mandelbot", True), (403, "mandelbot", True), (403, "rep1994", False)],
)
def test_what_no_file_means_depends_on_the_dialect(
    webs, robots, status, dialect, answer
):
    """Mandelbot, "HTTP Status Codes"; the standard of 1994 takes 403 for a ban."""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"", status)
    run = robots("explain", web.url, "--dialect", dialect, "--format", "json")
    (report,) = explained(run)
    assert (report["allowed"], run.returncode) == (answer, 0 if answer else 1)


def test_an_unknown_host_is_a_one_line_error(robots):
    """Nobody can say anything about its URLs."""
    run = robots("explain", "http://nowhere.invalid/a")
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr == b"mandelbot: http://nowhere.invalid/robots.txt: no such host\n"


def test_an_unavailable_site_does_not_stop_the_others(webs, robots):
    """Nobody knows what it says; the others are asked."""
    web = webs()
    web.pages["/robots.txt"] = Answer(BODY)
    urls = ["http://nowhere.invalid/a", web.url + "/a"]
    run = robots("explain", "-", "--format", "json", stdin="\n".join(urls).encode())
    assert [one["allowed"] for one in explained(run)] == [None, True]
    assert explained(run)[0]["reason"].startswith("no such host")
    assert run.returncode == 1


def test_dialects_differ_in_what_a_status_means(webs, robots):
    """403: a ban to robots of 1994, no file to all others."""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"", 403)
    run = robots("compare", web.url, "--format", "json")
    (report,) = explained(run)
    assert [one["dialect"] for one in report["verdicts"] if one["differs"]] == [
        "rep1994"
    ]
    assert (report["agree"], run.returncode) == (False, 1)
