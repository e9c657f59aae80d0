"""The command as a person runs it: in a process of its own."""

from __future__ import annotations

from functools import partial

import pytest
from support.command import Command


@pytest.fixture
def command():
    """Runs ``mandelbot`` in any folder."""
    return Command()


@pytest.fixture
def robots(tmp_path, command):
    """Run ``mandelbot`` in a folder of this test, and wait for it."""
    return partial(command.run, tmp_path)
