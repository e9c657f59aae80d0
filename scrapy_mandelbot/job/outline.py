"""The outline of a request: read without its code, or written by users as a line."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mandelbot.origins import site_of
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.request import fingerprint

from scrapy_mandelbot.job.job_store import Place
from scrapy_mandelbot.job.opened_job import NewRequest
from scrapy_mandelbot.job.requests import fingerprint_number

if TYPE_CHECKING:
    from scrapy.settings import Settings


class _StandIn:
    """Stands in for a pickled object whose class is never imported."""

    def __init__(self, *_: object, **__: object) -> None:
        """Accept any arguments."""

    # What a pickle may call while it fills an object.
    __setstate__ = __init__
    __setitem__ = __init__
    append = __init__
    extend = __init__
    add = __init__
    update = __init__


class _HarmlessUnpickler(pickle.Unpickler):
    """Unpickles without importing or calling anything."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ARG002 -- pickle's
        return _StandIn


def outline(body: bytes) -> dict[str, Any] | None:
    """Return a request's main fields without running its code; None: not a request."""
    try:
        data = _HarmlessUnpickler(io.BytesIO(body)).load()
        about = {
            "url": data["url"],
            "method": data.get("method", "GET"),
            "priority": data.get("priority", 0),
            "callback": data.get("callback"),
            "depth": data.get("meta", {}).get("depth", 0),
        }
    except Exception:  # noqa: BLE001 -- whatever is in there
        return None
    texts = about["url"], about["method"], about["callback"] or ""
    if not all(isinstance(text, str) for text in texts):
        return None
    if {type(about["priority"]), type(about["depth"])} != {int}:
        return None
    return about


Fingerprinter = Callable[[Request], bytes]


def fingerprinter_of(settings: Settings) -> tuple[Fingerprinter, str]:
    """Return the fingerprinter of the project.

    Scrapy's if that needs a spider, with the error.
    """
    crawler = Crawler(Spider, settings)
    try:
        crawler.addons.load_settings(crawler.settings)
        own = load_object(crawler.settings["REQUEST_FINGERPRINTER_CLASS"])
        find: Fingerprinter = build_from_crawler(own, crawler).fingerprint
        find(Request("https://example.com/"))
    except Exception as error:  # noqa: BLE001 -- whatever code of a project raises
        return fingerprint, f"{type(error).__name__}: {error}"
    return find, ""


def read_outline(line: str, find: Fingerprinter) -> NewRequest:
    """Return the request of a line: a URL, a JSON outline, or a lost request.

    The latter is a line of the file beside a report, which has the key ``end``.

    ValueError: of neither.
    """
    about = json.loads(line) if line.startswith("{") else {"url": line}
    fields = about.keys() & {"url", "method", "priority", "callback"}
    data: dict[str, Any] = {name: about[name] for name in fields}
    body = pickle.dumps({**data, "meta": {"depth": about.get("depth", 0)}})
    if outline(body) is None or urlsplit(data["url"]).scheme not in {"http", "https"}:
        raise ValueError("no request with an http or https URL")
    request = Request(data["url"], method=data.get("method", "GET"))
    place = Place(-data.get("priority", 0), 1, is_last_first=False)
    site = site_of(urlsplit(request.url))
    number = fingerprint_number(find(request))
    return NewRequest(site, place, body, number, is_lost="end" in about)
