"""Whether a name does not exist, or only could not be looked up. Loaded when needed.

Twisted says of both that the lookup failed. Of a name that does not exist nothing is
waited for, as in stock Scrapy. What could not be looked up may be there in a moment:

======================================  ========================  ======================
what the resolver says                  the machine               the name
======================================  ========================  ======================
EAI_NONAME, EAI_NODATA, each time       has a way out             does not exist
the same                                has no route to any       may exist
                                        public network
EAI_AGAIN, EAI_FAIL, any other error    any                       may exist
an address                              any                       exists: try again
nothing within five seconds             any                       may exist
======================================  ========================  ======================

The second row is for resolvers that say EAI_NONAME of all names while the machine is
offline, as those of macOS and Windows do, and glibc's without ``dns`` in nsswitch.conf.
Whether there is a route is asked of the kernel: a UDP socket is connected, and nothing
is sent. While the crawl is known to be cut off, nobody asks at all (`Crawl`).
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING

from mandelbot.answers.failures import causes_of
from scrapy.resolver import CachingHostnameResolver, CachingThreadedResolver
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.misc import load_object
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_mandelbot.clock import Clock

AT_ONCE = 2
"""Questions that are asked at once; the others wait in line."""
LONGEST = 5.0
"""Seconds for which an answer is waited for, in line and out of it."""
QUESTIONS = 2
"""As often in a row the resolver has to say it: one of its servers may be wrong."""
_DOES_NOT_EXIST = frozenset(
    getattr(socket, name)
    for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY")
    if hasattr(socket, name)
)
_ELSEWHERE = (  # in networks for documentation: RFC 5737, RFC 3849
    (socket.AF_INET, "192.0.2.1"),
    (socket.AF_INET6, "2001:db8::1"),
)
_ANY_PORT = 9
_SCRAPYS = (CachingThreadedResolver, CachingHostnameResolver)


def has_route() -> bool:
    """Return whether this machine has a route to public addresses. Sends nothing."""
    for family, address in _ELSEWHERE:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as unsent:
            unsent.connect((address, _ANY_PORT))
            return True
    return False


def look_up(host: str, family: int) -> int:
    """Return the resolver's error for a name; 0: it has an address."""
    try:
        socket.getaddrinfo(host, None, family, socket.SOCK_STREAM)
    except socket.gaierror as error:
        return error.errno or socket.EAI_FAIL
    except (OSError, UnicodeError):
        return socket.EAI_FAIL
    return 0


def _said(error: BaseException | None) -> int | None:
    """Return what the resolver said, if an error or its causes still know it."""
    if error is None:
        return None
    for one in causes_of(error):
        if isinstance(one, socket.gaierror):
            return one.errno
    return None


def _family(settings: BaseSettings) -> socket.AddressFamily | None:
    """Return the addresses that Scrapy looks up; None: the project has a resolver."""
    # The latter is newer; get() warns of the former, also where nobody has set it.
    named = settings["DNS_RESOLVER"], settings["TWISTED_DNS_RESOLVER"]
    chosen = [load_object(one) for one in named if one is not None]
    if all(one is CachingThreadedResolver for one in chosen):
        return socket.AF_INET
    if all(one in _SCRAPYS for one in chosen):
        return socket.AF_UNSPEC
    return None


def _answer(question: Deferred[bool | None], *, is_denied: bool | None) -> None:
    if not question.called:  # it may be too late, or the request was cancelled
        question.callback(is_denied)


class HostNames:
    """Asks the resolver about names that Scrapy could not look up.

    In threads of its own, which end with the process: one that hangs in the resolver
    takes none of Scrapy's threads, and does not hold up the end of the crawl.
    """

    def __init__(self, settings: BaseSettings, clock: Clock) -> None:
        self._clock = clock
        self._family = _family(settings)
        self._waiting: deque[tuple[str, Deferred[bool | None]]] = deque()
        self._asking = 0  # threads

    async def is_denied(self, host: str, error: BaseException | None) -> bool:
        """Return whether no host has this name.

        `error`: that of the lookup. Some libraries keep what the resolver said.
        """
        said = _said(error)
        if said is not None:
            is_denied = said in _DOES_NOT_EXIST
        elif self._family is not None:
            is_denied = await self._resolve(host)
        else:
            is_denied = False
        return is_denied and has_route()

    async def _resolve(self, host: str) -> bool:
        question: Deferred[bool | None] = Deferred()
        self._waiting.append((host, question))
        too_late = self._clock.call_later(
            LONGEST, partial(_answer, question, is_denied=None)
        )
        self._ask_next()
        said: bool | None = False
        try:
            said = await maybe_deferred_to_future(question)
        finally:
            if said is not None:  # it has not rung
                too_late.cancel()
        return bool(said)

    def _ask_next(self) -> None:
        while self._waiting and self._asking < AT_ONCE:
            host, question = self._waiting.popleft()
            if question.called:
                continue
            self._asking += 1
            ask = partial(self._in_thread, host, question, self._clock.loop())
            Thread(target=ask, name="mandelbot-host-name", daemon=True).start()

    def _in_thread(
        self,
        host: str,
        question: Deferred[bool | None],
        in_loop: Callable[..., object],
    ) -> None:
        family = self._family or socket.AF_UNSPEC
        is_denied = all(
            look_up(host, family) in _DOES_NOT_EXIST for _ in range(QUESTIONS)
        )
        answered = partial(self._receive, question, is_denied=is_denied)
        with suppress(RuntimeError):  # the loop is closed: the crawl has ended
            in_loop(answered)

    def _receive(self, question: Deferred[bool | None], *, is_denied: bool) -> None:
        self._asking -= 1
        _answer(question, is_denied=is_denied)
        self._ask_next()
