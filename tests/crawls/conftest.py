"""What tests of whole crawls share."""

from __future__ import annotations

from weakref import WeakSet

import pytest
from loop_time import TIME
from resolver import the_resolver  # noqa: F401 - a fixture
from scrapy.utils.reactor import is_asyncio_reactor_installed

SETTLES = 0.002  # seconds of the machine in which nothing happens before time jumps
# times that nothing has come in such a while; what has not is not on its way
SILENT_AFTER = 150


class OnItsWay:
    """Tells whether bytes are between a crawl and a site of this process, or may be.

    A busy machine may bring them late, and a time that jumped meanwhile would be that
    of a slow site. A request that no site holds back is on its way, unless nothing
    comes for long: its site is silent, or not of this process. How long is counted in
    looks, not seconds: the whole process may stand still, and has looked at nothing
    then.
    """

    def __init__(self) -> None:
        self._silent: WeakSet = WeakSet()
        self._awaited: set[int] = set()
        self._looks = 0

    def __call__(self) -> bool:
        from crawling import transferring  # once there is a reactor
        from webs import held_back

        sent = [request for request in transferring() if request not in self._silent]
        awaited = {id(request) for request in sent}
        is_on_its_way = len(sent) > held_back()
        self._looks = (
            self._looks + 1 if is_on_its_way and awaited == self._awaited else 0
        )
        self._awaited = awaited
        if self._looks > SILENT_AFTER:
            self._silent.update(sent)
        return is_on_its_way


@pytest.fixture(autouse=True)
def no_name_is_looked_up(resolver):
    """Of the machine's own resolver nothing is asked twice."""


def no_thread_works() -> bool:
    """Whether nothing is looked up, or read, beside the loop."""
    from twisted.internet import reactor

    return not (reactor.threadpool and reactor.threadpool.working)


@pytest.fixture
def loop_is_turned():
    """Let the loop's time jump over waits, and bytes go from hand to hand.

    Not where another process has a part in the test. Sites run in the same loop, on a
    network in memory: only a timer is waited for.
    """
    # others do not say whether something has happened
    if not is_asyncio_reactor_installed():
        yield
        return
    from memory_net import MemoryNetwork
    from twisted.internet import reactor

    with MemoryNetwork(reactor).carried(), TIME.turned(no_thread_works):
        yield


@pytest.fixture
def sockets_are_turned():
    """The same for handlers that open sockets by themselves, past the reactor."""
    if not is_asyncio_reactor_installed():
        yield
        return
    on_its_way = OnItsWay()

    def only_time_is_waited_for():
        return no_thread_works() and not on_its_way()

    with TIME.turned(only_time_is_waited_for, SETTLES):
        yield
