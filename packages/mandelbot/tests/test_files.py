"""A file that is replaced is the old one or the new one, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mandelbot.files import replace_file

OLD = b"User-agent: *\nDisallow: /a\n" * 400
NEW = b"User-agent: *\nDisallow: /b\n" * 400


@pytest.fixture
def file(tmp_path):
    """A file with its owner's rules, in a folder of its own."""
    file = tmp_path / "robots.txt"
    file.write_bytes(OLD)
    return file


def names_in(folder):
    """Name what is in a folder."""
    return sorted(one.name for one in folder.iterdir())


def test_a_file_is_replaced_and_no_draft_is_left(file):
    """All pieces are in it."""
    replace_file(file, [NEW, b"# end\n"])
    assert file.read_bytes() == NEW + b"# end\n"
    assert names_in(file.parent) == ["robots.txt"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_keeps_its_mode(file, mode):
    """A server that may read it may still."""
    file.chmod(mode)
    replace_file(file, [NEW])
    assert file.stat().st_mode & 0o777 == mode


def test_a_new_file_has_the_mode_of_the_umask(tmp_path):
    """As one that a program opens for writing."""
    (tmp_path / "opened").write_bytes(b"")
    replace_file(tmp_path / "replaced", [NEW])
    assert (tmp_path / "replaced").stat().st_mode == (
        tmp_path / "opened"
    ).stat().st_mode


def test_a_link_stays_one(file, tmp_path):
    """The file that it names is replaced, in its own folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = elsewhere / "link.txt"
    link.symlink_to("../robots.txt")
    replace_file(link, [NEW])
    assert link.is_symlink()
    assert file.read_bytes() == NEW
    assert names_in(elsewhere) == ["link.txt"]


def test_a_link_to_nothing_makes_its_file(tmp_path):
    """As opening it does."""
    (tmp_path / "link.txt").symlink_to("robots.txt")
    replace_file(tmp_path / "link.txt", [NEW])
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "robots.txt").read_bytes() == NEW


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError, ValueError])
def test_what_ends_the_writing_leaves_the_old_file(file, error):
    """And no draft."""

    def pieces():
        yield NEW
        raise error

    with pytest.raises(error):
        replace_file(file, pieces())
    assert file.read_bytes() == OLD
    assert names_in(file.parent) == ["robots.txt"]


def test_a_file_that_cannot_take_the_place_leaves_the_old_one(file, monkeypatch):
    """A file that is mounted on its own cannot be replaced."""

    def refused(*_):
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(os, "replace", refused)
    monkeypatch.setattr(type(file), "replace", refused)
    with pytest.raises(OSError, match="busy"):
        replace_file(file, [NEW])
    assert file.read_bytes() == OLD
    assert names_in(file.parent) == ["robots.txt"]


def test_the_draft_is_on_the_disk_before_it_takes_the_place(file, monkeypatch):
    """Or a power cut would leave an empty file of the right name."""
    calls = []
    fsync, replace = os.fsync, type(file).replace

    def synced(number):
        calls.append("fsync")
        fsync(number)

    def replaced(draft, path):
        calls.append(f"replace {len(draft.read_bytes())}")
        return replace(draft, path)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(type(file), "replace", replaced)
    replace_file(file, [NEW])
    assert calls == ["fsync", f"replace {len(NEW)}", "fsync"]


def test_an_error_names_the_file_and_no_draft(tmp_path):
    """Nobody knows the draft."""
    place = tmp_path / "no" / "robots.txt"
    with pytest.raises(FileNotFoundError) as raised:
        replace_file(place, [NEW])
    assert str(raised.value) == f"[Errno 2] No such file or directory: '{place}'"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has none")
def test_what_is_no_regular_file_is_written_into():
    """A device stays one; its error is raised."""
    replace_file("/dev/null", [NEW])
    with pytest.raises(OSError, match="No space left"):
        replace_file("/dev/full", [NEW])
    assert Path("/dev/full").exists()


KILLED = """
import os, signal
from mandelbot.files import replace_file
def pieces():
    yield b"x" * 100_000
    os.kill(os.getpid(), signal.SIGKILL)
    yield b"y"
replace_file("robots.txt", pieces())
"""


def test_a_kill_in_the_middle_leaves_the_old_file(file):
    """What is left beside it is hidden."""
    run = subprocess.run([sys.executable, "-c", KILLED], cwd=file.parent, check=False)
    assert run.returncode == -signal.SIGKILL
    assert file.read_bytes() == OLD
    assert [name for name in names_in(file.parent) if name[0] != "."] == ["robots.txt"]
