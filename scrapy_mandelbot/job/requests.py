"""Requests as they are kept: the form that Scrapy's disk queues have, without what is default."""

from __future__ import annotations

import pickle
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import scrapy.squeues
from scrapy import Request
from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.misc import load_object
from scrapy.utils.request import request_from_dict

from scrapy_mandelbot.job.job_store import Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider
    from scrapy.settings import BaseSettings

_DEFAULTS: dict[str, object] = {
    "callback": None,
    "errback": None,
    "headers": {},
    "method": "GET",
    "body": b"",
    "cookies": {},
    "meta": {},
    "encoding": "utf-8",
    "priority": 0,
    "dont_filter": False,
    "flags": [],
    "cb_kwargs": {},
}


class CannotWriteError(ValueError):
    """A request cannot be written down; the message says why."""


class RequestForm:
    """Writes down requests, and reads them.

    Args:
        spider: whose methods their callbacks are.
    """

    def __init__(self, spider: Spider | None) -> None:
        self._spider = spider
        self._names: dict[Callable[..., Any], str] = {}
        """Of methods of the spider: Scrapy looks through all of them each time."""

    def write(self, request: Request) -> bytes:
        """Return a request as it is kept.

        Raises:
            CannotWriteError: a callback is no method of the spider, or something in it has no form.
        """
        try:
            data = self._to_dict(request)
            return pickle.dumps(data, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # whatever the pickling of a project's objects raises
            raise CannotWriteError(f"{type(error).__name__}: {error}"[:500]) from error

    def read(self, body: bytes) -> Request:
        """Return a request, given what :meth:`write` has returned.

        Raises:
            Exception: any; the spider may have changed, and the classes of what is in its meta.
        """
        if not body:
            raise ValueError("its row in the file is damaged")
        data = pickle.loads(body)  # noqa: S301 -- of our own file, as Scrapy's queues do
        return request_from_dict(data, spider=self._spider)

    def _to_dict(self, request: Request) -> dict[str, Any]:
        if type(request) is not Request:  # another class may have other defaults
            return request.to_dict(spider=self._spider)
        data: dict[str, Any] = {"url": request.url}
        if request.callback is not None:
            data["callback"] = self._name(request, "callback")
        if request.errback is not None:
            data["errback"] = self._name(request, "errback")
        headers = request.headers
        if headers:
            data["headers"] = dict(headers)
        for name in _PLAIN:
            value = getattr(request, name)
            if value != _DEFAULTS[name]:
                data[name] = value
        return data

    def _name(self, request: Request, which: str) -> str:
        method = getattr(request, which)
        function = getattr(method, "__func__", None)
        if function is not None and getattr(method, "__self__", None) is self._spider:
            name: str | None = self._names.get(function)
            if name is not None:
                return name
        name = request.to_dict(spider=self._spider)[which]
        if function is not None:
            self._names[function] = str(name)
        return str(name)


_PLAIN = tuple(name for name in _DEFAULTS if name not in {"callback", "errback", "headers"})


def fingerprint_number(fingerprint: bytes) -> int:
    """Return a fingerprint as a number of 64 bits, with a sign.

    Among ten million two are taken for one with a chance of 3 in a million.
    """
    digest = blake2b(fingerprint, digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


QUEUES: dict[type, bool] = {
    queue: "Lifo" in name
    for name, queue in vars(scrapy.squeues).items()
    if name.startswith(("Pickle", "Marshal"))
}
"""Scrapy's disk queues, and whether what comes last is asked for first."""


def are_scrapys_queues(settings: BaseSettings) -> bool:
    """Return whether the settings choose Scrapy's own dupe filter and disk queues.

    They may be loaded: what they are is asked when the reactor is there.
    """
    names = ("SCHEDULER_DISK_QUEUE", "SCHEDULER_START_DISK_QUEUE")
    queues = [load_object(settings[name]) for name in names if settings[name]]
    return load_object(settings["DUPEFILTER_CLASS"]) is RFPDupeFilter and all(
        queue in QUEUES for queue in queues
    )


class LineOrder:
    """In which order a line is asked for, as the settings choose Scrapy's queues.

    Args:
        is_last_first: whether a line is asked for from its end, as SCHEDULER_DISK_QUEUE has it.
        start_is_last_first: the same of start requests, as SCHEDULER_START_DISK_QUEUE has it;
            None: they have no line of their own.
    """

    def __init__(self, *, is_last_first: bool, start_is_last_first: bool | None) -> None:
        self._is_last_first = is_last_first
        self._start_is_last_first = start_is_last_first

    @classmethod
    def of(cls, settings: BaseSettings) -> LineOrder:
        """Return the order that the settings choose."""
        start = settings["SCHEDULER_START_DISK_QUEUE"]
        return cls(
            is_last_first=QUEUES[load_object(settings["SCHEDULER_DISK_QUEUE"])],
            start_is_last_first=QUEUES[load_object(start)] if start else None,
        )

    def place(self, request: Request) -> Place:
        """Return the place of a request in its line."""
        if self._start_is_last_first is not None and request.meta.get("is_start_request"):
            return Place(-request.priority, 1, self._start_is_last_first)
        return Place(-request.priority, 0, self._is_last_first)
