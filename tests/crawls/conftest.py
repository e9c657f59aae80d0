"""Crawls whose waits cost no time, but where other processes have a part in them."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from loops import TIME, can_be_turned


@pytest.fixture(autouse=True)
def _loop_is_turned(request):
    """Have the loop's time jump over waits."""
    is_alone = request.node.get_closest_marker("other_processes") is None
    with TIME.turned() if is_alone and can_be_turned() else nullcontext():
        yield
