"""``--format html``: a page of whatever verb, with that verb's exit code."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys

import pytest
from small_webs import Answer

from mandelbot.cli.verbs import main

BODY = b"""\
User-agent: *
Disallow: /private   # drafts
Disalow: /search

User-agent: Examplebot
Disallow: /shop
Allow: /shop/caf\xc3\xa9
"""
FIXED = (
    "Disallow: /search\n\nUser-agent: Examplebot\nDisallow: /shop\nAllow: /shop/café\n"
)


def data_of(page):
    """Return what the page's script is given."""
    return json.loads(
        re.search(r'type="application/json" id="data">(.*?)</script>', page)[1]
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["check", "-"], 3),
        (["normalize", "-"], 0),
        (["explain", "/shop/a", "/a", "--file", "-", "--agent", "Examplebot"], 1),
        (["explain", "/a", "--file", "-"], 0),
        (["compare", "/shop/café", "--file", "-", "--agent", "Examplebot"], 1),
    ],
)
def test_four_verbs_have_a_page(robots, arguments, code):
    """ASCII, whole, on standard output alone; the exit code is that of the text."""
    run = robots(*arguments, "--format", "html", stdin=BODY)
    assert (run.returncode, run.stderr) == (code, b"")
    page = run.stdout.decode("ascii")
    assert page.startswith("<!doctype html>\n")
    assert page.endswith("</html>\n")
    assert "misspelt-field" in page
    assert (
        FIXED.encode("ascii", "xmlcharrefreplace").decode().split("\n")[-2][7:] in page
    )
    assert robots(*arguments, stdin=BODY).returncode == code


def test_the_page_is_about_the_urls_and_the_robot(robots):
    """Those of the call, in their order."""
    asked = [
        "/shop/a",
        "/b",
        "--file",
        "-",
        "--agent",
        "Examplebot",
        "--dialect",
        "google",
    ]
    data = data_of(
        robots("explain", *asked, "--format", "html", stdin=BODY).stdout.decode()
    )
    assert data["agents"] == ["Examplebot"]
    assert data["dialect"] == "google"
    assert data["urls"] == ["/shop/a", "/b"]
    data = data_of(robots("check", "-", "--format", "html", stdin=BODY).stdout.decode())
    assert data["agents"] == ["*"]
    assert data["urls"] == ["/private", "/shop", "/"]


def test_the_policy_names_what_the_page_holds(robots):
    """The hashes are those of its one script, and of its styles with scripts and
    without.
    """
    page = robots("check", "-", "--format", "html", stdin=BODY).stdout.decode()
    for name, tag in (("script", "<script>"), ("style", "<style>")):
        texts = re.findall(f"{tag}(.*?)</{name}>", page, re.DOTALL)
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        named = " ".join(
            f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests
        )
        assert f"{name}-src {named};" in page


def test_normalize_writes_the_file_and_prints_the_page(robots, tmp_path):
    """--output is where the corrected file goes."""
    run = robots(
        "normalize", "-", "--output", "fixed.txt", "--format", "html", stdin=BODY
    )
    assert run.returncode == 0
    written = (tmp_path / "fixed.txt").read_bytes()
    assert written == robots("normalize", "-", stdin=BODY).stdout
    assert run.stdout.startswith(b"<!doctype html>")


def test_the_page_of_a_site(webs, robots):
    """How its file came is on it, and its URLs are the site's."""
    web = webs()
    web.pages["/robots.txt"] = Answer(BODY, headers={"Content-Type": "text/html"})
    for verb, about in (("check", web.url), ("explain", f"{web.url}/private/x")):
        run = robots(verb, about, "--format", "html")
        page = run.stdout.decode()
        assert "not-text-plain" in page
        assert "<dt>Status</dt><dd>200</dd>" in page
        data = data_of(page)
        assert data["site"] == web.url
        assert data["urls"][0].startswith(f"{web.url}/private")


def test_the_page_of_a_site_without_a_file(webs, robots):
    """What its absence means is on it."""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"gone", status=404)
    run = robots("check", web.url, "--format", "html")
    assert run.returncode == 0
    assert "No rules are read: 404, there is none." in run.stdout.decode()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["explain", "http://a.invalid/", "http://b.invalid/"],
            "a page is about one site, and these URLs are of 2",
        ),
        (
            ["compare", "-", "--file", "r.txt"],
            "there is no URL, and so no robots.txt to make a",
        ),
    ],
)
def test_a_page_is_about_one_file(robots, tmp_path, arguments, line):
    """Otherwise one line says so, before anything is asked for."""
    (tmp_path / "r.txt").write_bytes(BODY)
    run = robots(*arguments, "--format", "html")
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr.decode().startswith(f"mandelbot: {line}")


def test_html_without_jinja_says_what_to_install(tmp_path, monkeypatch, capsys):
    """It is an extra; text and JSON do without."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    (tmp_path / "r.txt").write_bytes(BODY)
    code = main(["check", "r.txt", "--format", "html"])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith(
        "mandelbot: --format html needs Jinja2: pip install 'mandelbot["
    )
    assert err.count("\n") == 1
    assert main(["check", "r.txt"]) == 3
