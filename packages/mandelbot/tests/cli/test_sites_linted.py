"""``mandelbot check`` as a linter of many files, with a project's choices."""

from __future__ import annotations

import json
import sys

import pytest
from small_webs import Answer

CLEAN = "User-agent: *\nDisallow: /private/\n"
WARNS = "User-agent: *\nUser-agent: a\nDisallow: /b\nNoindex: /b\n"
WRONG = "User-agent: *\nDisalow: /\nDisallow: /a*\n"


@pytest.fixture
def files(tmp_path):
    """Three files in folders."""
    for name, text in (("clean", CLEAN), ("warns", WARNS), ("wrong", WRONG)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "robots.txt").write_text(text)
    return [f"{name}/robots.txt" for name in ("clean", "warns", "wrong")]


def test_files_and_sites_are_checked_at_once(webs, robots, files):
    """One run of Scrapy asks all sites; a missing file is looked for in capitals at its
    own.
    """
    one, other = webs(), webs("127.0.0.2")
    plain = {"Content-Type": "text/plain"}
    one.pages["/robots.txt"] = Answer(WRONG.encode(), headers=plain)
    other.pages["/ROBOTS.TXT"] = Answer(CLEAN.encode(), headers=plain)
    run = robots("check", files[0], one.url, other.url, "--format", "json")
    report = json.loads(run.stdout)
    sources = [files[0], f"{one.url}/robots.txt", f"{other.url}/robots.txt"]
    assert [file["source"] for file in report["files"]] == sources
    told = [{found["code"] for found in file["findings"]} for file in report["files"]]
    assert "misspelt-field" in told[1]
    assert "only-in-capitals" in told[2]
    assert "only-in-capitals" not in told[1]


def test_unavailable_files_do_not_stop_the_check(robots, files):
    """It is told, its exit code is 2, and the others' findings are there."""
    run = robots("check", "no/where", files[2], "http://127.0.0.1:1/")
    assert run.returncode == 2
    assert b"misspelt-field" in run.stdout
    assert b"no/where: not available" in run.stdout
    assert b"3 files: 1 error, 2 notes, 2 not available" in run.stdout
    said = run.stderr.decode().splitlines()
    assert said[0] == "mandelbot: no/where: no such file or directory"
    assert said[1] == "mandelbot: http://127.0.0.1:1/robots.txt: connection refused"


needs_toml = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="Python 3.10 reads no TOML"
)


@needs_toml
def test_a_configuration_file_without_choices_is_skipped(robots, files, tmp_path):
    """Also one that cannot be read; a slip in the choices is told."""
    (tmp_path / "pyproject.toml").write_text("[project\n")
    assert robots("check", files[0]).returncode == 0
    (tmp_path / "pyproject.toml").write_text(
        "[tool.mandelbot]\nignore = ['wildcrad']\n"
    )
    said = robots("check", files[0]).stderr.decode()
    assert (
        "pyproject.toml: ignore: there is no finding wildcrad: wildcard is meant"
        in said
    )


def test_a_page_is_about_one_file(robots, files):
    """As many pages are wanted as there are files."""
    run = robots("check", *files, "--format", "html")
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr == b"mandelbot: a page is about one file\n"


# What people put into their repositories.
