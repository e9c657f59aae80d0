"""``scrapy robots normalize``: the normal form, and its proof."""

from __future__ import annotations

import json

import pytest

from mandelbot.fix import READERS
from mandelbot.fix.effects import FIRST_MATCH

BODY = b"User-agent: *\nDisallow: /a # drafts\nAllow: /a/b\n"
FIXED = b"User-agent: *\n# drafts\nDisallow: /a\nAllow: /a/b\n"
ALLOW_FIRST = b"User-agent: *\nAllow: /a/b\n# drafts\nDisallow: /a\n"


def test_correcting_a_corrected_file_changes_nothing(robots):
    """And the diff is empty."""
    assert robots("normalize", "-", stdin=FIXED).stdout == FIXED
    assert robots("normalize", "-", "--diff", stdin=FIXED).stdout == b""


def test_the_diff_shows_what_changes(robots):
    """As patch reads it."""
    run = robots("normalize", "-", "--diff", stdin=BODY)
    assert (
        run.stdout.decode()
        == "--- standard input\n+++ standard input (corrected)\n@@ -1,3 +1,4 @@\n"
        " User-agent: *\n-Disallow: /a # drafts\n+# drafts\n+Disallow: /a\n Allow:"
        " /a/b\n"
    )


def test_a_place_that_cannot_be_written_is_one_clear_line(robots):
    """Exit code 2, and no traceback."""
    run = robots("normalize", "-", "--output", "no/such/folder", stdin=BODY)
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr.decode().endswith("no/such/folder: no such file or directory\n")
    assert b"Traceback" not in run.stderr


@pytest.mark.parametrize("place", ["robots.txt", "link.txt"])
def test_a_full_disk_leaves_the_file_as_it_was(robots, tmp_path, place):
    """Its other rules would be gone: what they forbid would be open."""
    file = tmp_path / "robots.txt"
    file.write_bytes(BODY + b"".join(b"Disallow: /p%d\n" % n for n in range(200)))
    file.chmod(0o640)
    (tmp_path / "link.txt").symlink_to("robots.txt")
    before = file.read_bytes()
    run = robots("normalize", "robots.txt", "--output", place, most_written=2_048)
    assert run.returncode == 2
    assert run.stderr.decode().endswith(f"{place}: file too large\n")
    assert file.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.txt", "robots.txt"]
    assert robots("normalize", "robots.txt", "--output", place).returncode == 0
    assert file.read_bytes() != before
    assert file.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link.txt").is_symlink()


@pytest.mark.parametrize(
    ("only", "fixed"), [("google", ALLOW_FIRST), ("rep1994", FIXED)]
)
def test_a_file_is_corrected_for_one_dialect_where_that_is_asked_for(
    robots, only, fixed
):
    """The remarks name what opens to others; where the dialect decides by the order, it
    stays.
    """
    run = robots("normalize", "-", "--only", only, stdin=BODY)
    told = run.stderr.decode().splitlines()
    assert (run.returncode, run.stdout) == (0, fixed)
    assert any(f"decisions unchanged ({only} dialect)" in line for line in told)
    (opened,) = [line for line in told if " opens " in line] or [""]
    others = (
        f"/a/b for others, as read by the dialects rep1994, extended2; {FIRST_MATCH}"
    )
    assert opened.endswith(others) is (fixed == ALLOW_FIRST)


@pytest.mark.parametrize("dialect", ["google", "rep1994"])
def test_a_file_is_corrected_as_a_dialect_reads_it(robots, dialect):
    """And still opens nothing to the robots of others."""
    run = robots("normalize", "-", "--dialect", dialect, stdin=BODY)
    assert (run.returncode, run.stdout) == (0, FIXED)
    assert f"decisions unchanged ({dialect} dialect)" in run.stderr.decode()
    assert b": opens" not in run.stderr


def test_only_and_dialect_must_be_one(robots):
    """Exit code 2, and nothing is read."""
    run = robots(
        "normalize", "-", "--only", "google", "--dialect", "rep1994", stdin=BODY
    )
    assert run.returncode == 2
    assert b"--only and --dialect name different dialects" in run.stdout + run.stderr


def test_what_a_correction_closes_is_told(robots):
    """To robots that ended the group at a blank line: what the file closes to all
    others.
    """
    run = robots(
        "normalize", "-", stdin=b"User-agent: *\nDisallow: /a\n\nDisallow: /b\n"
    )
    assert (run.returncode, run.stdout) == (
        0,
        b"User-agent: *\nDisallow: /a\nDisallow: /b\n",
    )
    readers = f"the dialects rep1994, extended2; {FIRST_MATCH}"
    assert f"closes /b for others, as read by {readers}\n" in run.stderr.decode()


def test_a_file_is_written_into_a_pipe_as_it_is_whatever_the_locale(robots):
    """An escape in place of a letter were another path."""
    body = "User-agent: *\nDisallow: /é\n".encode()
    run = robots("normalize", "-", stdin=body, PYTHONIOENCODING="latin-1", LC_ALL="C")
    assert (run.returncode, run.stdout) == (0, body)


@pytest.mark.parametrize("option", [(), ("--only", "google")])
@pytest.mark.parametrize(("over", "is_corrected"), [(0, True), (1, False)])
def test_a_file_of_more_than_64_kib_stays_as_it_is(robots, over, is_corrected, option):
    """Whatever is asked for; a remark says so."""
    rules = b"User-agent: *\n" + b"".join(
        b"DISALLOW: /%s%d\n" % (b"x" * 900, n) for n in range(70)
    )
    body = rules + b"# " + b"x" * (65_536 - len(rules) - 3 + over) + b"\n"
    run = robots("normalize", "-", *option, stdin=body)
    assert run.returncode == 0
    assert (b"\nDisallow: " in run.stdout) is is_corrected
    assert (run.stdout == body) is not is_corrected
    assert (
        b"The file is too large to compare completely" in run.stderr
    ) is not is_corrected


def test_json_has_file_diff_and_proof(robots):
    """All that there is to know."""
    report = json.loads(robots("normalize", "-", "--format", "json", stdin=BODY).stdout)
    assert report["text"].encode() == FIXED
    assert (
        report["changed"] is report["harmless"] is report["proof"]["is_whole"] is True
    )
    assert (report["proof"]["decisions"], report["proof"]["different"]) == (14, 0)
    assert [one["reader"] for one in report["effects"]] == [*READERS]
    assert sum(one["opened"] + one["closed"] for one in report["effects"]) == 0
    assert report["proof"]["differences"] == []
    assert "+Disallow: /a" in report["diff"].splitlines()


def test_the_diff_is_one_that_patch_takes(robots, tmp_path):
    """Tabs and blank lines of the context are as they are in the file."""
    import shutil
    import subprocess

    body = b"# a\tb\n\nUser-agent:\ta\nDisallow: /x # y\n\nUser-agent: *\nDisallow: /\n"
    diff = robots("normalize", "-", "--diff", stdin=body).stdout
    assert b"\n \n" in diff
    assert b" # a\tb\n" in diff
    if shutil.which("patch"):
        (tmp_path / "robots.txt").write_bytes(body)
        subprocess.run(["patch", "robots.txt"], cwd=tmp_path, input=diff, check=True)
        assert (tmp_path / "robots.txt").read_bytes() == robots(
            "normalize", "-", stdin=body
        ).stdout
