"""The command as a person runs it: in a process of its own."""

from __future__ import annotations

from functools import partial

import pytest
from small_webs import Web
from support.command import Command


@pytest.fixture
def command():
    """Runs ``mandelbot`` in any folder."""
    return Command()


@pytest.fixture
def robots(tmp_path, command):
    """Run ``mandelbot`` in a folder of this test, and wait for it."""
    return partial(command.run, tmp_path)


@pytest.fixture
def webs():
    """Start sites on loopback addresses; all are closed in the end."""
    started: list[Web] = []

    def start(host: str = "127.0.0.1") -> Web:
        started.append(Web(host))
        return started[-1]

    yield start
    for web in started:
        web.close()
