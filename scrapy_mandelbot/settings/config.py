"""The settings of the package, checked and read once into a frozen object."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from mandelbot import OutcomePolicy
from mandelbot.answers.outcome import PAUSE_STATUSES
from scrapy.settings import SETTINGS_PRIORITIES

from scrapy_mandelbot.politeness.pace import PacePolicy
from scrapy_mandelbot.politeness.pause_policy import PausePolicy
from scrapy_mandelbot.settings import values as v

if TYPE_CHECKING:
    from mandelbot import Dialect
    from scrapy.pqueues import ScrapyPriorityQueue
    from scrapy.settings import BaseSettings


class Setting(NamedTuple):
    """A setting, or a key of one that is a dict."""

    name: str
    """As users write it: ``MANDELBOT_PACE``; of a key ``MANDELBOT_CACHE["ttl"]``."""
    read: Callable[[str, object], Any]
    """Checks a value and converts it."""
    default: object = None
    """The value if the project sets none."""
    is_inner: bool = False
    """Whether the add-on sets it, to a component of the project that reading imports.
    """
    takes_none: bool = False
    """Whether None is a value rather than the default."""

    @property
    def group(self) -> str:
        """The name without the key."""
        return self.name.partition("[")[0]

    @property
    def key(self) -> str:
        """The key, or ``""`` if the setting is no dict."""
        return self.name.partition("[")[2].strip('"]')


def _setting(
    name: str,
    read: Callable[[str, object], object],
    default: object = None,
    **options: bool,
) -> Any:
    """Return a field of `Config` with the `Setting` that it is read from."""
    return field(metadata={"setting": Setting(name, read, default, **options)})


_STOCK_TIMEOUT = 180.0  # seconds; Scrapy's DOWNLOAD_TIMEOUT


@dataclass(frozen=True, eq=False, repr=False)
class Config:
    """The checked settings of a project, as ``docs/settings.rst`` describes them."""

    enabled: bool = _setting("MANDELBOT_ENABLED", v.flag, default=True)
    obey: bool = _setting("ROBOTSTXT_OBEY", v.flag, default=True)
    agent: str | tuple[str, ...] | None = _setting("ROBOTSTXT_USER_AGENT", v.agent)
    dialect: Dialect = _setting("MANDELBOT_DIALECT", v.dialect, "mandelbot")
    store: str = _setting("MANDELBOT_STORE", v.store, "sqlite")
    cache_ttl: float | None = _setting('MANDELBOT_CACHE["ttl"]', v.or_none(v.seconds))
    cache_stale: float = _setting('MANDELBOT_CACHE["stale"]', v.seconds, 2_592_000)
    robots_timeout: float = _setting(
        'MANDELBOT_LIMITS["robots_timeout"]', v.seconds_above_zero, 10
    )
    robots_deadline: float = field(default=_STOCK_TIMEOUT, kw_only=True)
    """Seconds for all of a robots.txt of which no copy serves: DOWNLOAD_TIMEOUT, unless
    the project has set `robots_timeout`.
    """
    robots_max_bytes: int = _setting(
        'MANDELBOT_LIMITS["robots_bytes"]', v.count(1), 512_000
    )
    private_hosts: bool = _setting(
        'MANDELBOT_LIMITS["private_hosts"]', v.flag, default=False
    )
    pause_statuses: frozenset[int] = _setting(
        "MANDELBOT_PAUSE_HTTP_CODES", v.statuses, list(PAUSE_STATUSES)
    )
    refusal: object = _setting("MANDELBOT_REFUSAL", v.or_none(v.function))
    pause_first: float = _setting('MANDELBOT_PAUSE_OPTIONS["first"]', v.seconds, 1)
    pause_longest: float = _setting(
        'MANDELBOT_PAUSE_OPTIONS["longest"]', v.seconds, 3_600
    )
    retry_after_longest: float = _setting(
        'MANDELBOT_PAUSE_OPTIONS["retry_after"]', v.seconds, 86_400
    )
    pause_tries: int | None = _setting(
        'MANDELBOT_PAUSE_OPTIONS["tries"]', v.or_none(v.count(1))
    )
    pause_wait: float = _setting('MANDELBOT_PAUSE_OPTIONS["wait"]', v.seconds, 60)
    pause_total: float | None = _setting(
        'MANDELBOT_PAUSE_OPTIONS["total"]', v.or_none(v.seconds)
    )
    pause_idle: str | float = _setting("MANDELBOT_PAUSE_IDLE", v.idle, "auto")
    recovers: bool = _setting(
        'MANDELBOT_PAUSE_OPTIONS["recovery"]', v.flag, default=True
    )
    crawl_delays: v.PerSite[float | str] = _setting(
        "MANDELBOT_CRAWL_DELAYS", v.crawl_delays, {}
    )
    pace: str = _setting("MANDELBOT_PACE", v.one_of(*v.PACE_MODES), "manual")
    pace_longest: float = _setting('MANDELBOT_PACE_OPTIONS["longest"]', v.seconds, 60)
    quota_longest: float = _setting(
        'MANDELBOT_PACE_OPTIONS["quota"]', v.seconds, 86_400
    )
    pace_crawl_delay: str = _setting(
        'MANDELBOT_PACE_OPTIONS["crawl_delay"]', v.one_of(*v.DELAY_READINGS), "interval"
    )
    pace_fetch_time: bool = _setting(
        'MANDELBOT_PACE_OPTIONS["fetch_time"]', v.flag, default=False
    )
    concurrency: str = _setting(
        "MANDELBOT_CONCURRENCY", v.one_of(*v.CONCURRENCY_MODES), "fixed"
    )
    together: str | None = _setting(
        "MANDELBOT_TOGETHER", v.or_none(v.one_of(*v.TOGETHER_MODES))
    )
    budget_pages: int | None = _setting(
        'MANDELBOT_SITE_BUDGET["pages"]', v.or_none(v.count(1))
    )
    budget_bytes: int | None = _setting(
        'MANDELBOT_SITE_BUDGET["bytes"]', v.or_none(v.count(1))
    )
    budget_seconds: float | None = _setting(
        'MANDELBOT_SITE_BUDGET["seconds"]', v.or_none(v.seconds_above_zero)
    )
    budget_sites: v.PerSite[dict[str, Any]] = _setting(
        'MANDELBOT_SITE_BUDGET["sites"]', v.site_budgets, {}
    )
    inner_queue: type[ScrapyPriorityQueue] = _setting(
        "MANDELBOT_INNER_PRIORITY_QUEUE",
        v.queue_class,
        "scrapy.pqueues.ScrapyPriorityQueue",
        is_inner=True,
    )
    inner_scheduler: type | None = _setting(
        "MANDELBOT_INNER_SCHEDULER", v.or_none(v.scheduler_class), is_inner=True
    )
    sitemaps: str | tuple[str, ...] = _setting(
        "MANDELBOT_SITEMAPS", v.sitemaps, "signal"
    )
    sitemap_since: float | str | None = _setting("MANDELBOT_SITEMAP_SINCE", v.moment)
    sitemap_max_bytes: int = _setting(
        'MANDELBOT_LIMITS["sitemap_bytes"]', v.count(1), 52_428_800
    )
    sitemap_max_entries: int | None = _setting(
        'MANDELBOT_LIMITS["sitemap_entries"]',
        v.or_none(v.count(1)),
        50_000,
        takes_none=True,
    )
    robot_tags: str = _setting(
        "MANDELBOT_ROBOT_TAGS", v.one_of(*v.ROBOT_TAG_MODES), "annotate"
    )
    nofollow_links: bool = _setting("MANDELBOT_NOFOLLOW_LINKS", v.flag, default=False)
    job: str = _setting("MANDELBOT_JOB", v.job, v.DURABLE)
    job_sync: str = _setting(
        'MANDELBOT_JOB_OPTIONS["sync"]', v.one_of(*v.JOB_SYNCS), "normal"
    )
    job_name: str | None = _setting(
        'MANDELBOT_JOB_OPTIONS["name"]', v.or_none(v.key_name)
    )
    job_deliveries: int = _setting('MANDELBOT_JOB_OPTIONS["deliveries"]', v.count(1), 3)
    job_pickles: bool = _setting(
        'MANDELBOT_JOB_OPTIONS["pickle"]', v.flag, default=True
    )
    job_cookies: bool = _setting(
        'MANDELBOT_JOB_OPTIONS["cookies"]', v.flag, default=True
    )
    job_lease: float = _setting('MANDELBOT_JOB_OPTIONS["lease"]', v.lease, 30)
    job_errors: str = _setting(
        'MANDELBOT_JOB_OPTIONS["errors"]', v.one_of(*v.JOB_ERRORS), "acknowledge"
    )
    purposes: tuple[str, ...] = _setting("MANDELBOT_PURPOSE", v.purposes)
    usage: str = _setting("MANDELBOT_USAGE", v.one_of(*v.USAGE_MODES), "obey")
    usage_unknown: str = _setting(
        "MANDELBOT_USAGE_UNKNOWN", v.one_of("allow", "drop"), "allow"
    )
    sign: str | None = _setting("MANDELBOT_SIGN", v.or_none(v.sign_mode))
    sign_key: str | None = _setting("MANDELBOT_SIGN_KEY", v.or_none(v.sign_key_place))
    sign_agent: str | None = _setting(
        'MANDELBOT_SIGN_OPTIONS["agent"]', v.or_none(v.sign_agent_url)
    )
    sign_http: bool = _setting('MANDELBOT_SIGN_OPTIONS["http"]', v.flag, default=False)
    identity_warnings: bool = _setting(
        "MANDELBOT_IDENTITY_WARNINGS", v.flag, default=True
    )
    exit_status: tuple[str, ...] = _setting("MANDELBOT_EXIT_STATUS", v.exit_status)
    expect: dict[str, Any] = _setting("MANDELBOT_EXPECT", v.expectations)
    progress: bool = _setting("MANDELBOT_PROGRESS", v.flag, default=True)
    summary: int = _setting("MANDELBOT_SUMMARY", v.count(0), 20)
    metrics: str | None = _setting("MANDELBOT_METRICS", v.metrics)
    report: str | None = _setting("MANDELBOT_REPORT", v.or_none(v.report_path))

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Config:
        """Read and check all settings.

        Raises:
            SettingsError: for the first invalid value; the message says what the
                setting takes.
        """
        values = {name: _read(settings, one) for name, one in _SETTINGS.items()}
        silence, deadline = _robots_timeouts(settings, values["robots_timeout"])
        values["robots_timeout"] = silence
        values["robots_deadline"] = deadline
        config = cls(**values)
        _check_pauses(settings)
        if config.enabled:
            _check_names(settings)
        return config

    @cached_property
    def fresh_for(self) -> float:
        """Seconds for which a cached robots.txt is fresh: as set, or by the dialect."""
        return self.dialect.fresh_for if self.cache_ttl is None else self.cache_ttl

    @cached_property
    def follows_sitemaps(self) -> bool:
        """Whether sitemaps are read and their pages crawled."""
        return self.sitemaps not in {"off", "signal"}

    @cached_property
    def named_sitemaps(self) -> tuple[str, ...]:
        """The paths that are read of sites whose robots.txt cites no sitemap."""
        return () if isinstance(self.sitemaps, str) else self.sitemaps

    @property
    def outcome_policy(self) -> OutcomePolicy:
        """How settings and dialect interpret answers to /robots.txt."""
        return OutcomePolicy(
            tries=self.pause_tries or PausePolicy().tries,
            longest_stale=self.cache_stale,
            forbidding_statuses=self.dialect.forbidding_statuses,
            only_status_200=self.dialect.only_status_200,
            first_wait=self.pause_first,
        )

    @property
    def pause_policy(self) -> PausePolicy:
        """How long pauses last."""
        default = PausePolicy()
        return PausePolicy(
            first=self.pause_first,
            longest=self.pause_longest,
            retry_after_longest=self.retry_after_longest,
            tries=self.pause_tries or default.tries,
            unstated_tries=self.pause_tries or default.unstated_tries,
            recovers=self.recovers,
        )

    @property
    def shares_job(self) -> bool:
        """Whether workers share the requests of the crawl in a job on Redis."""
        return v.is_server(self.job)

    @property
    def closes_when_paused(self) -> bool:
        """Whether a spider with JOBDIR closes while only paused sites are left."""
        return self.closes_unless_due_within is not None

    @property
    def closes_unless_due_within(self) -> float | None:
        """Seconds: a spider with JOBDIR closes when all sites are paused for longer."""
        if isinstance(self.pause_idle, float):
            return self.pause_idle
        return 60.0 if self.pause_idle in {"close", "fail"} else None

    @property
    def signals_idle(self) -> bool:
        """Whether ``spider_idle`` is sent while only paused sites are left.

        By default it is with a third-party scheduler, whose feeders wait for that
        signal.
        """
        if self.pause_idle == "auto":
            return self.inner_scheduler is not None
        return self.pause_idle == "signal"

    @property
    def has_budgets(self) -> bool:
        """Whether any site has a budget."""
        if self.budget_sites:
            return True
        limits = (self.budget_pages, self.budget_bytes, self.budget_seconds)
        return any(limit is not None for limit in limits)

    @property
    def obeys_pace(self) -> bool:
        """Whether the crawl obeys the crawl delays of robots.txt files.

        `obeys_pace_of` knows the sites for which the project sets something else.
        """
        return self.obey and self.pace == "obey"

    @property
    def pace_policy(self) -> PacePolicy:
        """How crawl delays of robots.txt files are interpreted."""
        return PacePolicy(
            longest=self.pace_longest,
            delay_is_window=self.pace_crawl_delay == "window",
            by_fetch_time=self.pace_fetch_time,
        )

    def may_send(self, site: str, url: str) -> bool:
        """Return whether a site's files may lead to a URL; see :func:`leads_inside`."""
        # Imported late: only a redirect needs it.
        from mandelbot.answers.inside import leads_inside  # noqa: PLC0415

        return self.private_hosts or not leads_inside(site, url)

    def obeys_pace_of(self, site: str) -> bool:
        """Return whether the crawl delay of a site's robots.txt is obeyed.

        A manual delay still replaces it.
        """
        mode = self.crawl_delays.of(site)
        if not isinstance(mode, str):
            mode = self.pace
        return self.obey and mode == "obey"


_PREFIX = "MANDELBOT_"
_SETTINGS: dict[str, Setting] = {
    one.name: one.metadata["setting"] for one in fields(Config) if one.metadata
}
"""By attribute of `Config`."""
PUBLIC_SETTINGS = [one for one in _SETTINGS.values() if not one.is_inner]
"""Those that users set, in the order of ``docs/settings.rst``."""
OPTIONS: dict[str, dict[str, object]] = {}
"""Settings that are dicts: their keys with defaults."""
for _one in PUBLIC_SETTINGS:
    if _one.key:
        OPTIONS.setdefault(_one.group, {})[_one.key] = _one.default


def check_settings(settings: BaseSettings) -> bool:
    """Check all settings but those whose check imports components of the project.

    Returns:
        Whether the package is enabled.

    Raises:
        SettingsError: as :meth:`Config.from_settings` does.
    """
    for one in PUBLIC_SETTINGS:
        _read(settings, one)
    _check_pauses(settings)
    is_enabled = bool(read_setting(settings, "enabled"))
    if is_enabled:
        _check_names(settings)
    return is_enabled


def _robots_timeouts(settings: BaseSettings, seconds: float) -> tuple[float, float]:
    """Return the seconds of silence of a slow robots.txt, and those for all of it.

    A number in MANDELBOT_LIMITS is both. Without it a robots.txt has the time of a
    page, as with Scrapy's own middleware.
    """
    _, priority = _value(settings, _SETTINGS["robots_timeout"])
    if priority:
        return seconds, seconds
    of_pages = settings.getfloat("DOWNLOAD_TIMEOUT") or _STOCK_TIMEOUT
    return min(seconds, of_pages), of_pages


def _check_names(settings: BaseSettings) -> None:
    """Refuse a misspelt name: a delay that is not obeyed harms more than a late start.

    A name that resembles none of the package's may be another package's, so it is only
    logged (`checks`).
    """
    for name in map(str, settings):
        if name.upper().startswith(_PREFIX) and not is_setting(name):
            meant = similar_setting(name.upper().removeprefix(_PREFIX))
            if meant:
                raise v.UnknownSettingError(name, settings[name], meant)


_SYNONYMS = {
    "DELAY": "MANDELBOT_CRAWL_DELAYS",
    "DOWNLOAD_DELAY": "MANDELBOT_CRAWL_DELAYS",
    "OBEY": "ROBOTSTXT_OBEY",
    "ROBOTSTXT_OBEY": "ROBOTSTXT_OBEY",
    "RETRY_TIMES": 'MANDELBOT_PAUSE_OPTIONS["tries"]',
    "USER_AGENT": "USER_AGENT",
}
"""Names that one guesses, in other words than the package's, and what they mean."""


def similar_setting(rest: str) -> str:
    """Return the setting, or the key of one, that a name may mean; empty: none.

    `rest`: the name without ``MANDELBOT_``.
    """
    if rest in _SYNONYMS:
        return _SYNONYMS[rest]
    from difflib import get_close_matches  # noqa: PLC0415 -- few need it

    ours = [name for name in setting_defaults() if name.startswith(_PREFIX)]
    names = {name.removeprefix(_PREFIX): name for name in ours}
    near = get_close_matches(rest, names, n=1)
    keys = {}
    for group, options in OPTIONS.items():
        start = group.removeprefix(_PREFIX).removesuffix("_OPTIONS")
        for key in options:
            keys[f"{start}_{key.upper()}"] = f'{group}["{key}"]'
    if rest in keys:
        return keys[rest]
    return names[near[0]] if near else ""


def _check_pauses(settings: BaseSettings) -> None:
    """Refuse seconds of pauses that contradict each other."""
    name = "MANDELBOT_PAUSE_OPTIONS"
    first = read_setting(settings, "pause_first")
    longest = read_setting(settings, "pause_longest")
    total = read_setting(settings, "pause_total")
    if first > longest:
        takes = f'seconds up to {name}["longest"], which is {longest:g}'
        raise v.SettingsError(f'{name}["first"]', first, takes)
    _, priority = _value(settings, _SETTINGS["pause_first"])
    if priority and total is not None and 0 < total < first:
        takes = f'0, or seconds from {name}["first"] up, which is {first:g}'
        raise v.SettingsError(f'{name}["total"]', total, takes)


def read_setting(settings: BaseSettings, attribute: str) -> Any:
    """Read and check one setting, by the name of its attribute in :class:`Config`.

    Raises:
        SettingsError: the value is invalid.
    """
    return _read(settings, _SETTINGS[attribute])


def _read(settings: BaseSettings, setting: Setting) -> Any:
    value, _ = _value(settings, setting)
    if value is None and not setting.takes_none:
        value = setting.default
    return setting.read(setting.name, value)


def _value(settings: BaseSettings, setting: Setting) -> tuple[Any, int]:
    """Return a value and its priority; that of a default is 0."""
    value = settings.get(setting.group)
    priority = settings.getpriority(setting.group) or 0
    if not setting.key:
        return (setting.default if value is None else value), priority
    options = v.options(setting.group, value, OPTIONS[setting.group])
    if setting.key not in options:
        return setting.default, 0
    return options[setting.key], priority


class SettingInForce(NamedTuple):
    """The effective value of one setting or option, and its source."""

    name: str
    """As users write it: ``MANDELBOT_CACHE["ttl"]`` for an option."""
    value: object
    source: str
    """``default``, ``addon``, ``project``, ``spider``, ``cmdline``: as Scrapy calls
    priorities.
    """


def settings_in_force(settings: BaseSettings) -> list[SettingInForce]:
    """Return the effective public settings, in the order of ``docs/settings.rst``."""
    sources = {priority: name for name, priority in SETTINGS_PRIORITIES.items()}
    found = []
    for setting in PUBLIC_SETTINGS:
        value, priority = _value(settings, setting)
        source = sources.get(priority, f"priority {priority}")
        found.append(SettingInForce(setting.name, value, source))
    return found


def setting_names(attributes: Iterable[str]) -> dict[str, str]:
    """Return the names that users write for attributes of `Config`."""
    return {attribute: _SETTINGS[attribute].name for attribute in attributes}


def setting_defaults() -> dict[str, object]:
    """Return each setting's name and default, in the order of ``docs/settings.rst``."""
    return {one.group: {} if one.key else one.default for one in PUBLIC_SETTINGS}


def is_setting(name: str) -> bool:
    """Return whether a name is a setting, internal ones included."""
    return any(one.group == name for one in _SETTINGS.values())
