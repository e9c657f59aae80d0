"""A thread for calls that block: to the server of a job."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue


class RedisThread:
    """Makes calls one after the other, in a thread that starts with the first of them.

    When no call has come for as long as `silence` returns, `on_silence` is called in
    their place. None of them may raise.
    """

    def __init__(
        self,
        name: str,
        silence: Callable[[], float | None],
        on_silence: Callable[[], object],
    ) -> None:
        self._silence = silence
        self._on_silence = on_silence
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._starting = threading.Lock()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def put(self, call: Callable[[], object]) -> None:
        self._calls.put(call)
        with self._starting:
            if self.thread.ident is None:  # it was not started
                self.thread.start()

    def end(self, last: Callable[[], object], wait: float = 0.0) -> None:
        """Make a last call and end the thread, if it runs; wait so many seconds."""
        if self.thread.ident is not None:
            self._calls.put(last)
            self._calls.put(None)
            self.thread.join(wait)

    def _run(self) -> None:
        while True:
            try:
                call = self._calls.get(timeout=self._silence())
            except Empty:
                call = self._on_silence
            if call is None:
                return
            call()
