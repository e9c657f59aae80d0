"""An address that leads to another server when a test says so, as one that fails over
does.
"""

from __future__ import annotations

import contextlib
import socket
import threading


class Forwarder:
    """Takes connections on a port of loopback, and passes on what is said there, to
    both sides.

    Args:
        port: of the server to which it leads, on loopback.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._lock = threading.Lock()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._is_open = threading.Event()
        self._is_open.set()
        self._threads = [threading.Thread(target=self._take)]
        self._threads[0].start()

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()
        for thread in self._threads:
            thread.join()

    def lead_to(self, port: int) -> None:
        """Lead new connections to another port; open ones stay."""
        self._target = port

    def cut(self) -> None:
        """Break all connections, and drop what is held."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for one in pair:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
        self._is_open.set()

    def hold(self) -> None:
        """Pass on nothing that the server says, until all is cut."""
        self._is_open.clear()

    def _take(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._target), timeout=10)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            pair = near, far
            with self._lock:
                self._pairs.append(pair)
            thread = threading.Thread(target=self._serve, args=pair)
            self._threads.append(thread)
            thread.start()

    def _serve(self, near: socket.socket, far: socket.socket) -> None:
        back = threading.Thread(target=self._pass_on, args=(far, near, self._is_open))
        back.start()
        self._pass_on(near, far)
        back.join()
        near.close()
        far.close()

    def _pass_on(self, source, target, is_open: threading.Event | None = None) -> None:
        with contextlib.suppress(OSError):
            while octets := source.recv(65_536):
                if is_open is not None:
                    is_open.wait()
                with self._lock:
                    if not any(source in pair for pair in self._pairs):
                        break
                target.sendall(octets)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
