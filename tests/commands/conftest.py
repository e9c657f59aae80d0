"""The command as a person runs it: in a process of its own."""

from __future__ import annotations

from functools import partial

import pytest
from twisted.internet.threads import deferToThread


@pytest.fixture
def robots(tmp_path, forked):
    """Run ``scrapy robots`` in a folder, and wait for it."""
    return partial(forked.run, tmp_path)


@pytest.fixture
def robots_later(tmp_path, forked):
    """Run it while this process serves the sites that it asks."""
    return partial(deferToThread, forked.run, tmp_path)


@pytest.fixture
def project(tmp_path):
    """Make the folder a project that uses the package, and return its settings file."""
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = project.settings\n")
    package = tmp_path / "project"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "spiders.py").write_text(
        "raise RuntimeError('a spider that cannot be imported')\n"
    )
    settings = package / "settings.py"
    settings.write_text(
        "ADDONS = {'scrapy_mandelbot.Addon': 500}\nSPIDER_MODULES ="
        " ['project.spiders']\nUSER_AGENT = 'Examplebot/1.0"
        " (+https://example.com/bot)'\nLOG_LEVEL = 'DEBUG'\n"
    )
    return settings
