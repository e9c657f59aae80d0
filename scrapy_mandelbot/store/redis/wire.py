"""The thread in which a crawl talks to Redis, and a store's commands in it."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from redis.exceptions import (
    BusyLoadingError,
    ConnectionError,  # noqa: A004 -- Redis' own
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError,  # noqa: A004 -- Redis' own
)

from scrapy_mandelbot.store.redis.thread import RedisThread

if TYPE_CHECKING:
    from redis import Redis

    from scrapy_mandelbot.store.redis.script import Script

logger = logging.getLogger(__name__)


_TRY_AGAIN_AFTER = 1.0  # seconds, where the server cannot be reached
# seconds after which it is tried again to write to a server that takes no more
_FULL_FOR = 10.0
_WAITS_FOR = 2.5  # seconds that a crawl waits for an answer before it begins
_CLOSES_FOR = 2.5  # seconds that the end of a crawl waits for what is to be written
_MOST_KEPT = 100_000  # values that wait for the server
_MOST_BYTES_KEPT = 64 * 1024 * 1024  # bytes of them
_MOST_AT_A_TIME = 200

_UNREACHABLE = (ConnectionError, TimeoutError, BusyLoadingError, ReadOnlyError, OSError)
_GOES_AWAY = ("READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "NOAUTH")
_TAKES_NO_MORE = ("OOM", "OUTOFMEMORY", "MISCONF", "NOREPLICAS")


class RedisOp(NamedTuple):
    """A command for the server."""

    what: Script | bytes
    # called late: the server's clock is known only then
    arguments: Callable[[], tuple[Any, ...]]
    # called with the answer, in the thread
    on_answer: Callable[[Any], None] | None = None
    # where there is no answer, in any thread
    on_failure: Callable[[], None] | None = None
    key: Hashable = None
    """Of a write: it is kept until the server has it, or another write of this key
    replaces it.
    """
    value: Any = None  # of a write, for reads meanwhile
    size: int = 0  # bytes, of a write


class Wire:
    """Sends commands in its own thread: the crawl never waits for the server.

    Commands are sent in order, all that have collected at a time. While the server is
    unreachable, queries fail at once, and the last write of each key waits.

    `connect` returns a client that waits for a bounded time and does not retry. The
    thread calls `joined` with each new client, when it has reached the server; `lost`
    with the error, when the server is unreachable or refuses writes; `found` when it
    works again.
    """

    def __init__(
        self,
        connect: Callable[[], Redis],
        scripts: Sequence[Script],
        joined: Callable[[Redis], None],
        lost: Callable[[Exception], None],
        found: Callable[[], None],
    ) -> None:
        self._connect = connect
        self._scripts = scripts
        self._joined = joined
        self._lost = lost
        self._found = found
        self._client: Redis | None = None
        self._lock = threading.Lock()
        self._queue: deque[RedisOp] = deque()
        self._kept: OrderedDict[Hashable, RedisOp] = OrderedDict()
        self._kept_bytes = 0
        self._thread = RedisThread("mandelbot-redis", self._until_next_try, self._flush)
        self._is_closing = False
        self._is_down = False
        self._is_full = False
        self._try_again_at = 0.0

    def send(self, command: RedisOp) -> None:
        """Send a query. While the server is unreachable it fails at once."""
        with self._lock:
            is_vain = self._is_down or self._is_closing
            if not is_vain:
                self._queue.append(command)
        if not is_vain:
            self._thread.put(self._flush)
        elif command.on_failure is not None:
            command.on_failure()

    def write(self, command: RedisOp) -> None:
        """Write a value, as soon as the server can be reached."""
        with self._lock:
            if self._is_closing:
                return
            old = self._kept.pop(command.key, None)
            self._kept[command.key] = command
            self._kept_bytes += command.size
            if old is not None:
                self._kept_bytes -= old.size
            while len(self._kept) > _MOST_KEPT or self._kept_bytes > _MOST_BYTES_KEPT:
                _, dropped = self._kept.popitem(last=False)
                self._kept_bytes -= dropped.size
            if not self._is_down:
                self._queue.append(command)
        self._thread.put(self._flush)

    def answer_to(
        self, what: Script | bytes, arguments: Callable[[], tuple[Any, ...]]
    ) -> Any:
        """Send a query and wait for its answer, for a bounded time.

        None: there is none.
        """
        answers: SimpleQueue[Any] = SimpleQueue()
        self.send(RedisOp(what, arguments, answers.put, lambda: answers.put(None)))
        try:
            return answers.get(timeout=_WAITS_FOR)
        except Empty:
            return None

    def kept(self, kind: str) -> list[tuple[Any, Any]]:
        """Return the unsent writes of a kind: keys and values."""
        with self._lock:
            commands = list(self._kept.items())
        return [(key[1], one.value) for key, one in commands if key[0] == kind]  # type: ignore[index]

    def close(self) -> int:
        """Send what is left, for a bounded time; end; return how much is unsent."""
        with self._lock:
            self._is_closing = True
        self._thread.end(self._release, _CLOSES_FOR)
        with self._lock:
            left = len(self._kept)
            self._kept.clear()
            return left

    def _release(self) -> None:
        self._flush()
        if self._client is not None:
            self._client.close()

    def _until_next_try(self) -> float | None:
        at = self._try_again_at
        return max(0.0, at - time.monotonic()) if at else None

    def _flush(self) -> None:
        while (batch := self._next_batch()) is not None:
            try:
                self._send_batch(batch)  # which takes from it what is answered
            except _UNREACHABLE as error:  # noqa: PERF203 -- each batch by itself
                self._go_down(error, batch)
            except Exception as error:  # whatever the client raises, the thread goes on
                logger.exception("A command to Redis has failed")
                self._go_down(error, batch)

    def _next_batch(self) -> deque[RedisOp] | None:
        """Take the next commands; an empty batch connects, None waits."""
        with self._lock:
            if (
                self._try_again_at
                and not self._until_next_try()
                and not self._is_closing
            ):
                self._try_again_at = 0.0
                if self._is_down:
                    return deque()
                self._queue.extend(self._kept.values())
            if self._is_down or not self._queue:
                return None
            count = min(len(self._queue), _MOST_AT_A_TIME)
            return deque(self._queue.popleft() for _ in range(count))

    def _send_batch(self, batch: deque[RedisOp]) -> None:
        client = self._client
        if client is None:
            client = self._connect()
            try:
                self._join(client)
            except BaseException:
                client.close()
                raise
            self._client = client
        for answer in self._answers(client, batch):
            if _is_of(answer, _GOES_AWAY) or isinstance(answer, _UNREACHABLE):
                raise ConnectionError(str(answer)) from answer
            if isinstance(answer, Exception):
                self._refused(batch[0], answer)
            else:
                self._answered(batch[0], answer)
            batch.popleft()  # nobody else answers it

    def _answered(self, command: RedisOp, answer: Any) -> None:
        self._done(command)
        if command.key is not None and self._is_full:
            self._is_full = False
            self._found()
        if command.on_answer is not None:
            command.on_answer(answer)

    def _refused(self, command: RedisOp, error: Exception) -> None:
        self._lost(error)
        if not _is_of(error, _TAKES_NO_MORE):
            self._done(command)  # it would fail for ever
        elif command.key is not None:
            self._is_full = True
            self._try_again_at = time.monotonic() + _FULL_FOR
        if command.on_failure is not None:
            command.on_failure()

    def _answers(self, client: Redis, batch: Sequence[RedisOp]) -> list[Any]:
        if not batch:
            return []
        pipe = client.pipeline(transaction=False)
        for command in batch:
            pipe.execute_command(*_line(command))
        answers: list[Any] = pipe.execute(raise_on_error=False)
        if any(_is_of(one, ("NOSCRIPT",)) for one in answers):
            self._load(client)  # the server has been restarted in between
            for number, command in enumerate(batch):
                if _is_of(answers[number], ("NOSCRIPT",)):
                    try:
                        answers[number] = client.execute_command(*_line(command))
                    except ResponseError as error:
                        answers[number] = error
        return answers

    def _join(self, client: Redis) -> None:
        try:
            self._load(client)
            self._joined(client)
        except _UNREACHABLE:
            raise
        # a server that refuses us, and may do so no more later
        except RedisError as error:
            raise ConnectionError(str(error)) from error
        with self._lock:
            was_down = self._is_down
            self._is_down = False
            if was_down:  # writes made meanwhile go first, in their order
                self._queue.extendleft(reversed(self._kept.values()))
        if was_down:
            self._found()

    def _load(self, client: Redis) -> None:
        for script in self._scripts:
            client.script_load(script.text)

    def _done(self, command: RedisOp) -> None:
        if command.key is None:
            return
        with self._lock:
            if self._kept.get(command.key) is command:
                del self._kept[command.key]
                self._kept_bytes -= command.size

    def _go_down(self, error: Exception, batch: deque[RedisOp]) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
        with self._lock:
            was_down = self._is_down
            self._is_down = True
            self._try_again_at = time.monotonic() + _TRY_AGAIN_AFTER
            unanswered = [*batch, *self._queue]
            self._queue.clear()
        if not was_down:
            self._lost(error)
        for command in unanswered:
            if command.on_failure is not None:
                command.on_failure()


def _line(command: RedisOp) -> tuple[Any, ...]:
    what = command.what
    if isinstance(what, bytes):
        return (what, *command.arguments())
    return ("EVALSHA", what.digest, what.keys, *command.arguments())


def _is_of(answer: Any, kinds: tuple[str, ...]) -> bool:
    # Of these kinds, also within the text of a script's error.
    if not isinstance(answer, RedisError):
        return False
    text = f"{type(answer).__name__} {answer}".upper()
    return any(kind in text for kind in kinds)
