"""The subject of a new commit fits a list; older ones are left alone."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path
from shutil import which

import pytest

ROOT = Path(__file__).parent.parent
SPEC = importlib.util.spec_from_file_location("subjects", ROOT / ".ci" / "subjects.py")
subjects = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(subjects)
NEEDS_GIT = pytest.mark.skipif(which("git") is None, reason="needs git")
BEFORE = "2026-11-29T12:00:00Z"
AFTER = "2026-12-01T12:00:00Z"


def commit(folder: Path, subject: str, when: str) -> None:
    """Make an empty commit, as of then."""
    who = {"NAME": "A", "EMAIL": "a@example.com", "DATE": when}
    roles = ("AUTHOR", "COMMITTER")
    given = {f"GIT_{role}_{key}": who[key] for role in roles for key in who}
    command = ["git", "-C", folder, "commit", "-q", "--allow-empty", "-m", subject]
    subprocess.run(command, env={**os.environ, **given}, check=True)


@pytest.fixture
def repository(tmp_path):
    """An empty repository, whatever the user has set up for git."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


def test_a_subject_has_at_most_72_characters():
    """The hash in front of it does not count."""
    fits = f"0123abc {'x' * 72}"
    assert subjects.too_long(f"{fits}\n{fits}x\n") == [f"{fits}x"]


@NEEDS_GIT
def test_only_commits_after_the_rule_are_held_to_it(repository):
    """An older one may be as long as it is."""
    commit(repository, "x" * 90, BEFORE)
    assert subjects.too_long(subjects.log_of(repository)) == []
    commit(repository, "y" * 73, AFTER)
    (found,) = subjects.too_long(subjects.log_of(repository))
    assert found.endswith("y" * 73)


@NEEDS_GIT
def test_a_shallow_clone_is_looked_at_as_far_as_it_goes(repository):
    """What it does not have is no error."""
    commit(repository, "y" * 73, AFTER)
    commit(repository, "short", AFTER)
    shallow = repository / "shallow"
    command = ["git", "clone", "-q", "--depth", "1", f"file://{repository}", shallow]
    subprocess.run(command, check=True)
    assert subjects.log_of(shallow).count("\n") == 1
    assert subjects.too_long(subjects.log_of(shallow)) == []


@NEEDS_GIT
def test_an_archive_unpacked_in_another_repository_has_no_subjects(repository):
    """The commits around it are another project's."""
    commit(repository, "y" * 73, AFTER)
    unpacked = repository / "unpacked"
    unpacked.mkdir()
    assert subjects.log_of(unpacked) == ""


def test_a_folder_without_a_history_has_no_subjects(tmp_path, monkeypatch):
    """Nor has a machine without git."""
    assert subjects.log_of(tmp_path) == ""
    monkeypatch.setenv("PATH", "")
    assert subjects.log_of(tmp_path) == ""
