"""Every setting of the package, read once into one frozen object, or an error that says why not."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.utils.misc import load_object

from scrapy_mandelbot.robots import html as pages
from scrapy_mandelbot.robots.dates import read_date
from scrapy_mandelbot.robots.inside import leads_inside
from scrapy_mandelbot.robots.origins import value_for
from scrapy_mandelbot.robots.outcome import OutcomeLaw
from scrapy_mandelbot.robots.pace import PaceLaw
from scrapy_mandelbot.robots.preferences.vocabulary import CATEGORIES
from scrapy_mandelbot.robots.robotstxt import DIALECTS, Dialect
from scrapy_mandelbot.robots.shown import without_credentials
from scrapy_mandelbot.setting_values import (
    SettingsError,
    crawl_delays,
    seconds,
    sign_agent_url,
    sign_key_place,
)
from scrapy_mandelbot.sites.pause import PauseLaw

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

STORES = ("memory", "sqlite")
_SERVERS = frozenset({"redis", "rediss", "unix", "valkey", "valkeys"})
_FILE_SUFFIXES = frozenset({".db", ".sqlite", ".sqlite3"})
SITEMAP_MODES = ("off", "signal", "follow")
LAST_RUN = "last_run"
ROBOT_TAG_MODES = ("off", "annotate", "obey")
USAGE_MODES = ("off", "annotate", "obey")
PACE_MODES = ("manual", "obey")
DELAY_READINGS = ("interval", "window")
CLOSE = "close"
DURABLE = "durable"
JOBS = (DURABLE, "scrapy")
JOB_SYNCS = ("normal", "full")
METRICS_API = "api"
SIGN_MODES = ("always", "asked")
SIGN_FORMS = ("dictionary", "origin", "string")
_PORTS = 65_536


class Deprecated(NamedTuple):
    """An old name that still works, with a warning. ``docs/versions.rst`` has the table."""

    name: str
    since: str
    """The version that deprecated it."""
    gone_in: str
    """The version that may be without it."""
    instead: str
    """What to do."""


DEPRECATED = (
    Deprecated(
        "MANDELBOT_PAUSE_BASE",
        "0.1.0",
        "0.3.0",
        "a pause is three times as long after each failed probe, from MANDELBOT_PAUSE_FIRST",
    ),
    Deprecated("MANDELBOT_PAUSE_CLOSE", "0.1.0", "0.3.0", 'set MANDELBOT_PAUSE_IDLE = "close"'),
)


def _flag(name: str, value: object) -> bool:
    spellings = {"true": True, "1": True, "false": False, "0": False}
    try:
        return spellings[str(value).lower()]
    except KeyError:
        raise SettingsError(name, value, "True or False") from None


def _seconds_or_none(name: str, value: object) -> float | None:
    return None if value in (None, "") else seconds(name, value)


def _idle(name: str, value: object) -> bool | str | None:
    if value is None or value == CLOSE:
        return value
    try:
        return _flag(name, value)
    except SettingsError:
        raise SettingsError(name, value, f"True, False or {CLOSE!r}") from None


def _store(name: str, value: object) -> str:
    """Return a kind of store, the path of a file, or a URL; "memroy" would be none of them."""
    text = str(value)
    if is_server(text):
        return _server(name, text)
    is_path = isinstance(value, Path) or Path(text).name != text
    if text in STORES or ("://" not in text and (is_path or Path(text).suffix in _FILE_SUFFIXES)):
        return text
    kinds = " or ".join(map(repr, STORES))
    where = "the path of a file such as 'copies.db', or a URL such as 'redis://localhost:6379/0'"
    raise SettingsError(name, without_credentials(text), f"{kinds}, {where}")


def is_server(text: str) -> bool:
    """Return whether a setting names a Redis or Valkey server."""
    return ":" in text and text.partition(":")[0] in _SERVERS


def _server(name: str, url: str) -> str:
    """Return the URL of a server.

    The package ``redis`` reads it, and is imported for that where such a URL is set, and else not.
    """
    shown = without_credentials(url.partition("?")[0])  # passwords may stand behind it
    try:
        from scrapy_mandelbot.store.redis.address import checked  # noqa: PLC0415
    except ImportError:
        takes = "the package redis to be installed: pip install scrapy-mandelbot[redis]"
        raise SettingsError(name, shown, takes) from None
    try:
        return checked(url)
    except ValueError as error:
        takes = f"a URL such as 'redis://localhost:6379/0' ({error})"
        raise SettingsError(name, shown, takes) from None


def _count(least: int) -> Callable[[str, object], int]:
    def read(name: str, value: object) -> int:
        try:
            number = int(value)  # type: ignore[call-overload]  # whatever the project wrote
        except (TypeError, ValueError, OverflowError):
            number = least - 1
        if number < least or str(number) != str(value).strip():
            raise SettingsError(name, value, f"a whole number, {least} or more")
        return int(number)

    return read


def _statuses(name: str, value: object) -> frozenset[int]:
    takes = "a list of HTTP status codes from 400 to 599"
    parts = value.split(",") if isinstance(value, str) else value
    try:
        statuses = frozenset(int(part) for part in parts)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise SettingsError(name, value, takes) from None
    if any(not HTTPStatus.BAD_REQUEST <= status <= 599 for status in statuses):  # noqa: PLR2004
        raise SettingsError(name, value, takes)
    return statuses


def _count_or_none(name: str, value: object) -> int | None:
    return None if value in (None, "") else _count(1)(name, value)


def _moment(name: str, value: object) -> float | str | None:
    """Return a moment in seconds since the epoch, ``LAST_RUN``, or None."""
    if value in (None, "", LAST_RUN):
        return str(value) if value else None
    takes = f"a date as 2026-11-20 or 2026-11-20T08:00:00+01:00, a datetime, or {LAST_RUN!r}"
    moment = read_date(value.isoformat() if isinstance(value, date) else str(value))
    if moment is None:
        raise SettingsError(name, value, takes)
    return moment.timestamp()


def _one_of(*choices: str) -> Callable[[str, object], str]:
    def read(name: str, value: object) -> str:
        if value not in choices:
            raise SettingsError(name, value, " or ".join(map(repr, choices)))
        return str(value)

    return read


def _dialect(name: str, value: object) -> Dialect:
    if isinstance(value, Dialect):
        return value
    if isinstance(value, str) and value in DIALECTS:
        return DIALECTS[value]
    raise SettingsError(name, value, f"a Dialect or one of {', '.join(map(repr, DIALECTS))}")


def _purposes(name: str, value: object) -> tuple[str, ...]:
    """Return the categories of use that pages are wanted for, each once."""
    named = [one.strip() for one in value.split(",")] if isinstance(value, str) else value or ()
    named = [one for one in named if one != ""] if isinstance(named, Iterable) else [None]
    if any(one not in CATEGORIES for one in named):
        raise SettingsError(name, value, f"one or several of {', '.join(map(repr, CATEGORIES))}")
    return tuple(dict.fromkeys(map(str, named)))


def _path_or_none(name: str, value: object) -> str | None:
    if value in (None, ""):
        return None
    if isinstance(value, (str, Path)) and Path(value).name:
        return str(value)
    raise SettingsError(name, value, "the path of a file such as 'ledger.jsonl'")


def _or_none(read: Callable[[str, object], str]) -> Callable[[str, object], str | None]:
    return lambda name, value: None if value in (None, "") else read(name, value)


def _metrics(name: str, value: object) -> str | None:
    """Return ``api``, or the address at which metrics are served, as ``127.0.0.1:9464``."""
    if value in (None, "", "None", "False") or value is False:
        return None
    if value is True or value in ("True", METRICS_API):
        return METRICS_API
    host, _, port = str(value).rpartition(":")
    if isinstance(value, (int, str)) and port.isascii() and port.isdigit() and int(port) < _PORTS:
        return f"{host or '127.0.0.1'}:{int(port)}"
    raise SettingsError(name, value, "True, or an address such as '127.0.0.1:9464'")


def _report_path(name: str, value: object) -> str | None:
    path = None if value in (None, "") else str(value)
    if path is None:
        return None
    if "://" in path or Path(path).suffix not in {".html", ".json"}:
        raise SettingsError(
            name, value, "the path of a file such as 'report.html' or 'report.json'"
        )
    if path.endswith(".html") and not pages.can_be_made():
        raise SettingsError(
            name,
            value,
            "'report.json', or Jinja2 for the page: pip install 'scrapy-mandelbot[html]' brings it",
        )
    return path


def _agent(name: str, value: object) -> str | tuple[str, ...] | None:
    if not value:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(token, str) for token in value):
        return tuple(value)
    raise SettingsError(name, value, "a product token, a User-Agent header or a list of tokens")


def _queue_class(name: str, value: object) -> type[ScrapyPriorityQueue]:
    takes = "scrapy.pqueues.ScrapyPriorityQueue or a subclass of it"
    try:
        queue_class = load_object(value)  # type: ignore[arg-type]  # whatever the project wrote
    except (ImportError, NameError, TypeError, ValueError):
        raise SettingsError(name, value, takes) from None
    if not isinstance(queue_class, type) or not issubclass(queue_class, ScrapyPriorityQueue):
        raise SettingsError(name, value, takes)
    return queue_class


def _scheduler_class(name: str, value: object) -> type | None:
    if value is None:
        return None
    try:
        scheduler_class = load_object(value)  # type: ignore[arg-type]  # whatever it is
    except (ImportError, NameError, TypeError, ValueError):
        raise SettingsError(name, value, "a scheduler class") from None
    if not isinstance(scheduler_class, type):
        raise SettingsError(name, value, "a scheduler class")
    return scheduler_class


def _job(name: str, value: object) -> str:
    text = str(value)
    if is_server(text):
        return _server(name, text)
    if text in JOBS:
        return text
    kinds = ", ".join(map(repr, JOBS))
    takes = f"{kinds}, or a URL such as 'redis://localhost:6379/0'"
    raise SettingsError(name, without_credentials(text), takes)


def _lease(name: str, value: object) -> float:
    lease = seconds(name, value)
    if lease < 1:
        raise SettingsError(name, value, "a number of seconds, 1 or more")
    return lease


def _name_or_none(name: str, value: object) -> str | None:
    if value in (None, ""):
        return None
    if not isinstance(value, str) or set(value) & set("{}"):
        raise SettingsError(name, value, "a name, without braces")
    return value


def _setting(  # noqa: PLR0913 -- a row of a table, each cell by its name
    name: str,
    read: Callable[[str, object], object],
    default: object = None,
    *,
    loads: bool = False,
    told: bool = True,
    takes_none: bool = False,
) -> dict[str, object]:
    """Describe a setting.

    Args:
        name: of the setting.
        read: checks its value and returns what it means.
        default: its value where the project sets none.
        loads: whether a component of the project is imported to read it.
        told: whether it is for projects; others are old names, or of the add-on's own.
        takes_none: whether None, set by the project, is a value and not the default.
    """
    return {
        "name": name,
        "read": read,
        "default": default,
        "loads": loads,
        "told": told,
        "takes_none": takes_none,
    }


@dataclass(frozen=True)
class Config:
    """What the project set, checked. ``docs/settings.rst`` says what each means."""

    enabled: bool = field(metadata=_setting("MANDELBOT_ENABLED", _flag, default=True))
    obey: bool = field(metadata=_setting("ROBOTSTXT_OBEY", _flag, default=True))
    agent: str | tuple[str, ...] | None = field(metadata=_setting("ROBOTSTXT_USER_AGENT", _agent))
    dialect: Dialect = field(metadata=_setting("MANDELBOT_DIALECT", _dialect, "mandelbot"))
    store: str = field(metadata=_setting("MANDELBOT_STORE", _store, "sqlite"))
    cache_ttl: float | None = field(metadata=_setting("MANDELBOT_CACHE_TTL", _seconds_or_none))
    cache_stale: float = field(metadata=_setting("MANDELBOT_CACHE_STALE", seconds, 2_592_000))
    robots_timeout: float = field(metadata=_setting("MANDELBOT_ROBOTS_TIMEOUT", seconds, 10))
    robots_max_bytes: int = field(
        metadata=_setting("MANDELBOT_ROBOTS_MAX_BYTES", _count(1), 512_000)
    )
    robots_max_redirects: int = field(
        metadata=_setting("MANDELBOT_ROBOTS_MAX_REDIRECTS", _count(0), 10)
    )
    private_hosts: bool = field(metadata=_setting("MANDELBOT_PRIVATE_HOSTS", _flag, default=False))
    pause_statuses: frozenset[int] = field(
        metadata=_setting("MANDELBOT_PAUSE_HTTP_CODES", _statuses, [503, 429])
    )
    pause_first: float = field(metadata=_setting("MANDELBOT_PAUSE_FIRST", seconds, 1))
    pause_base: float | None = field(
        metadata=_setting("MANDELBOT_PAUSE_BASE", _seconds_or_none, told=False)
    )
    """Deprecated: of a pause after a failed probe, which doubles then."""
    pause_longest: float = field(metadata=_setting("MANDELBOT_PAUSE_MAX", seconds, 3_600))
    retry_after_longest: float = field(
        metadata=_setting("MANDELBOT_PAUSE_RETRY_AFTER_MAX", seconds, 86_400)
    )
    pause_tries: int = field(metadata=_setting("MANDELBOT_PAUSE_TRIES", _count(1), 9))
    pause_wait: float = field(metadata=_setting("MANDELBOT_PAUSE_WAIT", seconds, 60))
    pause_total: float | None = field(metadata=_setting("MANDELBOT_PAUSE_TOTAL", _seconds_or_none))
    pause_idle: bool | str | None = field(metadata=_setting("MANDELBOT_PAUSE_IDLE", _idle))
    pause_close: bool = field(
        metadata=_setting("MANDELBOT_PAUSE_CLOSE", _flag, default=False, told=False)
    )
    """The old name of ``MANDELBOT_PAUSE_IDLE = "close"``."""
    pause_per_proxy: bool = field(
        metadata=_setting("MANDELBOT_PAUSE_PER_PROXY", _flag, default=False)
    )
    recovers: bool = field(metadata=_setting("MANDELBOT_RECOVERY", _flag, default=True))
    crawl_delays: dict[str, float] = field(
        metadata=_setting("MANDELBOT_CRAWL_DELAYS", crawl_delays, {})
    )
    pace: str = field(metadata=_setting("MANDELBOT_PACE", _one_of(*PACE_MODES), "manual"))
    pace_longest: float = field(metadata=_setting("MANDELBOT_PACE_MAX_DELAY", seconds, 60))
    pace_crawl_delay: str = field(
        metadata=_setting("MANDELBOT_PACE_CRAWL_DELAY", _one_of(*DELAY_READINGS), "interval")
    )
    pace_fetch_time: bool = field(
        metadata=_setting("MANDELBOT_PACE_FETCH_TIME", _flag, default=False)
    )
    inner_queue: type[ScrapyPriorityQueue] = field(
        metadata=_setting(
            "MANDELBOT_INNER_PRIORITY_QUEUE",
            _queue_class,
            "scrapy.pqueues.ScrapyPriorityQueue",
            loads=True,
            told=False,
        )
    )
    inner_scheduler: type | None = field(
        metadata=_setting("MANDELBOT_INNER_SCHEDULER", _scheduler_class, loads=True, told=False)
    )
    sitemaps: str = field(
        metadata=_setting("MANDELBOT_SITEMAPS", _one_of(*SITEMAP_MODES), "signal")
    )
    sitemap_since: float | str | None = field(metadata=_setting("MANDELBOT_SITEMAP_SINCE", _moment))
    sitemap_max_bytes: int = field(
        metadata=_setting("MANDELBOT_SITEMAP_MAX_BYTES", _count(1), 52_428_800)
    )
    sitemap_max_entries: int | None = field(
        metadata=_setting("MANDELBOT_SITEMAP_MAX_ENTRIES", _count_or_none, 50_000, takes_none=True)
    )
    robot_tags: str = field(
        metadata=_setting("MANDELBOT_ROBOT_TAGS", _one_of(*ROBOT_TAG_MODES), "annotate")
    )
    nofollow_links: bool = field(
        metadata=_setting("MANDELBOT_NOFOLLOW_LINKS", _flag, default=False)
    )
    job: str = field(metadata=_setting("MANDELBOT_JOB", _job, DURABLE))
    job_sync: str = field(metadata=_setting("MANDELBOT_JOB_SYNC", _one_of(*JOB_SYNCS), "normal"))
    job_name: str | None = field(metadata=_setting("MANDELBOT_JOB_NAME", _name_or_none))
    job_deliveries: int = field(metadata=_setting("MANDELBOT_JOB_DELIVERIES", _count(1), 3))
    job_lease: float = field(metadata=_setting("MANDELBOT_JOB_LEASE", _lease, 30))
    job_idle: float | None = field(metadata=_setting("MANDELBOT_JOB_IDLE", _seconds_or_none))
    purposes: tuple[str, ...] = field(metadata=_setting("MANDELBOT_PURPOSE", _purposes))
    usage: str = field(metadata=_setting("MANDELBOT_USAGE", _one_of(*USAGE_MODES), "annotate"))
    usage_unknown: str = field(
        metadata=_setting("MANDELBOT_USAGE_UNKNOWN", _one_of("allow", "drop"), "allow")
    )
    ledger: str | None = field(metadata=_setting("MANDELBOT_LEDGER", _path_or_none))
    sign: str | None = field(metadata=_setting("MANDELBOT_SIGN", _or_none(_one_of(*SIGN_MODES))))
    sign_key: str | None = field(metadata=_setting("MANDELBOT_SIGN_KEY", sign_key_place))
    sign_agent: str | None = field(metadata=_setting("MANDELBOT_SIGN_AGENT", sign_agent_url))
    sign_form: str = field(
        metadata=_setting("MANDELBOT_SIGN_FORM", _one_of(*SIGN_FORMS), "dictionary")
    )
    sign_http: bool = field(metadata=_setting("MANDELBOT_SIGN_HTTP", _flag, default=False))
    identity_warnings: bool = field(
        metadata=_setting("MANDELBOT_IDENTITY_WARNINGS", _flag, default=True)
    )
    summary: int = field(metadata=_setting("MANDELBOT_SUMMARY", _count(0), 20))
    metrics: str | None = field(metadata=_setting("MANDELBOT_METRICS", _metrics))
    report: str | None = field(metadata=_setting("MANDELBOT_REPORT", _report_path))

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Config:
        """Read and check all settings.

        Raises:
            SettingsError: naming the first setting whose value is wrong, and what it takes.
        """
        return cls(**{one.name: _read(settings, one.metadata) for one in fields(cls)})

    @property
    def fresh_for(self) -> float:
        """Seconds for which a copy serves: as set, or as the dialect has it."""
        return self.dialect.fresh_for if self.cache_ttl is None else self.cache_ttl

    @property
    def outcome_law(self) -> OutcomeLaw:
        """What the settings and the dialect say about answers to /robots.txt."""
        return OutcomeLaw(
            pause_statuses=self.pause_statuses,
            tries=self.pause_tries,
            longest_stale=self.cache_stale,
            forbidding_statuses=self.dialect.forbidding_statuses,
            only_status_200=self.dialect.only_status_200,
            first_wait=self.pause_first,
        )

    @property
    def pause_law(self) -> PauseLaw:
        """How long pauses last, as the settings say."""
        return PauseLaw(
            first=self.pause_first,
            base=self.pause_base,
            longest=self.pause_longest,
            retry_after_longest=self.retry_after_longest,
            tries=self.pause_tries,
            recovers=self.recovers,
        )

    @property
    def shares_job(self) -> bool:
        """Whether the requests of the crawl are in a job on Redis, for several workers."""
        return is_server(self.job)

    @property
    def closes_when_paused(self) -> bool:
        """Whether a spider with JOBDIR closes while only paused sites are left."""
        return self.pause_idle == CLOSE or self.pause_close

    @property
    def tells_idle(self) -> bool:
        """Whether ``spider_idle`` is sent while only paused sites are left.

        Unless told, it is where requests are kept elsewhere: what feeds such a crawl waits for it.
        """
        if self.pause_idle is None:
            return self.inner_scheduler is not None and not self.pause_close
        return self.pause_idle is True

    @property
    def obeys_pace(self) -> bool:
        """Whether sites are asked at the pace that their robots.txt asks for."""
        return self.obey and self.pace == "obey"

    @property
    def pace_law(self) -> PaceLaw:
        """How the settings have what files say about a pace read."""
        return PaceLaw(
            longest=self.pace_longest,
            delay_is_window=self.pace_crawl_delay == "window",
            by_fetch_time=self.pace_fetch_time,
        )

    def may_send(self, site: str, url: str) -> bool:
        """Return whether a site's files may send us to a URL: see :func:`leads_inside`."""
        return self.private_hosts or not leads_inside(site, url)

    def delay_by_hand(self, site: str) -> float | None:
        """Return the delay that the project sets for a site, its host or its host's domain."""
        return value_for(site, self.crawl_delays)


def check_settings(settings: BaseSettings) -> bool:
    """Check all settings but those that would have components of the project imported.

    Returns:
        Whether the package is enabled.

    Raises:
        SettingsError: as :meth:`Config.from_settings` does.
    """
    for one in fields(Config):
        if not one.metadata["loads"]:
            _read(settings, one.metadata)
    for old in DEPRECATED:
        if settings.getpriority(old.name) is not None:
            warnings.warn(
                f"{old.name} is deprecated: {old.instead}.", ScrapyDeprecationWarning, stacklevel=2
            )
    return bool(read_setting(settings, "enabled"))


def read_setting(settings: BaseSettings, attribute: str) -> Any:
    """Read and check one setting, given the name of its attribute in :class:`Config`.

    Raises:
        SettingsError: its value is wrong.
    """
    return _read(settings, Config.__dataclass_fields__[attribute].metadata)


def _read(settings: BaseSettings, setting: Mapping[str, Any]) -> Any:
    name = setting["name"]
    is_none = setting["takes_none"] and name in settings and settings[name] is None
    value = None if is_none else settings.get(name, setting["default"])  # which takes None as unset
    return setting["read"](name, value)


def setting_defaults() -> dict[str, object]:
    """Return each setting's name and default, in the order of ``docs/settings.rst``."""
    told = (one.metadata for one in fields(Config) if one.metadata["told"])
    return {setting["name"]: setting["default"] for setting in told}


def is_setting(name: str) -> bool:
    """Return whether a name is a setting, be it an old one or of the add-on's own."""
    return any(one.metadata["name"] == name for one in fields(Config))
