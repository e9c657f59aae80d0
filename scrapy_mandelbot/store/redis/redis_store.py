"""A store on a Redis or Valkey server, for crawls on many machines.

It never keeps a crawl waiting: one thread sends commands, another receives the changes
of other crawls, and both report to the event loop. A server that is gone, slow, full or
a replica costs a warning, and the memory of this run until it can be used again.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from mandelbot.formatting import counted

from scrapy_mandelbot.store.contract import Lease, LiveStore
from scrapy_mandelbot.store.memory import MemoryStore
from scrapy_mandelbot.store.redis import scripts
from scrapy_mandelbot.store.redis.address import checked, connect, shown_address
from scrapy_mandelbot.store.redis.channel import ChannelListener
from scrapy_mandelbot.store.redis.wire import RedisOp, Wire
from scrapy_mandelbot.store.rows import NO_ROW_OF_OURS

if TYPE_CHECKING:
    from redis import Redis

    from scrapy_mandelbot.store.contract import CachedRobots, Listener, StoredPause
    from scrapy_mandelbot.store.redis.script import Script

logger = logging.getLogger(__name__)

# bytes of a site's name; a longer one is no host's, and stays in this run
LONGEST_NAME = 1_000
_ONE_CLOCK = 0.1  # seconds; clocks that differ by less are taken for one
_COMPLAINS_AFTER = 60.0  # seconds between warnings of a flapping server
_LISTED_AT_A_TIME = 100  # copies
_YEAR = 31_536_000.0  # seconds


class RedisStore(LiveStore):
    """The state of sites, shared by all workers that name one database of a server.

    `loop` returns a callable that runs a function in the current loop, from any thread.
    Without it, each question waits for its answer, as commands need. A cached file can
    be used for `keep_for` seconds after it was fetched. A `url` that names no server
    raises ValueError.
    """

    def __init__(
        self,
        url: str,
        loop: Callable[[], Callable[[Callable[[], None]], object]] | None = None,
        keep_for: float = _YEAR,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._url = checked(url, None if loop is None else scripts.PAUSES)
        self._connect = partial(connect, self._url)
        self._loop = loop
        self._in_loop: Callable[[Callable[[], None]], object] | None = None
        self._keep_for = keep_for
        self._now = now
        self._token = os.urandom(8).hex().encode()  # who this worker is, to the others
        # seconds by which the server's clock is ahead of the worker's
        self._ahead = 0.0
        self._memory = MemoryStore()  # copies that this run has found or put
        self._listener: Listener | None = None
        self._channel: ChannelListener | None = None
        self._complained_at = -inf
        self._is_closed = False
        self._wire = Wire(
            self._connect, scripts.SCRIPTS, self._joined, self._lost, self._found
        )

    def __repr__(self) -> str:
        return f"<RedisStore {shown_address(self._url)}>"

    def get_copy(self, site: str) -> CachedRobots | None:
        """Return the site's copy, however old; within a crawl, the last one found.

        A crawl looks it up by :meth:`find_copy`.
        """
        name = scripts.name_of(site)
        if self._loop is None and len(name) <= LONGEST_NAME:
            value = self._wire.answer_to(b"GET", lambda: (scripts.copy_key(name),))
            copy = self._read_copy(site, value)
            if copy is not None:
                return copy
        return self._memory.get_copy(site)

    def put_copy(self, site: str, copy: CachedRobots) -> None:
        self._memory.put_copy(site, copy)
        name = scripts.name_of(site)

        def arguments() -> tuple[Any, ...]:
            at = copy.fetched_at + self._ahead
            value = scripts.copy_value(copy, self._ahead)
            most = scripts.MOST_COPIES
            return (
                scripts.copy_key(name),
                scripts.COPIES,
                name,
                value,
                at,
                self._keep_for,
                most,
            )

        def on_answer(over: Any) -> None:
            if over:
                keys = tuple(map(scripts.copy_key, over[::2]))
                self._wire.send(RedisOp(b"DEL", lambda: keys))

        self._write(
            "copy", name, scripts.PUT_COPY, arguments, copy, len(copy.body), on_answer
        )

    def copies(self) -> Iterator[tuple[str, CachedRobots]]:
        names = self._wire.answer_to(b"ZRANGE", lambda: (scripts.COPIES, 0, -1))
        unsaved = {site.decode(): copy for site, copy in self._wire.kept("copy")}
        sites = sorted({*map(scripts.text_of, names or ()), *unsaved})
        for start in range(0, len(sites), _LISTED_AT_A_TIME):
            part = sites[start : start + _LISTED_AT_A_TIME]
            keys = tuple(scripts.copy_key(site.encode()) for site in part)
            values = self._wire.answer_to(b"MGET", partial(tuple, keys))
            for site, value in zip(part, values or [None] * len(part), strict=True):
                if site in unsaved:
                    copy = unsaved[site]
                else:
                    copy = self._read_copy(site, value)
                if copy is not None:
                    yield site, copy

    def drop_copy(self, site: str) -> None:
        """Delete the site's copy, in the memory of other workers too."""
        self._memory.drop_copy(site)
        name = scripts.name_of(site)
        keys = (scripts.copy_key(name), scripts.COPIES, scripts.NEWS)
        message = scripts.news(self._token, "drop", name)
        self._write(
            "copy", name, scripts.DROP_COPY, lambda: (*keys, name, message), None
        )

    def find_copy(
        self,
        site: str,
        fresh_since: float,
        lease_for: float,
        then: Callable[[CachedRobots | None, float], None],
    ) -> None:
        name = scripts.name_of(site)
        keys = (
            scripts.copy_key(name),
            scripts.lease_key(Lease.FETCH, name),
            scripts.COPIES,
        )

        def arguments() -> tuple[Any, ...]:
            since = fresh_since + self._ahead
            return (*keys, name, since, self._token, _milliseconds(lease_for))

        def on_answer(answer: Any) -> None:
            value, left = answer
            copy = self._read_copy(site, value)
            self._call_in_loop(lambda: found(copy, left / 1000))

        def found(copy: CachedRobots | None, left: float) -> None:
            if copy is not None:
                self._memory.put_copy(site, copy)
            then(copy, left)

        def on_failure() -> None:
            self._call_in_loop(lambda: then(self._memory.get_copy(site), 0.0))

        self._send(name, RedisOp(scripts.FIND_COPY, arguments, on_answer, on_failure))

    def get_pauses(self, after: float = -inf) -> dict[str, StoredPause]:
        values = self._wire.answer_to(
            scripts.GET_PAUSES, lambda: self._pauses_after(after)
        )
        pauses: dict[str, StoredPause | None] = dict(
            scripts.read_pauses(values or (), self._ahead)
        )
        pauses.update((key.decode(), pause) for key, pause in self._wire.kept("pause"))
        return {
            key: one
            for key, one in pauses.items()
            if one is not None and one.until > after
        }

    def put_pause(self, site: str, pause: StoredPause | None) -> None:
        name = scripts.name_of(site)

        def arguments() -> tuple[Any, ...]:
            until, value = scripts.pause_value(site, pause, self._ahead)
            message = scripts.news(self._token, "pause", name, value.decode() or None)
            keys = (scripts.PAUSES, scripts.PAUSE, scripts.NEWS)
            return (*keys, name, until, value, message, scripts.MOST_PAUSES)

        self._write("pause", name, scripts.PUT_PAUSE, arguments, pause)

    def get_turns(self, after: float) -> dict[str, float]:
        values = self._wire.answer_to(
            b"ZRANGEBYSCORE", lambda: self._turns_after(after)
        )
        turns = scripts.read_turns(values or (), self._ahead)
        turns.update((name.decode(), due) for name, due in self._wire.kept("turn"))
        return {name: due for name, due in turns.items() if due > after}

    def put_turn(self, site: str, due: float) -> None:
        name = scripts.name_of(site)

        def arguments() -> tuple[Any, ...]:
            at = due + self._ahead
            message = scripts.news(self._token, "turn", name, at)
            return (scripts.TURNS, scripts.NEWS, name, at, message, scripts.MOST_TURNS)

        self._write("turn", name, scripts.PUT_TURN, arguments, due)

    def announce_waiting(self, site: str) -> None:
        message = scripts.news(self._token, "waits", scripts.name_of(site))
        self._wire.send(RedisOp(b"PUBLISH", lambda: (scripts.NEWS, message)))

    def claim(
        self,
        lease: Lease,
        key: str,
        lease_for: float,
        then: Callable[[float], None],
        longest_wait: float = inf,
    ) -> None:
        name = scripts.name_of(key)
        due = scripts.PAUSES if lease is Lease.PROBE else scripts.TURNS
        keys = (scripts.lease_key(lease, name), due)

        longest = min(longest_wait, scripts.FAR)
        arguments = (*keys, name, self._token, _milliseconds(lease_for), longest)

        def on_answer(answer: Any) -> None:
            self._call_in_loop(lambda: then(answer / 1000))

        self._send(
            name,
            RedisOp(scripts.CLAIM, lambda: arguments, on_answer, lambda: on_answer(0)),
        )

    def release(self, lease: Lease, key: str, keep_for: float = 0.0) -> None:
        name = scripts.lease_key(lease, scripts.name_of(key))
        arguments = (name, self._token, _milliseconds(keep_for))
        self._wire.send(RedisOp(scripts.RELEASE, lambda: arguments))

    def get_run(self, spider: str) -> float | None:
        name = scripts.name_of(spider)
        if (unsaved := dict(self._wire.kept("run")).get(name)) is not None:
            return float(unsaved)
        value = self._wire.answer_to(b"GET", lambda: (scripts.run_key(name),))
        with suppress(*NO_ROW_OF_OURS):
            return float(value) - self._ahead
        return None

    def put_run(self, spider: str, began_at: float) -> None:
        name = scripts.name_of(spider)

        def arguments() -> tuple[Any, ...]:
            return (
                scripts.run_key(name),
                began_at + self._ahead,
                b"EX",
                scripts.RUN_FOR,
            )

        self._write("run", name, b"SET", arguments, began_at)

    def listen(self, listener: Listener) -> None:
        self._join_loop()
        self._listener = listener
        self._channel = ChannelListener(
            self._connect, scripts.NEWS, self._read_all, self._receive
        )
        self._channel.start()

    def close(self) -> None:
        """Write what is unsaved, within two seconds, and disconnect."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._channel is not None:
            self._channel.end()
            bye = scripts.news(self._token, "bye", b"")  # which its thread waits for
            self._wire.send(RedisOp(b"PUBLISH", lambda: (scripts.NEWS, bye)))
        left = self._wire.close()
        if self._channel is not None:
            self._channel.close()
        self._memory.close()
        if left:
            logger.warning(
                "Could not write %s to %s",
                counted(left, "value"),
                shown_address(self._url),
            )

    def _receive(self, message: bytes) -> None:
        try:
            sender, kind, name, detail = scripts.read_news(message, self._ahead)
        except NO_ROW_OF_OURS as error:
            logger.debug(
                "A message in %s cannot be read: %s", shown_address(self._url), error
            )
            return
        if sender == self._token:
            return
        if kind == "drop":
            self._call_in_loop(lambda: self._memory.drop_copy(name))
        elif kind == "waits":
            self._notify(lambda listener: listener.waiting_stored(name))
        elif kind == "turn":
            self._notify(lambda listener: listener.turn_stored(name, detail))
        elif kind == "pause":
            self._notify(lambda listener: listener.pause_stored(name, detail))

    def _read_all(self) -> None:
        def pauses_read(values: Any) -> None:
            pauses = scripts.read_pauses(values, self._ahead)

            def turns_read(values: Any) -> None:
                turns = scripts.read_turns(values, self._ahead)
                self._notify(lambda listener: listener.all_stored(pauses, turns))

            self._wire.send(
                RedisOp(
                    b"ZRANGEBYSCORE", lambda: self._turns_after(self._now()), turns_read
                )
            )

        self._wire.send(
            RedisOp(
                scripts.GET_PAUSES, lambda: self._pauses_after(self._now()), pauses_read
            )
        )

    def _pauses_after(self, moment: float) -> tuple[Any, ...]:
        return scripts.PAUSES, scripts.PAUSE, moment + self._ahead

    def _turns_after(self, moment: float) -> tuple[Any, ...]:
        return scripts.TURNS, f"({moment + self._ahead}", "+inf", b"WITHSCORES"

    def _send(self, name: bytes, command: RedisOp) -> None:
        self._join_loop()
        if len(name) <= LONGEST_NAME:
            self._wire.send(command)
        elif command.on_failure is not None:
            command.on_failure()

    def _write(  # noqa: PLR0913, PLR0917 -- what a command is made of
        self,
        kind: str,
        name: bytes,
        what: Script | bytes,
        arguments: Callable[[], tuple[Any, ...]],
        value: Any,
        size: int = 0,
        on_answer: Callable[[Any], None] | None = None,
    ) -> None:
        if len(name) <= LONGEST_NAME:
            self._wire.write(
                RedisOp(what, arguments, on_answer, None, (kind, name), value, size)
            )

    def _join_loop(self) -> None:
        """Note which loop runs the crawl; whoever listens and asks does so in it."""
        if self._in_loop is None and self._loop is not None:
            self._in_loop = self._loop()

    def _call_in_loop(self, call: Callable[[], None]) -> None:
        """Schedule a call in the event loop, unless the crawl is over."""
        if self._in_loop is None or self._is_closed:
            return

        def unless_closed() -> None:
            if not self._is_closed:
                call()

        with suppress(RuntimeError):  # the loop has ended
            self._in_loop(unless_closed)

    def _notify(self, call: Callable[[Listener], None]) -> None:
        listener = self._listener
        if listener is not None:
            self._call_in_loop(lambda: call(listener))

    def _joined(self, client: Redis) -> None:
        before = self._now()
        seconds, microseconds = client.time()
        after = self._now()
        # the server read its clock anywhere in the trip
        half_trip = (after - before) / 2
        ahead = seconds + microseconds / 1e6 - before - half_trip
        self._ahead = 0.0 if abs(ahead) < _ONE_CLOCK + half_trip else ahead

    def _found(self) -> None:
        logger.info(
            "What is known of sites is shared again: %s", shown_address(self._url)
        )
        if self._channel is not None:
            self._channel.reconnect()
            self._read_all()

    def _lost(self, error: Exception) -> None:
        now = time.monotonic()
        if now - self._complained_at >= _COMPLAINS_AFTER:
            self._complained_at = now
            logger.warning(
                "What is known of sites is kept in the memory of this run only%s:"
                " %s: %s",
                " until their store can be used again",
                shown_address(self._url),
                error,
            )

    def _read_copy(self, site: str, value: Any) -> CachedRobots | None:
        if value is None:
            return None
        try:
            return scripts.read_copy(value, self._ahead)
        except NO_ROW_OF_OURS as error:
            logger.debug("The copy of %s in %r cannot be read: %s", site, self, error)
            return None


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
