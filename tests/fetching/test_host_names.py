"""Whether the resolver denies a name, or only cannot say anything now."""

from __future__ import annotations

import socket

import pytest
from crawling import ensureDeferred
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.error import DNSLookupError
from twisted.internet.task import deferLater

from scrapy_mandelbot.fetching import host_names
from scrapy_mandelbot.fetching.host_names import AT_ONCE, LONGEST, QUESTIONS, HostNames

LOOKUP_FAILED = DNSLookupError("no results for hostname lookup: no.invalid.")
EXIST_NOT = ["EAI_NONAME", "EAI_NODATA"]
MAY_EXIST = ["EAI_AGAIN", "EAI_FAIL", "EAI_FAMILY"]


@pytest.fixture(autouse=True)
def route(monkeypatch):
    """Whether this machine has one; no socket is opened."""
    there = [True]
    monkeypatch.setattr(host_names, "has_route", lambda: there[0])
    return there


@pytest.fixture(autouse=True)
def threads(monkeypatch):
    """What threads would do; each is done when it is started, unless told otherwise."""
    monkeypatch.setattr(host_names, "Thread", Started)
    Started.waiting = None
    return Started


class Started:
    """A thread."""

    waiting: list | None = None
    """What those that were started wait to do."""

    def __init__(self, *, target, daemon, **_):
        assert daemon, "it ends with the process"
        self._target = target

    def start(self):
        if Started.waiting is None:
            self._target()
        else:
            Started.waiting.append(self._target)


def says(monkeypatch, *errors):
    """Let the resolver say these, one after the other; the last one for ever."""
    left = list(errors)
    asked = []

    def getaddrinfo(host, _port, family, _kind):
        asked.append((host, family))
        error = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(error, str):
            raise socket.gaierror(getattr(socket, error), error)
        if error is not None:
            raise error
        return []

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


async def ask(clock, settings=None, error=LOOKUP_FAILED):
    names = HostNames(Settings(settings), clock)
    asking = deferred_from_coro(names.is_denied("no.invalid", error))
    await settle()
    clock.call_from_threads()
    is_denied = await asking
    clock.assert_nothing_left()
    return is_denied


async def settle():
    """Let the loop turn, so that what has been asked is under way."""
    from twisted.internet import reactor

    for _ in range(3):
        await deferLater(reactor, 0)


@pytest.mark.parametrize("error", EXIST_NOT)
@ensureDeferred
async def test_a_name_is_denied_where_the_resolver_says_so_twice(
    clock, monkeypatch, error
):
    asked = says(monkeypatch, error)
    assert await ask(clock) is True
    assert asked == 2 * [("no.invalid", socket.AF_INET)]


@pytest.mark.parametrize("error", [*MAY_EXIST, None, UnicodeError(), OSError()])
@ensureDeferred
async def test_no_other_word_of_the_resolver_denies_a_name(clock, monkeypatch, error):
    says(monkeypatch, error)
    assert await ask(clock) is False


@ensureDeferred
async def test_one_server_of_a_resolver_alone_denies_no_name(clock, monkeypatch):
    says(monkeypatch, "EAI_NONAME", None)
    assert await ask(clock) is False


@ensureDeferred
async def test_a_machine_without_a_route_believes_no_denial(clock, monkeypatch, route):
    """Some resolvers deny all names while the machine is offline."""
    route[0] = False
    says(monkeypatch, "EAI_NONAME")
    assert await ask(clock) is False


@pytest.mark.parametrize("error", [*EXIST_NOT, *MAY_EXIST])
@ensureDeferred
async def test_what_a_library_kept_of_the_resolvers_answer_is_not_asked_again(
    clock, monkeypatch, error
):
    asked = says(monkeypatch, "EAI_AGAIN")
    failed = DNSLookupError("no.invalid")
    failed.__cause__ = socket.gaierror(getattr(socket, error), error)
    assert await ask(clock, error=failed) is (error in EXIST_NOT)
    assert asked == []


@ensureDeferred
async def test_addresses_are_of_the_kind_that_scrapy_looks_up(clock, monkeypatch):
    asked = says(monkeypatch, "EAI_NONAME")
    resolver = "scrapy.resolver.CachingHostnameResolver"
    assert await ask(clock, {"DNS_RESOLVER": resolver}) is True
    assert {family for _, family in asked} == {socket.AF_UNSPEC}


class OwnResolver:
    """A resolver of a project, such as one that asks over HTTPS."""


@ensureDeferred
async def test_where_the_project_has_a_resolver_the_machines_is_not_asked(
    clock, monkeypatch
):
    asked = says(monkeypatch, "EAI_NONAME")
    assert await ask(clock, {"DNS_RESOLVER": OwnResolver}) is False
    assert asked == []


@ensureDeferred
async def test_a_resolver_that_hangs_is_not_waited_for_and_holds_nothing_up(
    clock, monkeypatch, threads
):
    threads.waiting = []
    asked = says(monkeypatch, "EAI_NONAME")
    names = HostNames(Settings(), clock)
    asking = [
        deferred_from_coro(names.is_denied(f"no{number}.invalid", LOOKUP_FAILED))
        for number in range(AT_ONCE + 1)
    ]
    await settle()
    assert len(threads.waiting) == AT_ONCE
    clock.turn(LONGEST)
    for one in asking:
        assert await one is False
    threads.waiting[0]()
    clock.call_from_threads()
    assert len(threads.waiting) == AT_ONCE, "what is too late is asked no more"
    assert len(asked) == QUESTIONS


@ensureDeferred
async def test_an_answer_after_the_end_of_the_loop_is_dropped(
    clock, monkeypatch, threads
):
    def closed(_call):
        raise RuntimeError("Event loop is closed")

    threads.waiting = []
    monkeypatch.setattr(clock, "loop", lambda: closed)
    says(monkeypatch, "EAI_NONAME")
    names = HostNames(Settings(), clock)
    asking = deferred_from_coro(names.is_denied("no.invalid", LOOKUP_FAILED))
    await settle()
    threads.waiting[0]()
    clock.turn(LONGEST)
    assert await asking is False


def test_whether_there_is_a_route_is_asked_without_sending(monkeypatch):
    """A datagram socket is connected, which the kernel alone answers."""
    monkeypatch.undo()
    connected = []

    class Unsent:
        def __init__(self, family, kind):
            assert kind == socket.SOCK_DGRAM
            self.family = family

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def connect(self, address):
            connected.append(address)
            if self.family == socket.AF_INET:
                raise OSError("Network is unreachable")

    monkeypatch.setattr(socket, "socket", Unsent)
    assert host_names.has_route()
    assert [host for host, _ in connected] == ["192.0.2.1", "2001:db8::1"]


@pytest.mark.filterwarnings("error::scrapy.exceptions.ScrapyDeprecationWarning")
def test_a_project_that_sets_no_resolver_is_warned_of_none(clock):
    HostNames(Settings(), clock)
