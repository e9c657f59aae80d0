"""What tests of whole crawls share."""

from __future__ import annotations

import time
from weakref import WeakSet

import pytest
from scrapy.utils.reactor import is_asyncio_reactor_installed

from scrapy_mandelbot.testing import TIME

SETTLES = 0.0003  # seconds of the machine in which nothing happens before time jumps
SILENT_AFTER = 0.3  # seconds of it; what has not come by then is not on its way


class OnItsWay:
    """Tells whether bytes are between a crawl and a site of this process, or may be.

    A busy machine may bring them late, and a time that jumped meanwhile would be that of a slow
    site. A request that no site holds back is on its way, unless nothing comes for long: its site
    is silent, or not of this process.
    """

    def __init__(self) -> None:
        self._silent: WeakSet = WeakSet()
        self._awaited: set[int] = set()
        self._since = 0.0

    def __call__(self) -> bool:
        from crawling import transferring  # once there is a reactor
        from webs import held_back

        sent = [request for request in transferring() if request not in self._silent]
        if len(sent) <= held_back():
            self._awaited = set()
            return False
        if self._awaited != (awaited := {id(request) for request in sent}):
            self._awaited, self._since = awaited, time.monotonic()
        elif time.monotonic() > self._since + SILENT_AFTER:
            self._silent.update(sent)
        return True


@pytest.fixture
def loop_is_turned():
    """Have the loop's time jump over waits. Not where another process has a part in the test.

    Sites run in the same loop: time goes on while they are waited for, too.
    """
    if not is_asyncio_reactor_installed():  # others do not say whether something has happened
        yield
        return
    from twisted.internet import reactor

    on_its_way = OnItsWay()

    def only_time_is_waited_for():
        a_thread_works = reactor.threadpool and reactor.threadpool.working
        return not a_thread_works and not on_its_way()

    with TIME.turned(only_time_is_waited_for, SETTLES):
        yield
