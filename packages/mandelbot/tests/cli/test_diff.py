"""What differs between two files: true, as `diff -u` writes it, and found soon."""

from __future__ import annotations

import difflib
import re
import shutil
import subprocess

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from mandelbot.cli.output.fix_report import differing, unified_diff

lines = st.lists(
    st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "", "-x", "+x"]), max_size=25
)
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def patched(before, diff):
    """Apply a unified diff, and check the numbers in it."""
    after, done = [], 0
    for hunk in re.split(r"^(?=@@)", diff, flags=re.MULTILINE)[1:]:
        head, *body = hunk.split("\n")[:-1]
        start, length, other, other_length = (
            int(number) if number else 1 for number in HUNK.fullmatch(head).groups()
        )
        start -= 1 if length else 0
        after += before[done:start]
        assert len(after) == other - (1 if other_length else 0)
        assert before[start : start + length] == [
            line[1:] for line in body if line[0] in " -"
        ]
        added = [line[1:] for line in body if line[0] in " +"]
        assert len(added) == other_length
        after += added
        done = start + length
    return after + before[done:]


@settings(max_examples=examples(500))
@given(before=lines, after=lines)
def test_the_diff_leads_from_one_to_the_other(before, after):
    """Whatever the files; nothing is printed where they are the same."""
    diff = unified_diff(before, after, "one", "other")
    assert (diff == "") == (before == after)
    assert patched(before, diff) == after
    assert not diff or diff.startswith("--- one\n+++ other\n@@ ")


@settings(max_examples=examples(500))
@given(before=lines, after=lines)
def test_lines_that_stay_are_the_same_and_in_order(before, after):
    """One file with the other's runs in place of its own is the other."""
    built, at = [], 0
    for start, stop, other_start, other_stop in differing(before, after):
        built += before[at:start] + after[other_start:other_stop]
        at = stop
    assert built + before[at:] == after


def test_few_changes_are_shown_as_difflib_shows_them():
    """Three lines around each, in one part where they are close."""
    before = [f"line {number}" for number in range(60)]
    after = [*before[:5], "new", *before[6:11], *before[12:40], "more", *before[40:]]
    expected = "\n".join(
        [*difflib.unified_diff(before, after, "a", "b", lineterm=""), ""]
    )
    assert unified_diff(before, after, "a", "b") == expected


def test_a_group_that_moves_is_one_group_that_moves():
    """The longer run stays, the shorter one is what is moved."""
    star = ["User-agent: *", "Disallow: /a", ""]
    others = [
        line for n in range(4) for line in (f"User-agent: {n}", f"Disallow: /{n}", "")
    ]
    diff = unified_diff([*star, *others], [*others, *star], "a", "b").split("\n")
    assert [line for line in diff[3:] if line[:1] == "-"] == [
        "-User-agent: *",
        "-Disallow: /a",
        "-",
    ]


def test_in_large_files_all_between_the_first_change_and_the_last_is_one_hunk():
    """Looking for more in them may take quadratic time."""
    before = [f"line {number}" for number in range(3_000)]
    after = [*before[:5], "new", *before[5:2_000], "more", *before[2_001:]]
    diff = unified_diff(before, after, "one", "other")
    assert patched(before, diff) == after
    assert diff.splitlines()[2:7] == [
        "@@ -3,2002 +3,2003 @@",
        *(f" line {n}" for n in (2, 3, 4)),
        "-line 5",
    ]
    assert diff.endswith(" line 2001\n line 2002\n line 2003\n")
    assert differing(before, after) == [(5, 2_001, 5, 2_002)]
    assert unified_diff(before, before, "one", "other") == ""


@pytest.mark.parametrize("unique", [True, False])
def test_thousands_of_small_changes_are_no_work(unique):
    """The same lines of a rule file over and over, each time in another order."""
    before = [
        f"{word} {n * unique}"
        for n in range(450)
        for word in ("agent", "deny", "allow")
    ]
    after = [
        f"{word} {n * unique}"
        for n in range(450)
        for word in ("agent", "allow", "deny")
    ]
    differ = sum(stop - start for start, stop, _, _ in differing(before, after))
    assert differ <= (450 if unique else len(before))
    assert patched(before, unified_diff(before, after, "one", "other")) == after


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch")
def test_patch_takes_it(tmp_path):
    """The program that diffs are made for."""
    before, after = ["a", "b", "", "c"] * 5, ["a", "x", "c", ""] * 6
    (tmp_path / "f").write_text("".join(f"{line}\n" for line in before))
    diff = unified_diff(before, after, "f", "f")
    subprocess.run(
        ["patch", "f"], input=diff.encode(), cwd=tmp_path, check=True, timeout=20
    )
    assert (tmp_path / "f").read_text().split("\n")[:-1] == after
