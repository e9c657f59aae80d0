"""The clock that skips waits: no timer rings before its time."""

from __future__ import annotations

import pytest
from crawling import ensureDeferred
from loop_time import TIME
from scrapy.utils.reactor import is_asyncio_reactor_installed
from twisted.internet.defer import Deferred


@pytest.mark.usefixtures("loop_is_turned")
@ensureDeferred
async def test_where_time_jumps_no_timer_rings_before_its_time():
    """Seconds since the epoch are told apart by 0.2 microseconds; a site's limit is
    exact.
    """
    if not is_asyncio_reactor_installed():
        pytest.skip("only asyncio's time is turned")
    late = []
    for _ in range(300):
        rings: Deferred[None] = Deferred()
        began, due = TIME.elapsed(), TIME.now() + 1 / 3
        TIME.call_later(due - TIME.now(), rings.callback, None)
        await rings
        late.append(TIME.elapsed() - began - 1 / 3)
    assert 0 <= min(late) <= max(late) < 1e-5
