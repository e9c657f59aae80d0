"""Receives a channel's messages in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redis.exceptions import RedisError

if TYPE_CHECKING:
    from redis import Redis


_LOOKS_UP_AFTER = 0.5  # seconds without a message, to see whether it is all over
_ASKS_AFTER = 5.0  # seconds without a message, to see whether the server is there
_GONE_AFTER = 10.0  # seconds without any answer
_LISTEN_AGAIN_AFTER = 1.0  # seconds


class ChannelListener:
    """Receives a channel's messages in its own thread.

    `began` is called in the thread on each subscription, before which messages may have
    been missed; `on_answer` with each message.
    """

    def __init__(
        self,
        connect: Callable[[], Redis],
        channel: bytes,
        began: Callable[[], None],
        on_answer: Callable[[bytes], None],
    ) -> None:
        self._connect = connect
        self._channel = channel
        self._began = began
        self._answered = on_answer
        self._is_over = threading.Event()
        self._is_to_move = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="mandelbot-news", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def reconnect(self) -> None:
        """Connect anew: the server's name may point to another machine by now."""
        self._is_to_move.set()

    def end(self) -> None:
        """Stop after one more message."""
        self._is_over.set()

    def close(self) -> None:
        """Wait for the end of the thread, which is half a second away at most."""
        self._thread.join(2 * _LOOKS_UP_AFTER)

    def _run(self) -> None:
        while not self._is_over.is_set():
            try:
                self._receive()
            except (RedisError, OSError):  # noqa: PERF203 -- the other thread warns
                self._is_over.wait(_LISTEN_AGAIN_AFTER)

    def _receive(self) -> None:
        self._is_to_move.clear()
        client = self._connect()
        try:
            with client.pubsub() as pubsub:
                pubsub.subscribe(self._channel)
                heard_at = time.monotonic()
                asked_at = heard_at
                while not (self._is_over.is_set() or self._is_to_move.is_set()):
                    message: dict[str, Any] | None = pubsub.get_message(
                        timeout=_LOOKS_UP_AFTER
                    )
                    now = time.monotonic()
                    if message is not None:
                        asked_at = now
                        heard_at = now
                        if message["type"] == "subscribe":
                            self._began()
                        elif message["type"] == "message":
                            self._answered(message["data"])
                    elif now - heard_at > _GONE_AFTER:
                        raise OSError("the server says nothing any more")
                    elif now - asked_at > _ASKS_AFTER:
                        asked_at = now
                        pubsub.ping()
        finally:
            client.close()
