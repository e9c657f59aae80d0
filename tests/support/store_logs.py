"""What stores log, as a test waits for it."""

from __future__ import annotations

import logging

from live_stores import Events


class Log(logging.Handler):
    """The store's lines; a test waits for one."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines = Events()
        self.warnings: list[str] = []

    def __enter__(self):
        self._logger = logging.getLogger("scrapy_mandelbot.store")
        self._before = self._logger.level
        self._logger.addHandler(self)
        self._logger.setLevel(logging.INFO)
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
        self._logger.setLevel(self._before)

    def emit(self, record) -> None:
        if record.levelno >= logging.WARNING:
            self.warnings.append(record.getMessage())
        self.lines(record.getMessage())

    def wait_for(self, words: str) -> str:
        while words not in (line := self.lines.next()[0]):
            pass
        return line
