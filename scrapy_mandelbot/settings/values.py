"""Readers of setting values: each converts a value or raises `SettingsError`."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from functools import wraps
from http import HTTPStatus
from importlib import import_module
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from mandelbot import DIALECTS, Dialect
from mandelbot.formatting import without_credentials
from mandelbot.origins import site_of, value_for
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.utils.misc import load_object
from w3lib.url import safe_url_string

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

STORES = ("memory", "sqlite")
_SERVERS = frozenset({"redis", "rediss", "unix", "valkey", "valkeys"})
_FILE_SUFFIXES = frozenset({".db", ".sqlite", ".sqlite3"})
SITEMAP_MODES = ("off", "signal", "follow")
LAST_RUN = "last_run"
ROBOT_TAG_MODES = ("off", "annotate", "obey")
USAGE_MODES = ("off", "annotate", "obey")
TOGETHER_MODES = ("domain", "address")
CONCURRENCY_MODES = ("measured", "fixed")
PACE_MODES = ("manual", "obey")
DELAY_READINGS = ("interval", "window")
IDLE_MODES = ("auto", "wait", "signal", "close", "fail")
DURABLE = "durable"
JOB_SYNCS = ("normal", "full")
JOB_ERRORS = ("acknowledge", "keep")
METRICS_FILE = ".prom"
"""As the textfile collector of node_exporter wants it."""
SIGN_MODES = ("always", "asked")
_PORTS = 65_536
SIGN_KEY_TAKES = (
    "the path of a PEM file with an Ed25519 key in PKCS8, without a passphrase, or"
    " 'env:NAME'"
)


class SettingsError(ValueError):
    """A setting has an invalid value."""

    is_logged = False
    """Whether the error has been logged."""

    def __init__(self, name: str, value: object, takes: str) -> None:
        super().__init__(f"{name} = {value!r}: it takes {takes}")


class UnknownSettingError(SettingsError):
    """A setting has a name that is close to one of the package's."""

    def __init__(self, name: str, value: object, meant: str) -> None:
        text = f"{name} = {value!r}: there is no such setting; did you mean {meant}?"
        ValueError.__init__(self, text)


@contextmanager
def fail_cleanly(crawler: Crawler | None) -> Iterator[None]:
    """End a crawl that cannot start with one log line and a nonzero exit code.

    Without a crawler nothing is logged: the caller reports the error. Scrapy raises the
    error to the code that awaits the crawl. Its own commands do not await it, so
    asyncio or Twisted would log a traceback, which adds nothing and is suppressed. (In
    a script with ``CrawlerProcess``, Twisted writes one to stderr, past the log.)

    Raises:
        ValueError: from the block, such as a SettingsError. One whose class has an
            ``is_logged`` is a refusal.
    """
    try:
        yield
    except ValueError as error:
        if crawler is not None and getattr(error, "is_logged", None) is False:
            _log_refusal(crawler, error)
        raise


def _log_refusal(crawler: Crawler, error: SettingsError | Any) -> None:
    error.is_logged = True
    logger.critical("%s", error)
    for name in ("asyncio", "twisted"):
        logging.getLogger(name).addFilter(_is_unlogged)  # idempotent
    # ``scrapy crawl`` then exits with 1; before 2.15 nothing else makes it.
    crawler.spider = None


def _is_unlogged(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    return not getattr(error, "is_logged", False)


def _reader(
    takes: str,
) -> Callable[[Callable[[Any], Value]], Callable[[str, object], Value]]:
    """Decorate a converter: its errors say what the setting takes."""

    def decorate(convert: Callable[[Any], Value]) -> Callable[[str, object], Value]:
        @wraps(convert)
        def read(name: str, value: object) -> Value:
            try:
                return convert(value)
            except (AttributeError, TypeError, ValueError, LookupError, OverflowError):
                raise SettingsError(name, value, takes) from None

        return read

    return decorate


@_reader("a number of seconds, 0 or more")
def seconds(value: Any) -> float:
    """Return finite seconds, 0 or more."""
    seconds = float(value)
    if not 0 <= seconds < inf:
        raise ValueError
    return seconds


@_reader("a number of seconds above 0")
def seconds_above_zero(value: Any) -> float:
    """Return finite seconds above 0."""
    seconds = float(value)
    if not 0 < seconds < inf:
        raise ValueError
    return seconds


def sign_mode(name: str, value: object) -> str:
    """Return the signing mode; imports the package ``cryptography``, which it needs."""
    mode = one_of(*SIGN_MODES)(name, value)
    try:
        import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
    except ImportError:
        takes = (
            "the package cryptography to be installed: pip install"
            " scrapy-mandelbot[sign]"
        )
        raise SettingsError(name, value, takes) from None
    return mode


def sign_key_place(name: str, value: object) -> str:
    """Return the place of the key: a path or ``env:NAME``.

    The key itself never shows.
    """
    text = str(value)
    is_key = "\n" in text or "-----" in text
    if is_key or not isinstance(value, (str, Path)):
        given = "..." if isinstance(value, str) else value
        raise SettingsError(name, given, SIGN_KEY_TAKES)
    return text


@_reader("the https URL of a key directory, such as 'https://bot.example'")
def sign_agent_url(value: Any) -> str:
    """Return a URL that can stand in a header; ``http`` is checked elsewhere."""
    url = urlsplit(str(value))
    is_url = url.scheme in {"https", "http"} and url.hostname and url.port != 0
    is_bare = "@" not in url.netloc and not url.fragment
    if not is_url or not is_bare or safe_url_string(str(value)) != value:
        raise ValueError
    return str(value)


class PerSite(dict[str, Value]):
    """A value for each site, by site, host or domain; the most specific entry counts.

    A site is written as ``https://example.com``.
    """

    def of(self, site: str) -> Value | None:
        """Return the value for a site; None: it has no entry."""
        return value_for(site, self) if self else None


def by_site(
    reader: Callable[[str, object], Value], takes: str, more: str = ""
) -> Callable[[str, object], PerSite[Value]]:
    """Return the reader of a setting that has a value by host or site.

    `reader`: that of one value; `takes`: what the setting takes, with an example;
    `more`: what else is to be said of it.
    """
    domains = (
        'a domain with all its hosts is ".example.com", and its hosts without itself'
        ' are "*.example.com"'
    )
    text = "; ".join(filter(None, (takes, domains, more)))
    place = _reader(text)(_place)

    def read(name: str, value: object) -> PerSite[Value]:
        entries = _as_mapping(value)
        if entries is None:
            raise SettingsError(name, value, text)
        found = PerSite[Value]()
        for key, one in entries.items():
            found[place(name, key)] = reader(f"{name}[{key!r}]", one)
        return found

    return read


def _seconds_or_mode(name: str, value: Any) -> float | str:
    if isinstance(value, str) and value in PACE_MODES:
        return value
    takes = "a number of seconds, 0 or more, or 'obey' or 'manual'"
    if isinstance(value, bool):
        raise SettingsError(name, value, takes)
    try:
        return seconds(name, value)
    except SettingsError:
        raise SettingsError(name, value, takes) from None


def _as_mapping(value: object) -> Mapping[str, object] | None:
    """Accept a dict, or its JSON from the command line; None: it is neither."""
    if isinstance(value, str):
        try:
            value = json.loads(value or "{}")
        except ValueError:
            return None
    return value if isinstance(value, Mapping) else None


def _place(key: Any) -> str:
    """Return the site, host or domain as :func:`value_for` looks it up.

    A path is an error, and so is a star anywhere but at the front of a domain.
    """
    front = next((one for one in ("*.", ".") if key.startswith(one)), "")
    place = key.removeprefix(front)
    scheme, _, host = place.rpartition("://")
    if "*" in host or host.startswith(".") or place.split() != [place]:
        raise ValueError
    is_site = "://" in place
    if front and scheme:
        raise ValueError
    written = place if is_site else f"http://{place}"
    url = urlsplit(safe_url_string(written))
    if url.port and not is_site:
        raise ValueError
    rest = url.path.strip("/") + url.query + url.fragment
    if rest or not url.hostname or url.scheme not in {"http", "https"}:
        raise ValueError
    site = site_of(url)
    return site if is_site else front + site.removeprefix("http://")


crawl_delays = by_site(
    _seconds_or_mode,
    'seconds by host or site, such as {"example.com": 5, "https://shop.example.com":'
    " 0.5}",
    '"obey" and "manual" in place of seconds mean the same as in MANDELBOT_PACE',
)
"""Reads seconds or a mode of MANDELBOT_PACE for each site."""


def _site_budget(name: str, value: object) -> dict[str, Any]:
    if value is None:
        raise SettingsError(name, value, f"a dict with any of {_keys_text(_LIMITS)}")
    return {
        key: or_none(_LIMITS[key])(f"{name}[{key!r}]", limit)
        for key, limit in options(name, value, _LIMITS).items()
    }


site_budgets = by_site(
    _site_budget, 'budgets by host or site, such as {"example.com": {"pages": 10}}'
)
"""Reads pages, bytes and seconds for each site; None lifts a limit."""


@_reader("True or False")
def flag(value: Any) -> bool:
    """Return True or False."""
    return {"true": True, "1": True, "false": False, "0": False}[str(value).lower()]


def idle(name: str, value: object) -> str | float:
    """Return a mode of MANDELBOT_PAUSE_IDLE, or seconds.

    With seconds the run closes unless a paused site is due within that time.
    """
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,3})?", str(value)):
        return seconds(name, value)
    return one_of(*IDLE_MODES)(name, value)


def store(name: str, value: object) -> str:
    """Return the kind of a store, or the path of a file.

    A bare name is no path: "memroy" is a mistake, not a file.
    """
    text = str(value)
    is_path = isinstance(value, Path) or Path(text).name != text
    if text in STORES or (
        "://" not in text and (is_path or Path(text).suffix in _FILE_SUFFIXES)
    ):
        return text
    kinds = " or ".join(map(repr, STORES))
    where = "the path of a file such as 'copies.db'"
    shown = without_credentials(text.partition("?")[0])
    raise SettingsError(name, shown, f"{kinds}, or {where}")


def is_server(text: str) -> bool:
    """Return whether a setting names a Redis or Valkey server."""
    return ":" in text and text.partition(":")[0] in _SERVERS


def _server(name: str, url: str) -> str:
    """Check the URL with the package ``redis``, which is imported only here."""
    shown = without_credentials(url.partition("?")[0])  # passwords may stand behind it
    try:
        from scrapy_mandelbot.settings.redis_url import checked  # noqa: PLC0415
    except ImportError:
        takes = "the package redis to be installed: pip install scrapy-mandelbot[redis]"
        raise SettingsError(name, shown, takes) from None
    try:
        return checked(url)
    except ValueError as error:
        takes = f"a URL such as 'redis://localhost:6379/0' ({error})"
        raise SettingsError(name, shown, takes) from None


def count(least: int) -> Callable[[str, object], int]:
    """Return a reader of whole numbers from `least` up."""

    @_reader(f"a whole number, {least} or more")
    def read(value: Any) -> int:
        number = int(value)
        if number < least or str(number) != str(value).strip():
            raise ValueError
        return number

    return read


def _listed(text: str) -> list[Any]:
    """Return the entries of a list from the command line.

    It is JSON as ``[500, 503]``, or has commas between its entries: ``500,503``.

    Raises:
        ValueError: it begins like JSON and is none.
    """
    if text.lstrip().startswith("["):
        entries: list[Any] = json.loads(text)
        return entries
    return [entry.strip() for entry in text.split(",")]


_GONE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})


@_reader(
    "a list of HTTP status codes from 400 to 599, without 404 and 410: each dead link"
    " would pause its site"
)
def statuses(value: Any) -> frozenset[int]:
    """Return HTTP status codes that are errors."""
    named = _listed(value) if isinstance(value, str) else value
    statuses = frozenset(map(int, named))
    if any(not HTTPStatus.BAD_REQUEST <= status <= 599 for status in statuses):  # noqa: PLR2004
        raise ValueError
    if not _GONE.isdisjoint(statuses):
        raise ValueError
    return statuses


@_reader(
    f"a date as 2026-11-20 or 2026-11-20T08:00:00+01:00, a datetime, or {LAST_RUN!r}"
)
def moment(value: Any) -> float | str | None:
    """Return a moment in seconds since the epoch, ``LAST_RUN``, or None."""
    if value in (None, "", LAST_RUN):
        return str(value) if value else None
    from mandelbot.dates import read_date  # noqa: PLC0415 -- few set it

    text = value.isoformat() if isinstance(value, date) else str(value)
    moment = read_date(text)
    if moment is None:
        raise ValueError
    return moment.timestamp()


def one_of(*choices: str) -> Callable[[str, object], str]:
    """Return what reads one of several words."""

    def read(name: str, value: object) -> str:
        if value not in choices:
            raise SettingsError(name, value, " or ".join(map(repr, choices)))
        return str(value)

    return read


@_reader(f"a Dialect or one of {', '.join(map(repr, DIALECTS))}")
def dialect(value: Any) -> Dialect:
    """Return the dialect, given it or its name."""
    return value if isinstance(value, Dialect) else DIALECTS[value]


def _named(text: str) -> list[Any]:
    """Return the words of a list from the command line; the text where it is none."""
    try:
        return _listed(text)
    except ValueError:
        return [text]


def purposes(name: str, value: object) -> tuple[str, ...]:
    """Return the categories of use that pages are wanted for, each once."""
    named = value or ()
    if isinstance(value, str):
        named = _named(value)
    if not named:
        return ()
    from mandelbot.preferences.statements import CATEGORIES  # noqa: PLC0415

    if not isinstance(named, Iterable):
        named = [None]
    named = [one for one in named if one != ""]
    if any(one not in CATEGORIES for one in named):
        raise SettingsError(
            name, value, f"one or several of {', '.join(map(repr, CATEGORIES))}"
        )
    return tuple(dict.fromkeys(map(str, named)))


EXIT_STATUSES = ("lost", "left", "forbidden", "incomplete", "expectations")


def exit_status(name: str, value: object) -> tuple[str, ...]:
    """Return the ends of a crawl that are failures, each once."""
    named = value or ()
    if isinstance(named, str):
        named = [one for one in _named(named) if one != ""]
    if not isinstance(named, Iterable) or any(
        one not in EXIT_STATUSES for one in named
    ):
        takes = f"one or several of {', '.join(map(repr, EXIT_STATUSES))}"
        raise SettingsError(name, value, takes)
    return tuple(dict.fromkeys(map(str, named)))


_SITEMAPS = (
    " or ".join(map(repr, SITEMAP_MODES))
    + ", or paths such as ['/sitemap.xml'], which are read where robots.txt cites none"
)
_PATH = re.compile(r"/(?!/)[!-\"$-~]*", re.ASCII)


@_reader(_SITEMAPS)
def sitemaps(value: Any) -> str | tuple[str, ...]:
    """Return a mode, or the paths to read where robots.txt cites no sitemap."""
    paths = value
    if isinstance(value, str):
        if value in SITEMAP_MODES:
            return value
        paths = [path.strip() for path in _listed(value)]
    if not isinstance(paths, (list, tuple)) or not paths:
        raise ValueError
    if not all(_PATH.fullmatch(path) for path in paths):
        raise ValueError
    return tuple(dict.fromkeys(paths))


def or_none(
    read: Callable[[str, object], Value],
) -> Callable[[str, object], Value | None]:
    """Return what reads a value as another does, or None."""

    def read_or_none(name: str, value: object) -> Value | None:
        if value in (None, ""):
            return None
        return read(name, value)

    return read_or_none


def is_gateway(value: object) -> bool:
    """Return whether MANDELBOT_METRICS is the URL of a Pushgateway."""
    if not isinstance(value, str) or not value.startswith(("http://", "https://")):
        return False
    try:
        parts = urlsplit(value)
        return bool(parts.hostname) and parts.port != 0 and not parts.query
    except ValueError:
        return False


def metrics(name: str, value: object) -> str | None:
    """Return an address as ``127.0.0.1:9464``, a file, or a gateway's URL."""
    if value in (None, "", "None", "False") or value is False:
        return None
    if isinstance(value, (str, Path)) and Path(value).suffix == METRICS_FILE:
        return str(value)
    if is_gateway(value):
        return str(value).rstrip("/")
    host, _, port = str(value).rpartition(":")
    is_number = port.isascii() and port.isdigit() and "/" not in host
    if isinstance(value, (int, str)) and is_number and int(port) < _PORTS:
        return f"{host or '127.0.0.1'}:{int(port)}"
    takes = (
        "an address such as '127.0.0.1:9464', a file such as 'shop.prom', or the"
        " URL of a Pushgateway such as 'http://127.0.0.1:9091'"
    )
    raise SettingsError(name, value, takes)


def report_path(name: str, value: object) -> str:
    """Return the path of a report: a page, or JSON."""
    path = str(value)
    if "://" in path or Path(path).suffix not in {".html", ".json"}:
        takes = "the path of a file such as 'report.html' or 'report.json'"
        raise SettingsError(name, value, takes)
    if path.endswith(".html") and find_spec("jinja2") is None:
        takes = "Jinja2 for the page: pip install 'scrapy-mandelbot[html]' brings it"
        raise SettingsError(name, value, f"'report.json', or {takes}")
    return path


def agent(name: str, value: object) -> str | tuple[str, ...] | None:
    """Return a product token, a User-Agent header, several tokens, or None."""
    if not value:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(
        isinstance(token, str) for token in value
    ):
        return tuple(value)
    raise SettingsError(
        name, value, "a product token, a User-Agent header or a list of tokens"
    )


_FUNCTION = "a function, or its import path such as 'project.refusals.looks_refused'"


def function(name: str, value: object) -> Callable[..., object] | str:
    """Return a function, or its import path; :func:`loaded_function` imports it."""
    if callable(value) or (isinstance(value, str) and "." in value):
        return value
    raise SettingsError(name, value, _FUNCTION)


def loaded_function(name: str, value: object) -> Callable[..., object]:
    """Return a function of the project, given it or its import path."""
    return _loaded(name, value, _FUNCTION, Callable)  # type: ignore[arg-type]  # isinstance takes it


def queue_class(name: str, value: object) -> type[ScrapyPriorityQueue]:
    """Return the class of a priority queue, given it or its import path."""
    takes = "scrapy.pqueues.ScrapyPriorityQueue or a subclass of it"
    queue_class = _loaded(name, value, takes, type)
    if not issubclass(queue_class, ScrapyPriorityQueue):
        raise SettingsError(name, value, takes)
    return queue_class


def scheduler_class(name: str, value: object) -> type:
    """Return the class of a scheduler, given it or its import path."""
    return _loaded(name, value, "a scheduler class", type)


def _loaded(name: str, value: object, takes: str, kind: type[Value]) -> Value:
    try:
        found = load_object(value)  # type: ignore[arg-type]  # whatever the project wrote
    except (ImportError, NameError, TypeError, ValueError):
        raise SettingsError(name, value, takes) from None
    if not isinstance(found, kind):
        raise SettingsError(name, value, takes)
    return found


def job(name: str, value: object) -> str:
    """Return how a job is stored: ``durable``, or a server's URL."""
    text = str(value)
    if is_server(text):
        return _server(name, text)
    if text == DURABLE:
        return text
    takes = f"{DURABLE!r}, or a URL such as 'redis://localhost:6379/0'"
    raise SettingsError(name, without_credentials(text), takes)


def lease(name: str, value: object) -> float:
    """Return seconds, 1 or more."""
    lease = seconds(name, value)
    if lease < 1:
        raise SettingsError(name, value, "a number of seconds, 1 or more")
    return lease


def key_name(name: str, value: object) -> str:
    """Return a name that can stand in keys on Redis."""
    if not isinstance(value, str) or set(value) & set("{}"):
        raise SettingsError(name, value, "a name, without braces")
    return value


_LIMITS: dict[str, Callable[[str, object], Any]] = {
    "pages": count(1),
    "bytes": count(1),
    "seconds": seconds_above_zero,
}
"""The limits of a budget, with their readers."""


def options(name: str, value: object, keys: Iterable[str]) -> Mapping[str, object]:
    """Return a setting that is a dict or its JSON; the values are not checked here."""
    if value is None:
        value = {}
    read = _as_mapping(value)
    unknown = [_unknown_key(key, keys) for key in read or () if key not in keys]
    if read is None or unknown:
        takes = f"a dict with any of {_keys_text(keys)}"
        raise SettingsError(name, value, ", not ".join([takes, *unknown]))
    return read


def _keys_text(keys: Iterable[str]) -> str:
    return ", ".join(map(repr, keys))


def _unknown_key(key: object, keys: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 -- only for an error

    meant = get_close_matches(str(key).lower(), keys, 1)
    return f"{key!r} (did you mean {meant[0]!r}?)" if meant else repr(key)


@_reader("a share above 0, at most 1")
def share(value: Any) -> float:
    """Return a share above 0."""
    number = float(value)
    if isinstance(value, bool) or not 0 < number <= 1:
        raise ValueError
    return number


_EXPECTED_OF_SITES: dict[str, Callable[[str, object], Any]] = {
    "pages": count(0),
    "lost": count(0),
    "failed": count(0),
}


def _expected_of_site(name: str, value: object) -> dict[str, Any]:
    return {
        key: _EXPECTED_OF_SITES[key](f"{name}[{key!r}]", number)
        for key, number in options(name, value, _EXPECTED_OF_SITES).items()
    }


_EXPECTED: dict[str, Callable[[str, object], Any]] = {
    "pages": count(0),
    "items": count(0),
    "lost": count(0),
    "failed": count(0),
    "callbacks": count(0),
    "unwritten": count(0),
    "of_last_time": share,
    "sites": by_site(
        _expected_of_site,
        'expectations by host or site, such as {"example.com": {"pages": 10}}',
    ),
}


def expectations(name: str, value: object) -> dict[str, Any]:
    """Return what a project expects of a crawl, by the name of each key."""
    expected = {}
    for key, one in options(name, value, _EXPECTED).items():
        if one is not None:
            expected[key] = _EXPECTED[key](f"{name}[{key!r}]", one)
    return expected
