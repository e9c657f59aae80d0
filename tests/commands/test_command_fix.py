"""``scrapy robots fix``: the corrected file, and its proof."""

from __future__ import annotations

import json

import pytest
from crawling import ensureDeferred
from webs import Answer

BODY = b"User-agent: *\nDisallow: /a # drafts\nAllow: /a/b\n"
FIXED = b"User-agent: *\nAllow: /a/b\n# drafts\nDisallow: /a\n"


def test_moderatobot_the_corrected_file_is_printed_and_proved(robots):
    """The file on standard output, what is to be told on standard error."""
    run = robots("fix", "-", stdin=BODY)
    assert (run.returncode, run.stdout) == (0, FIXED)
    assert run.stderr == b"scrapy robots: proved: 14 decisions in mandelbot are alike\n"


def test_correcting_a_corrected_file_changes_nothing(robots):
    """And the diff is empty."""
    assert robots("fix", "-", stdin=FIXED).stdout == FIXED
    assert robots("fix", "-", "--diff", stdin=FIXED).stdout == b""


def test_the_diff_shows_what_changes(robots):
    """As patch reads it."""
    run = robots("fix", "-", "--diff", stdin=BODY)
    assert run.stdout.decode() == (
        "--- standard input\n+++ standard input (corrected)\n@@ -1,3 +1,4 @@\n User-agent: *\n"
        "-Disallow: /a # drafts\n Allow: /a/b\n+# drafts\n+Disallow: /a\n"
    )


def test_the_file_can_be_written(robots, tmp_path):
    """In place too; standard output is empty then."""
    path = tmp_path / "robots.txt"
    path.write_bytes(BODY)
    run = robots("fix", "robots.txt", "--output", "robots.txt")
    assert (run.returncode, run.stdout, path.read_bytes()) == (0, b"", FIXED)
    assert run.stderr.decode().splitlines()[-1] == "scrapy robots: robots.txt is written"


def test_a_place_that_cannot_be_written_is_one_clear_line(robots):
    """Exit code 2, and no traceback."""
    run = robots("fix", "-", "--output", "no/such/folder", stdin=BODY)
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr.decode().endswith("no/such/folder: no such file or directory\n")
    assert b"Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("dialect", "fixed", "remark"),
    [
        ("google", FIXED, None),
        (
            "rep1994",
            b"User-agent: *\n# drafts\nDisallow: /a\nAllow: /a/b\n",
            "Allow and Disallow stay in their order",
        ),
    ],
)
def test_a_file_is_corrected_for_a_dialect(robots, dialect, fixed, remark):
    """What the dialect decides stays, and where that costs the order it is told."""
    run = robots("fix", "-", "--dialect", dialect, stdin=BODY)
    assert (run.returncode, run.stdout) == (0, fixed)
    assert f"decisions in {dialect} are alike" in run.stderr.decode()
    assert (remark or "proved") in run.stderr.decode()


def test_json_has_file_diff_and_proof(robots):
    """All that there is to know."""
    report = json.loads(robots("fix", "-", "--format", "json", stdin=BODY).stdout)
    assert report["text"].encode() == FIXED
    assert report["changed"] is True
    assert report["proof"]["holds"] is report["proof"]["is_whole"] is True
    assert report["proof"]["decisions"] == 14
    assert report["remarks"] == report["proof"]["differences"] == []
    assert "+Disallow: /a" in report["diff"].splitlines()


def test_the_diff_is_one_that_patch_takes(robots, tmp_path):
    """Tabs and blank lines of the context are as they are in the file."""
    import shutil
    import subprocess

    body = b"# a\tb\n\nUser-agent:\ta\nDisallow: /x # y\n\nUser-agent: *\nDisallow: /\n"
    diff = robots("fix", "-", "--diff", stdin=body).stdout
    assert b"\n \n" in diff
    assert b" # a\tb\n" in diff
    if shutil.which("patch"):
        (tmp_path / "robots.txt").write_bytes(body)
        subprocess.run(["patch", "robots.txt"], cwd=tmp_path, input=diff, check=True)
        assert (tmp_path / "robots.txt").read_bytes() == robots("fix", "-", stdin=body).stdout


@ensureDeferred
async def test_the_file_of_a_site_is_corrected(webs, robots_later):
    """And where there is none, it is said why."""
    web = webs()
    web.pages["/robots.txt"] = Answer(BODY)
    run = await robots_later("fix", web.url)
    assert (run.returncode, run.stdout) == (0, FIXED)
    del web.pages["/robots.txt"]
    run = await robots_later("fix", web.url)
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr.decode() == f"scrapy robots: {web.url}/robots.txt: the status is 404\n"


def test_what_is_not_proved_is_not_written(monkeypatch, tmp_path, capsys):
    """Exit code 3; where it differs is told. No file does this: the rewriter is broken here."""
    from scrapy.cmdline import execute
    from scrapy.settings import Settings

    from scrapy_mandelbot.commands.reports import correction
    from scrapy_mandelbot.robotstxt.rewriting import Rewritten

    broken = Rewritten("User-agent: *\nDisallow: /\n")
    monkeypatch.setattr(correction, "rewrite", lambda *_, **__: broken)
    (tmp_path / "robots.txt").write_bytes(BODY)
    arguments = ["fix", str(tmp_path / "robots.txt"), "--output", str(tmp_path / "new")]
    with pytest.raises(SystemExit) as ended:
        execute(["scrapy", "robots", *arguments], Settings())
    assert ended.value.code == 3
    said = capsys.readouterr().err
    assert "not proved: " in said
    assert "was allowed" in said
    assert "new is not written" in said
    assert not (tmp_path / "new").exists()
