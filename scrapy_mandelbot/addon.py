"""One line in settings.py wires the package.

``ADDONS = {"scrapy_mandelbot.Addon": 500}``. Scrapy calls add-ons before it installs
the reactor. A component of the project that imports the reactor at its top would then
install a different one than the settings name. So the add-on imports no component,
unlike Scrapy's own helpers, and compares import paths instead. `QueueSetup` looks at
the project's queue and scheduler later, when the reactor is installed.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.core.scheduler import BaseScheduler, Scheduler
from scrapy.downloadermiddlewares.robotstxt import (
    RobotsTxtMiddleware as StockRobotsTxtMiddleware,
)
from scrapy.exceptions import NotConfigured
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.misc import load_object

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.settings.checks import is_class_of, is_for_robots
from scrapy_mandelbot.settings.config import check_settings, read_setting
from scrapy_mandelbot.settings.values import fail_cleanly, is_server

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings, Settings
    from typing_extensions import Self

logger = logging.getLogger(__name__)

_PACKAGE = __name__.partition(".")[0]
_ADDON = SETTINGS_PRIORITIES["addon"]
_FIRST = -1_000_000
_SHARED = "scrapy_mandelbot.SharedJobScheduler"


class Component(NamedTuple):
    """A component of the package, by its import path: none is imported in vain."""

    setting: str
    name: str
    """The import path, relative to the package."""
    order: int
    is_on: Callable[[BaseSettings], bool] = lambda _: True
    """Whether the settings enable it."""


def _sets(*names: str) -> Callable[[BaseSettings], bool]:
    """Make a function that checks whether any of these settings is on."""
    return lambda settings: any(settings.get(name) not in _OFF for name in names)


def _has_terminal(settings: BaseSettings) -> bool:
    """Return whether a person may watch standard error, and the line is not off."""
    if sys.stderr is None or not sys.stderr.isatty():
        return False
    return bool(read_setting(settings, "progress"))


_OFF = (None, "", "off", "signal", False)
_OF_SITEMAPS = _sets("MANDELBOT_SITEMAPS", "JOBDIR")
_OF_USE = _sets("MANDELBOT_PURPOSE")
_DOWNLOADS = "DOWNLOADER_MIDDLEWARES"
_SPIDERS = "SPIDER_MIDDLEWARES"
_EXTENSIONS = "EXTENSIONS"
COMPONENTS = (
    Component(_DOWNLOADS, "report.account.Account", _FIRST),
    Component(
        _DOWNLOADS,
        "sitemap_crawl.selection.SitemapBodies",
        _FIRST + 1,
        _sets("MANDELBOT_SITEMAPS"),
    ),
    Component(
        _DOWNLOADS,
        "downloadermiddlewares.site_budget.SiteBudgetMiddleware",
        95,
        _sets("MANDELBOT_SITE_BUDGET"),
    ),
    Component(_DOWNLOADS, "RobotsTxtMiddleware", 100),
    Component(_DOWNLOADS, "PauseMiddleware", 950),
    Component(
        _DOWNLOADS,
        "downloadermiddlewares.signing.SigningMiddleware",
        960,
        _sets("MANDELBOT_SIGN"),
    ),
    Component(_DOWNLOADS, "spidermiddlewares.usage.UsageMiddleware", 105, _OF_USE),
    Component(_SPIDERS, "RobotTagsMiddleware", 40),
    Component(_SPIDERS, "spidermiddlewares.start_turns.StartTurns", _FIRST + 2),
    Component(_SPIDERS, "JobMiddleware", _FIRST, _sets("JOBDIR", "MANDELBOT_JOB")),
    Component(_SPIDERS, "spidermiddlewares.usage.UsageObeyingMiddleware", 39, _OF_USE),
    Component(_EXTENSIONS, "addon.QueueSetup", _FIRST),
    Component(_EXTENSIONS, "SpiderHooks", 500),
    Component(
        _EXTENSIONS,
        "PauseConsole",
        500,
        lambda got: got.getbool("TELNETCONSOLE_ENABLED"),
    ),
    Component(_EXTENSIONS, "SitemapFollower", 500, _OF_SITEMAPS),
    Component(_EXTENSIONS, "CrawlSummary", 500),
    Component(_EXTENSIONS, "report.progress_line.CrawlProgress", 500, _has_terminal),
    Component(_EXTENSIONS, "CrawlMetrics", 500, _sets("MANDELBOT_METRICS")),
    Component(
        _EXTENSIONS,
        "report.worker_report.SharedReport",
        500,
        lambda got: is_server(str(got.get("MANDELBOT_JOB"))),
    ),
    Component(_EXTENSIONS, "CrawlReport", 500, _sets("MANDELBOT_REPORT")),
)
"""All components; `Component.is_on` selects those of a crawl."""


class Addon:
    """Sets up the package for one crawler.

    Settings of the project are not overridden.
    """

    def __init__(self, crawler: Crawler | None = None) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the add-on for a crawler."""
        return cls(crawler)

    def update_settings(self, settings: Settings) -> None:
        """Check the package's settings and add its components.

        Raises:
            SettingsError: a setting has an invalid value.
        """
        with fail_cleanly(self._crawler):
            is_enabled = check_settings(settings)
        if not is_enabled:
            _warn_of_job(settings, "MANDELBOT_ENABLED is False")
            return
        settings.set("ROBOTSTXT_OBEY", True, "addon")  # noqa: FBT003 -- Scrapy's interface
        settings.set(
            "ROBOTSTXT_PARSER", "scrapy_mandelbot.MandelbotRobotParser", "addon"
        )
        if not _is_off(settings, "RobotsTxtMiddleware"):
            _switch_off(settings, _DOWNLOADS, StockRobotsTxtMiddleware)
        for one in COMPONENTS:
            if one.is_on(settings):
                _switch_on(settings, one.setting, f"{_PACKAGE}.{one.name}", one.order)


class QueueSetup:
    """Installs the site queue, once the project's own components may be imported.

    Scrapy builds extensions after it has installed the reactor and before it freezes
    the settings. This one runs first, and removes itself by raising NotConfigured.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> QueueSetup:
        """Set SCHEDULER_PRIORITY_QUEUE or SCHEDULER.

        Raises:
            NotConfigured: always.
        """
        fetches_rules = put_stand_ins(crawler.settings)
        put_site_queue(crawler.settings)
        if not fetches_rules:
            Crawl.of(crawler).fetches_rules = False
        if (
            crawler.settings["SCHEDULER"] == _SHARED
            and not Crawl.of(crawler).asks_for_more
        ):
            # the shell would take sites from workers
            _set(crawler.settings, "SCHEDULER", Scheduler, _ADDON)
        _warn_of_other_job(crawler.settings)
        raise NotConfigured


class _Schedulers(Enum):
    """Kinds of schedulers."""

    SCRAPYS = "Scrapy's own, and what is derived from it, ours for jobs too"
    PARKING = "ours, which wraps another one"
    OTHERS = "of another project"


class _Queues(Enum):
    """Kinds of priority queues."""

    OURS = "SiteQueue"
    SCRAPYS = "Scrapy's own, or any that the project did not choose"
    DERIVED = "derived from Scrapy's: SiteQueue can wrap it"
    OTHERS = "another interface, perhaps"


class Wiring(NamedTuple):
    """A setting that is set for a kind of scheduler and a kind of queue."""

    name: str
    value: Any
    """`_THEIRS`: the scheduler or queue that the project has set."""
    least: int = 0
    """The least priority at which it is set."""


_QUEUE = "SCHEDULER_PRIORITY_QUEUE"
_SITE_QUEUE = "scrapy_mandelbot.SiteQueue"
_THEIRS = object()
_WRAPS_THEIRS = (
    Wiring("MANDELBOT_INNER_SCHEDULER", _THEIRS, _ADDON),
    Wiring("SCHEDULER", "scrapy_mandelbot.ParkingScheduler"),
)
WIRINGS = {
    (_Schedulers.SCRAPYS, _Queues.OURS): (Wiring(_QUEUE, _SITE_QUEUE, _ADDON),),
    (_Schedulers.SCRAPYS, _Queues.SCRAPYS): (Wiring(_QUEUE, _SITE_QUEUE, _ADDON),),
    (_Schedulers.SCRAPYS, _Queues.DERIVED): (
        Wiring("MANDELBOT_INNER_PRIORITY_QUEUE", _THEIRS, _ADDON),
        Wiring(_QUEUE, _SITE_QUEUE),
    ),
    # a warning says that it is used as set
    (_Schedulers.SCRAPYS, _Queues.OTHERS): (),
    # two would count twice
    (_Schedulers.PARKING, _Queues.OURS): (
        Wiring(_QUEUE, DownloaderAwarePriorityQueue),
    ),
    **{(_Schedulers.OTHERS, queue): _WRAPS_THEIRS for queue in _Queues},
}
"""What is set for which scheduler and queue; of other pairs nothing is."""


def put_stand_ins(settings: BaseSettings) -> bool:
    """Enable what stands in for a middleware that the project has set to None.

    A middleware for robots.txt that is None is no wish to disobey, which
    ROBOTSTXT_OBEY = False expresses: Scrapy's own stays, unless the project has
    another. Without `PauseMiddleware` nothing pauses, and answers are still counted.

    Returns whether the package's middleware for robots.txt, or one derived from it,
    may fetch the rules of sites.
    """
    enabled = [
        load_object(key)
        for key, order in settings.getdict(_DOWNLOADS).items()
        if order is not None
    ]
    fetches_rules = True
    if _is_off(settings, "RobotsTxtMiddleware"):
        _leave_robots_to_scrapy(settings, enabled)
        ours = f"{_PACKAGE}.RobotsTxtMiddleware"
        fetches_rules = _has_kind_of(enabled, ours)
    pauses = f"{_PACKAGE}.PauseMiddleware"
    if _is_off(settings, "PauseMiddleware") and not _has_kind_of(enabled, pauses):
        counts = f"{_PACKAGE}.downloadermiddlewares.counting.CountingMiddleware"
        _switch_on(settings, _DOWNLOADS, counts, 950)
        logger.info(
            "%s is None in %s: no site is paused, and no crawl delay obeyed.",
            pauses,
            _DOWNLOADS,
        )
    return fetches_rules


def _leave_robots_to_scrapy(settings: BaseSettings, enabled: list[Any]) -> None:
    """Keep Scrapy's own middleware for robots.txt, unless the project has another."""
    others = [one for one in enabled if one is not StockRobotsTxtMiddleware]
    if any(is_for_robots(one) for one in others):
        _switch_off(settings, _DOWNLOADS, StockRobotsTxtMiddleware)
        return
    components = settings.getdict(_DOWNLOADS)
    is_set = any(_is(key, StockRobotsTxtMiddleware) for key in components)
    if settings.getbool("ROBOTSTXT_OBEY") and not is_set:
        logger.info(
            "%s.RobotsTxtMiddleware is None in %s: Scrapy's own RobotsTxtMiddleware"
            " obeys robots.txt, as ROBOTSTXT_OBEY asks.",
            _PACKAGE,
            _DOWNLOADS,
        )


def put_site_queue(settings: BaseSettings) -> None:
    """Make SiteQueue the scheduler's queue; a queue of the project is wrapped.

    Combinations that Scrapy itself rejects are left to it: a SCHEDULER that is no
    scheduler, and its own queue with CONCURRENT_REQUESTS_PER_IP.
    """
    scheduler_class: Any = load_object(settings["SCHEDULER"])
    queue_class: Any = load_object(settings[_QUEUE])
    theirs = {
        "MANDELBOT_INNER_SCHEDULER": scheduler_class,
        "MANDELBOT_INNER_PRIORITY_QUEUE": queue_class,
    }
    scheduler = _kind_of_scheduler(scheduler_class)
    queue = _kind_of_queue(queue_class, settings.getpriority(_QUEUE) or 0)
    if scheduler is None:
        return
    is_scrapys = scheduler is _Schedulers.SCRAPYS
    is_by_ip = settings.getint("CONCURRENT_REQUESTS_PER_IP") > 0
    if is_scrapys and is_by_ip and queue_class is DownloaderAwarePriorityQueue:
        return
    for one in WIRINGS.get((scheduler, queue), ()):
        value = theirs[one.name] if one.value is _THEIRS else one.value
        _set(settings, one.name, value, one.least)
    if is_scrapys and queue is _Queues.OTHERS:
        logger.warning(
            "%s = %s is used as set: it does not skip paused sites, and each of their"
            " requests waits for at most MANDELBOT_PAUSE_OPTIONS['wait'] seconds. A"
            " subclass of scrapy.pqueues.ScrapyPriorityQueue would be wrapped in"
            " scrapy_mandelbot's queue.",
            _QUEUE,
            settings[_QUEUE],
        )
    if scheduler_class is Scheduler and queue in {_Queues.OURS, _Queues.SCRAPYS}:
        _put_scheduler_of_job(settings)


def _kind_of_scheduler(scheduler_class: Any) -> _Schedulers | None:
    """Return the kind of a scheduler; None: it is none."""
    if not isinstance(scheduler_class, type):
        return None
    if not issubclass(scheduler_class, BaseScheduler):
        return None
    if _is_kind_of(scheduler_class, "scrapy_mandelbot.ParkingScheduler"):
        return _Schedulers.PARKING
    if _is_scrapys(scheduler_class):
        return _Schedulers.SCRAPYS
    return _Schedulers.OTHERS


def _kind_of_queue(queue_class: Any, priority: int) -> _Queues:
    """Return the kind of a queue, which has been set at a priority."""
    if is_class_of(queue_class, _SITE_QUEUE):
        return _Queues.OURS
    is_scrapys = queue_class in {DownloaderAwarePriorityQueue, ScrapyPriorityQueue}
    if is_scrapys or priority <= _ADDON:
        return _Queues.SCRAPYS
    if isinstance(queue_class, type) and issubclass(queue_class, ScrapyPriorityQueue):
        return _Queues.DERIVED
    return _Queues.OTHERS


def _put_scheduler_of_job(settings: BaseSettings) -> None:
    """Let a job store the requests, where there is one."""
    if is_server(str(settings.get("MANDELBOT_JOB"))):
        _set(settings, "SCHEDULER", _SHARED, _ADDON)
    elif settings["JOBDIR"]:
        _put_job_scheduler(settings)


def _is_scrapys_job(settings: BaseSettings) -> bool:
    """Return whether Scrapy's own scheduler began the job in JOBDIR."""
    from scrapy_mandelbot.job.job_store import JOB_FILE  # noqa: PLC0415 -- for a job

    folder = Path(settings["JOBDIR"])
    return (folder / "requests.queue").exists() and not (folder / JOB_FILE).exists()


def _put_job_scheduler(settings: BaseSettings) -> None:
    """Store requests crash-safe, unless the project has its own filter or queue."""
    from scrapy_mandelbot.job.job_store import (  # noqa: PLC0415 -- for a job
        are_scrapys_queues,
    )

    if not are_scrapys_queues(settings):
        logger.warning(
            "JOBDIR has Scrapy's format and does not survive a crash, because the"
            " project sets a custom DUPEFILTER_CLASS or disk queue."
        )
        return
    # Scrapy unpickles what it stored.
    if _is_scrapys_job(settings) and read_setting(settings, "job_pickles"):
        logger.warning(
            "%s holds a job in Scrapy's format: it is continued in that format, which"
            " does not survive a crash. A new JOBDIR does.",
            settings["JOBDIR"],
        )
        return
    _set(settings, "SCHEDULER", "scrapy_mandelbot.JobScheduler", _ADDON)


def _warn_of_other_job(settings: BaseSettings) -> None:
    if not settings["JOBDIR"]:
        return
    if settings["SCHEDULER"] == _SHARED:
        logger.info(
            "The requests are in the job on Redis (MANDELBOT_JOB), not in JOBDIR = %s",
            settings["JOBDIR"],
        )
    # Only where there is a job: they load 22 modules.
    from scrapy_mandelbot.job.job import keeps_job  # noqa: PLC0415

    if not keeps_job(settings):
        _warn_of_job(settings, f"{settings['SCHEDULER']} stores the requests")


def _warn_of_job(settings: BaseSettings, why: str) -> None:
    """Warn of a job in JOBDIR that a run does not resume."""
    if not settings["JOBDIR"]:
        return
    from scrapy_mandelbot.job.job_store import JOB_FILE  # noqa: PLC0415 -- for a job

    file = Path(settings["JOBDIR"], JOB_FILE)
    if file.exists():
        logger.warning(
            "%s holds a job that this run does not resume, because %s. Its requests"
            " stay as they are.",
            file,
            why,
        )


def _is_off(settings: BaseSettings, name: str) -> bool:
    """Return whether the project sets a middleware of the package to None."""
    path = f"{_PACKAGE}.{name}"
    components = settings.getdict(_DOWNLOADS)
    return any(order is None and _is(key, path) for key, order in components.items())


def _switch_on(settings: BaseSettings, name: str, component: str, order: int) -> None:
    """Add a component of the package, unless the project sets or disables it itself."""
    components = settings.getdict(name)
    if any(_is(key, component) for key in components):
        return
    components[component] = order
    _set(settings, name, components)


def _switch_off(settings: BaseSettings, name: str, component: type) -> None:
    """Disable a component of Scrapy, by the key that Scrapy's defaults have for it.

    replace_in_component_priority_dict() does not see the defaults, and in older
    versions of Scrapy a class does not override its import path.
    """
    components = {
        key: order
        for key, order in settings.getdict(name).items()
        if not _is(key, component)
    }
    components |= {
        key: None for key in settings.getdict(f"{name}_BASE") if _is(key, component)
    }
    _set(settings, name, components)


def _set(settings: BaseSettings, name: str, value: Any, least: int = 0) -> None:
    """Set a setting at the priority that it has, or at `least` if that is higher."""
    settings.set(name, value, max(settings.getpriority(name) or 0, least))


def _is(key: Any, component: type | str) -> bool:
    """Return whether a class or an import path means the component, without imports.

    A module that is not imported yet cannot hold a class that exists.
    """
    if not isinstance(key, str):
        if isinstance(component, str):
            return is_class_of(key, component)
        return key is component
    module, _, name = key.rpartition(".")
    if isinstance(component, str) and module.partition(".")[0] == _PACKAGE:
        return name == component.rpartition(".")[2]
    found = getattr(sys.modules.get(module), "__dict__", {}).get(name)
    return found is not None and _is(found, component)


def _is_scrapys(scheduler_class: type) -> bool:
    """A subclass counts, too: it uses our queue."""
    ours = ("scrapy_mandelbot.JobScheduler", _SHARED)
    is_ours = any(_is_kind_of(scheduler_class, path) for path in ours)
    return is_ours or Scheduler in scheduler_class.__mro__


def _has_kind_of(components: list[Any], path: str) -> bool:
    """Return whether a class of the package, or one derived from it, is among them."""
    return any(isinstance(one, type) and _is_kind_of(one, path) for one in components)


def _is_kind_of(scheduler_class: type, path: str) -> bool:
    # Not issubclass(): to that, any class with a scheduler's methods is a subclass of
    # Scrapy's.
    return any(is_class_of(one, path) for one in scheduler_class.__mro__)
