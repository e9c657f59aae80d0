"""The entry for scrapy-lint has what the add-on sets and the package reads.

(docs/versions.rst)
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from textwrap import dedent

import pytest
from pages import DOCS, ROOT

from scrapy_mandelbot.addon import COMPONENTS, WIRINGS
from scrapy_mandelbot.settings.config import setting_defaults

ENTRY = re.search(
    r"^scrapy-lint\n-+\n.*?\.\. code-block:: python\n\n((?:    .*\n|\n)+)",
    (DOCS / "versions.rst").read_text("utf-8"),
    re.MULTILINE | re.DOTALL,
)[1]
OF_ADDON, SETTINGS = (
    set(re.findall(r'^ +"([A-Z_]+)",$', part, re.MULTILINE))
    for part in ENTRY.split("SETTINGS |=", maxsplit=1)
)


def test_it_has_what_the_addon_sets():
    """Each setting, and no other."""
    source = (ROOT / "scrapy_mandelbot" / "addon.py").read_text("utf-8")
    written = set(re.findall(r'set\((?:settings, )?\s*"([A-Z_]+)"', source))
    written |= {one.setting for one in COMPONENTS}
    written |= {one.name for wirings in WIRINGS.values() for one in wirings}
    assert written == OF_ADDON


def test_it_has_each_setting_of_the_package():
    """Those with a default, and those that the add-on sets for itself."""
    own = {*setting_defaults(), *OF_ADDON}
    assert {name for name in own if name.startswith("MANDELBOT_")} == SETTINGS


def test_with_it_the_linter_knows_each_setting(tmp_path):
    """It reports an unknown setting without the entry, and none with it."""
    pytest.importorskip("scrapy_lint")
    (tmp_path / "p").mkdir()
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = p.settings\n")
    (tmp_path / "p" / "__init__.py").touch()
    text = 'ADDONS = {"scrapy_mandelbot.Addon": 500}\nMANDELBOT_SITEMAPS = "follow"\n'
    (tmp_path / "p" / "settings.py").write_text(text)
    names = (
        "from scrapy_lint.addons import Addon, VersionedSettings\n"
        "from scrapy_lint.settings import Setting\n"
        "from scrapy_lint.data.addons import ADDONS\n"
        "from scrapy_lint.data.settings import SETTINGS\n"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", f"{before}import scrapy_lint; scrapy_lint.main()"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        ).stdout.count("SCP27")
        for before in ("", names + dedent(ENTRY))
    ]
    assert found == [1, 0]
