"""What needs no Scrapy works where there is none."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

import mandelbot

NEEDED = ("http-sf", "protego", "w3lib", "typing_extensions")  # the last for http-sf
BEYOND = ("scrapy", "twisted", "lxml", "redis")
IMPORTS = """
import importlib, json, pkgutil, sys
import mandelbot as room
for one in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
    if one.name.rpartition(".")[2] not in {"__main__", "robots_page"}:
        importlib.import_module(one.name)
from mandelbot import normalize
normalize(b"User-agent: *\\nDisallow: /a # b\\n").text
print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Make an environment with the package, what the room needs, and nothing else."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in NEEDED:
        parts = {file.parts[0] for file in distribution(name).files or ()} - {".."}
        for part in parts:
            (site / part).symlink_to(Path(str(distribution(name).locate_file(part))))
    (site / "mandelbot").symlink_to(Path(mandelbot.__file__).parent)
    return folder / "bin" / "python"


def run(python, *arguments, **kwargs):
    """Run a Python that sees nothing of this one."""
    return subprocess.run(
        [python, "-I", *arguments],
        capture_output=True,
        text=True,
        check=False,
        **kwargs,
    )


def test_the_room_is_imported_and_works_without_scrapy(bare):
    """No Scrapy, Twisted, lxml or redis is there, nor asked for."""
    done = run(bare, "-c", IMPORTS)
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert not loaded & set(BEYOND)


def test_importing_the_room_loads_none_of_it_where_it_is_there():
    """Here Scrapy is installed."""
    code = "import sys, mandelbot; print(sorted({*sys.modules} & {*sys.argv[1:]}))"
    assert run(sys.executable, "-c", code, *BEYOND).stdout == "[]\n"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("User-agent: *\nDisallow: /x\n", 0),
        ("User-agent: *\nDisalow: /x\n", 3),
        (None, 2),
    ],
)
def test_files_are_checked_without_scrapy(bare, tmp_path, body, code):
    """With the exit codes of the linter."""
    if body is not None:
        (tmp_path / "robots.txt").write_text(body)
    done = run(bare, "-m", "mandelbot", "check", "robots.txt", cwd=tmp_path)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert ("misspelt-field" in done.stdout) == (code == 3)
