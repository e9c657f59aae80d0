"""What is offered to other projects is of today, and does what it says. (docs/upstream)"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys

import pytest
from pages import DOCS, ROOT

from scrapy_mandelbot.addon import COMPONENTS

FOLDER = DOCS / "upstream"


@pytest.fixture(scope="module")
def make():
    """The program that writes it."""
    spec = importlib.util.spec_from_file_location("make", FOLDER / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["scrapy_lint_entry.py", "test_protego_rfc9309.py"])
def test_what_is_made_is_of_today(make, name):
    """``python docs/upstream/make.py`` would change nothing."""
    assert (FOLDER / name).read_text("utf-8") == make.FILES[name]()


def test_the_linters_entry_has_what_the_addon_sets(make):
    """Each setting, and no other."""
    source = (ROOT / "scrapy_mandelbot" / "addon.py").read_text("utf-8")
    written = set(re.findall(r'settings\.set\(\s*"([A-Z_]+)"', source))
    written |= {one.setting for one in COMPONENTS} | {"SCHEDULER_PRIORITY_QUEUE"}
    assert set(make.SET_BY_THE_ADDON) == written


def test_with_the_entry_the_linter_knows_each_setting(tmp_path):
    """It complains of unknown settings without, and of none with it."""
    pytest.importorskip("scrapy_lint")
    (tmp_path / "p").mkdir()
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = p.settings\n")
    (tmp_path / "p" / "__init__.py").touch()
    text = 'ADDONS = {"scrapy_mandelbot.Addon": 500}\nMANDELBOT_SITEMAPS = "follow"\n'
    (tmp_path / "p" / "settings.py").write_text(text)
    with_it = (
        "import scrapy_lint_entry as entry, scrapy_lint.data.addons as a, scrapy_lint.data.settings"
        " as s; a.ADDONS.update(entry.ADDONS); s.SETTINGS.update(entry.SETTINGS);"
    )
    environment = {**os.environ, "PYTHONPATH": str(FOLDER)}
    found = [
        subprocess.run(
            [sys.executable, "-c", f"{before}import scrapy_lint; scrapy_lint.main()"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        ).stdout.count("SCP27")
        for before in ("", with_it)
    ]
    assert found == [1, 0]


@pytest.mark.parametrize(
    ("file", "settings"),
    [
        ("test_protego_rfc9309.py", {}),
        pytest.param(
            "test_crash.py",
            {"ADDONS": {"scrapy_mandelbot.Addon": 500}},
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_the_tests_that_are_offered_hold(tmp_path, file, settings):
    """As they would be run there, with nothing of this project's around them."""
    copy = tmp_path / file
    copy.write_bytes((FOLDER / file).read_bytes())
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file]
    environment = {**os.environ, "CRASH_SETTINGS": json.dumps(settings)}
    ended = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout[-3_000:]
