"""One line in settings.py wires the package: ``ADDONS = {"scrapy_mandelbot.Addon": 500}``."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.core.scheduler import Scheduler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware as StockRobotsTxtMiddleware
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.misc import load_object

from scrapy_mandelbot.config import Config
from scrapy_mandelbot.console import PauseConsole
from scrapy_mandelbot.downloadermiddlewares import PauseMiddleware, RobotsTxtMiddleware
from scrapy_mandelbot.extensions import SpiderHooks
from scrapy_mandelbot.following import SitemapFollower
from scrapy_mandelbot.queue import SiteQueue
from scrapy_mandelbot.schedulers import ParkingScheduler
from scrapy_mandelbot.spidermiddlewares import RobotTagsMiddleware

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings, Settings

logger = logging.getLogger(__name__)


class Addon:
    """Sets up the package for one crawler. What the project sets itself stays as it is."""

    def update_settings(self, settings: Settings) -> None:
        """Check the package's settings and put its components in their places.

        Raises:
            SettingsError: a setting has a value that it does not take.
        """
        if not Config.from_settings(settings).enabled:
            return
        settings.set("ROBOTSTXT_OBEY", True, "addon")  # noqa: FBT003 -- Scrapy's interface
        settings.set("ROBOTSTXT_PARSER", "scrapy_mandelbot.MandelbotRobotParser", "addon")
        middlewares = "DOWNLOADER_MIDDLEWARES"
        _switch_off(settings, middlewares, StockRobotsTxtMiddleware)
        settings.setdefault_in_component_priority_dict(middlewares, RobotsTxtMiddleware, 100)
        settings.setdefault_in_component_priority_dict(middlewares, PauseMiddleware, 950)
        settings.setdefault_in_component_priority_dict(
            "SPIDER_MIDDLEWARES", RobotTagsMiddleware, 40
        )
        settings.setdefault_in_component_priority_dict("EXTENSIONS", SpiderHooks, 500)
        settings.setdefault_in_component_priority_dict("EXTENSIONS", PauseConsole, 500)
        settings.setdefault_in_component_priority_dict("EXTENSIONS", SitemapFollower, 500)
        _put_site_queue(settings)
        if not settings.getbool("ROBOTSTXT_OBEY"):
            logger.info("ROBOTSTXT_OBEY is off: robots.txt is not asked for, pauses are kept.")


def _switch_off(settings: BaseSettings, name: str, component: type) -> None:
    """Switch a component of Scrapy's own off, by the very key that Scrapy's defaults have for it.

    replace_in_component_priority_dict() does not see the defaults, and in older versions of
    Scrapy a class does not override its import path.
    """
    components = {
        key: order for key, order in settings.getdict(name).items() if load_object(key) != component
    }
    for key in settings.getdict(f"{name}_BASE"):
        if load_object(key) == component:
            components[key] = None
    settings.set(name, components, settings.getpriority(name) or 0)


def _put_site_queue(settings: BaseSettings) -> None:
    """Make SiteQueue the scheduler's queue; the project's own, if it has one, goes within."""
    name = "SCHEDULER_PRIORITY_QUEUE"
    queue_class: Any = load_object(settings[name])
    if not _is_scrapys(settings["SCHEDULER"]):
        settings.set("MANDELBOT_INNER_SCHEDULER", settings["SCHEDULER"], "addon")
        priority = settings.getpriority("SCHEDULER") or 0
        settings.set("SCHEDULER", "scrapy_mandelbot.ParkingScheduler", priority)
    elif not _is_the_projects(settings, name) or queue_class in {
        DownloaderAwarePriorityQueue,
        ScrapyPriorityQueue,
        SiteQueue,
    }:
        priority = max(settings.getpriority(name) or 0, _ADDON)
        settings.set(name, "scrapy_mandelbot.SiteQueue", priority)
    elif issubclass(queue_class, ScrapyPriorityQueue):
        settings.set("MANDELBOT_INNER_PRIORITY_QUEUE", queue_class, "addon")
        settings.set(name, "scrapy_mandelbot.SiteQueue", settings.getpriority(name) or 0)
    else:
        logger.warning(
            "%s = %s stays, as the project says: it does not pass paused sites by; each of their"
            " requests waits for at most MANDELBOT_PAUSE_WAIT seconds. A subclass of"
            " scrapy.pqueues.ScrapyPriorityQueue would be used within scrapy_mandelbot's queue.",
            name,
            settings[name],
        )


_ADDON = SETTINGS_PRIORITIES["addon"]


def _is_the_projects(settings: BaseSettings, name: str) -> bool:
    return (settings.getpriority(name) or 0) > _ADDON


def _is_scrapys(scheduler: Any) -> bool:
    """Return whether the scheduler is Scrapy's own, or a subclass: one with our queue in it."""
    # Not issubclass(): to that, any class with a scheduler's methods is a subclass of Scrapy's.
    ancestors = getattr(load_object(scheduler), "__mro__", ())
    return Scheduler in ancestors or ParkingScheduler in ancestors
