"""Crawls whose waits cost no time, where the module asks for it."""

from __future__ import annotations

import pytest
from loops import TIME, can_be_turned


@pytest.fixture
def loop_is_turned():
    """Have the loop's time jump over waits. Not where another process has a part in the test."""
    if not can_be_turned():
        yield
        return
    with TIME.turned():
        yield
