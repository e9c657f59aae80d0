"""``scrapy robots check`` as a linter of many files, with a project's choices."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pages import library_page

ROOT = Path(__file__).parents[2]
PAGE = library_page("command")
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


# What people put into their repositories.


def hook():
    """Return the fields of the definition, a list of one mapping of strings."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    fields = re.findall(r"^(?:- |  )([a-z_]+): (.+)$", text, re.MULTILINE)
    return {name: value.strip("'\"") for name, value in fields}


def test_the_pre_commit_hook_checks_what_is_committed(robots, files, tmp_path):
    """As pre-commit runs it: its entry, with those of the files named that its pattern
    finds.
    """
    told = hook()
    assert set(told) == {
        "id",
        "name",
        "description",
        "entry",
        "language",
        "files",
        "types",
    }
    assert told["language"] == "python"
    block = PAGE.partition("- repo: local\n")[2].partition("\n\n")[0]
    assert [
        name for name, value in told.items() if f"{name}: {value}\n" not in f"{block}\n"
    ] == []
    named = [*files, "docs/robots.txt.md", "robots.txt"]
    taken = [name for name in named if re.search(told["files"], name)]
    assert taken == [*files, "robots.txt"]
    program, *arguments = shlex.split(told["entry"])
    assert program == "mandelbot"
    for taken, code in ((files[:1], 0), (files, 3)):
        command = [sys.executable, "-m", program, *arguments, *taken]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        assert run.returncode == code


def test_the_workflow_of_the_page_fails_where_something_is_wrong(files, tmp_path):
    """The steps of the snippet, but for what installs, as GitHub runs them: with bash
    -e.
    """
    block = re.search(
        r"\.\. code-block:: yaml\n\n((?: {4}.*\n|\n)+)",
        PAGE.partition("On GitHub a workflow")[2],
    )[1]
    runs = re.findall(r"^ +- run: (.+)$", block, re.MULTILINE)
    assert runs[0].startswith("pip install ")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path}
    for names, code in ((files[:1], 0), (files, 3)):
        for file in set(files) - set(names):
            (tmp_path / file).unlink()
        script = "\n".join(runs[1:])
        bash = ["bash", "-e", "-c", script]
        run = subprocess.run(
            bash, cwd=tmp_path, env=environ, capture_output=True, check=False
        )
        assert run.returncode == code, run.stderr
        assert (b"::error file=wrong/robots.txt,line=2" in run.stdout) == bool(code)
        for name, text in (("clean", CLEAN), ("warns", WARNS), ("wrong", WRONG)):
            (tmp_path / name / "robots.txt").write_text(text)


WITHOUT_SCRAPY = """
import resource, sys, sysconfig
site = sysconfig.get_paths()["purelib"]
from mandelbot.cli.verbs import main
code = main(["check", "wrong/robots.txt", "--full"])
seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime
loaded = {name.partition(".")[0] for name, one in sys.modules.items()
          if (getattr(one, "__file__", None) or "").startswith(site)}
print(code, seconds, *sorted(loaded - {"mandelbot"}))
"""


def test_the_hook_needs_three_packages_and_starts_in_0_6_s(files, tmp_path):
    """Those that the page has installed: no Scrapy.

    Of its third of a second most is Python's.
    """
    command = [sys.executable, "-c", WITHOUT_SCRAPY]
    run = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    code, seconds, *loaded = run.stdout.splitlines()[-1].split()
    sentence = re.search(r"depends on three small packages, (.*?);", PAGE)[1]
    installed = {name.replace("-", "_") for name in re.findall("``(.+?)``", sentence)}
    # How it is installed here, and what these bring themselves.
    own = {"__editable___", "_distutils_hack", "typing_extensions"}
    needed = {name for name in loaded if not any(name.startswith(one) for one in own)}
    assert needed <= installed
    assert (code, float(seconds) < 0.6) == ("3", True)
