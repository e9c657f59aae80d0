"""What ``mandelbot`` offers, and what importing it costs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mandelbot


@pytest.mark.parametrize("name", mandelbot.__all__)
def test_every_public_name_is_there(name):
    """Each name of ``__all__`` can be imported."""
    assert getattr(mandelbot, name) is not None


def test_no_other_name_is():
    """A misspelt name is an AttributeError, as in any module."""
    with pytest.raises(AttributeError, match="RobotTxt"):
        mandelbot.RobotTxt  # noqa: B018


def test_the_parsers_need_no_scrapy():
    """Reading robots.txt files or sitemaps loads neither Scrapy nor Twisted."""
    code = (
        "import sys; from mandelbot import RobotsTxt, SitemapReader;"
        "assert RobotsTxt.parse(b'User-agent: *\\nDisallow: /x').allowed('/y', 'bot');"
        "assert not list(SitemapReader('http://example.com/').feed(b''));"
        "tops = {name.split('.')[0] for name in sys.modules};"
        "sys.exit(bool(tops & {'scrapy', 'twisted'}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_who_only_decides_does_not_load_the_checks():
    """Findings and the corrected file are imported when they are first asked for."""
    code = (
        "import sys; from mandelbot import RobotsTxt;"
        "RobotsTxt.parse(b'User-agent: *').allowed('/y', 'bot');"
        "sys.exit(any(name.startswith('mandelbot.findings') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_stub_has_the_names_of_the_package():
    """Type checkers read the stub, the interpreter ``_HOMES``: both say the same."""
    stub = Path(mandelbot.__file__).with_name("__init__.pyi").read_text()
    imports = [line.split() for line in stub.splitlines() if line.startswith("from ")]
    assert {words[3]: words[1] for words in imports} == mandelbot._HOMES


def test_the_library_runs_without_its_stubs(tmp_path):
    """A program made by PyInstaller has no stubs, nor do images that were slimmed."""
    source = Path(mandelbot.__file__).parent
    without = shutil.ignore_patterns("*.pyi", "__pycache__")
    shutil.copytree(source, tmp_path / "mandelbot", ignore=without)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import mandelbot;"
        "assert mandelbot.__file__.startswith(sys.argv[1]), mandelbot.__file__;"
        "[getattr(mandelbot, name) for name in mandelbot.__all__]"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    assert subprocess.run(command, check=False).returncode == 0
