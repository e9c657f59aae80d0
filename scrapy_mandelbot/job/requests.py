"""Requests as a job keeps them: as Scrapy's disk queues, without defaults."""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.request import request_from_dict

from scrapy_mandelbot import engine

if TYPE_CHECKING:
    from scrapy import Spider

_CLASSES = (
    "scrapy.http.request.form.FormRequest",
    "scrapy.http.request.json_request.JsonRequest",
)
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


def identity_of(spider: Spider) -> tuple[str, str]:
    """Return a spider's project, and a version made of its names and modules.

    What one cannot read of a job, another one of the same version cannot either.
    """
    project = type(spider).__module__.partition(".")[0]
    digest = blake2b(repr(sorted(dir(type(spider)))).encode(), digest_size=4)
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and module.__name__.partition(".")[0] == project:
            with suppress(OSError):
                digest.update(Path(file).read_bytes())
    return project, digest.hexdigest()


class CannotWriteError(ValueError):
    """A request cannot be written down; the message says why."""


class _PlainPickler(pickle.Pickler):
    """Writes what Python has of itself, and nothing that has code of its own."""

    def reducer_override(self, obj: Any) -> Any:
        raise ValueError(f"{type(obj).__name__} needs MANDELBOT_JOB_OPTIONS['pickle']")


class _PlainUnpickler(pickle.Unpickler):
    """Reads what Python has of itself, and refuses what names a class or a function."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} is not plain")


def dump_plain(value: object) -> bytes:
    written = io.BytesIO()
    _PlainPickler(written, pickle.HIGHEST_PROTOCOL).dump(value)
    return written.getvalue()


def load_plain(body: bytes) -> Any:
    """Return a value of Python's own types; an error: it names a class."""
    value = _PlainUnpickler(io.BytesIO(body)).load()
    if isinstance(value, dict) and value.get("_class") not in {None, *_CLASSES}:
        raise ValueError(f"{value['_class']} is not plain")  # it would be imported
    return value


class RequestForm:
    """Writes down requests whose callbacks are methods of a spider, and reads them.

    `pickles`: what is not plain is written and read, too: objects of any class. Who can
    write to where they are kept, can then run code.
    """

    def __init__(self, spider: Spider | None, *, pickles: bool = True) -> None:
        self.spider = spider
        self.dump: Callable[[Any], bytes] = dump_plain
        self.load: Callable[[bytes], Any] = load_plain
        if pickles:
            self.dump = partial(pickle.dumps, protocol=pickle.HIGHEST_PROTOCOL)
            self.load = pickle.loads  # of our own file, as Scrapy's queues do
        self._lacks_parse = engine.is_undefined(spider, getattr(spider, "parse", None))
        self._names: dict[Callable[..., Any], str] = {}
        """Of methods of the spider: Scrapy looks through all of them each time."""

    def write(self, request: Request) -> bytes:
        """Return a request as it is kept.

        A CannotWriteError: a callback is no method of the spider, or something in it
        has no form.
        """
        try:
            return self.dump(self._to_dict(request))
        # whatever the pickling of a project's objects raises
        except Exception as error:
            raise CannotWriteError(f"{type(error).__name__}: {error}"[:500]) from error

    def read(self, body: bytes, *, is_to_be_sent: bool = True) -> Request:
        """Return a request, given what :meth:`write` has returned.

        It may raise anything: the spider may have changed, and the classes of what is
        in its meta.
        """
        if not body:
            raise ValueError("its row in the file is damaged")
        request = request_from_dict(self.load(body), spider=self.spider)
        if self._lacks_parse and is_to_be_sent:
            calls = [request.callback, *filter(None, [request.errback])]
            if any(engine.is_undefined(self.spider, one) for one in calls):
                # Sent, it would be lost: Scrapy's own method raises, as an error in the
                # callback.
                raise ValueError(f"{type(self.spider).__name__} has no parse()")
        return request

    def is_same(self, body: bytes, request: Request) -> bool:
        """Return whether a stored request can be read, and equals another one."""
        try:
            self.read(body)
            return bool(self.load(body) == self.load(self.write(request)))
        except Exception:  # noqa: BLE001 -- whatever a changed spider leads to
            return False

    def shown(self, body: bytes, otherwise: str) -> str:
        """Return a request as the log names it, or `otherwise` if it cannot be read."""
        try:
            return str(self.read(body, is_to_be_sent=False))
        except Exception:  # noqa: BLE001 -- whatever a changed spider leads to
            return otherwise

    def _to_dict(self, request: Request) -> dict[str, Any]:
        if type(request) is not Request:  # another class may have other defaults
            return request.to_dict(spider=self.spider)
        data: dict[str, Any] = {"url": request.url}
        if request.callback is not None:
            data["callback"] = self._name(request, "callback")
        if request.errback is not None:
            data["errback"] = self._name(request, "errback")
        headers = request.headers
        if headers:
            data["headers"] = dict(headers)
        for name, default in _PLAIN:
            value = getattr(request, name)
            if value != default:
                data[name] = value
        return data

    def _name(self, request: Request, which: str) -> str:
        method = getattr(request, which)
        function = getattr(method, "__func__", None)
        if function is not None and getattr(method, "__self__", None) is self.spider:
            name: str | None = self._names.get(function)
            if name is not None:
                return name
        name = request.to_dict(spider=self.spider)[which]
        if function is not None:
            self._names[function] = str(name)
        return str(name)


_PLAIN = tuple(
    (name, default)
    for name, default in _DEFAULTS.items()
    if name not in {"callback", "errback", "headers"}
)


def fingerprint_number(fingerprint: bytes) -> int:
    """Return a fingerprint as a number of 64 bits, with a sign.

    Among ten million two are taken for one with a chance of 3 in a million.
    """
    digest = blake2b(fingerprint, digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
