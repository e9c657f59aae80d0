"""One line in settings.py, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys

import pytest
from crawlers import get_crawler
from crawling import SETTINGS
from scrapy import Spider
from scrapy.downloadermiddlewares.robotstxt import (
    RobotsTxtMiddleware as StockMiddleware,
)
from scrapy.exceptions import NotConfigured
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.settings import BaseSettings, Settings
from scrapy.spidermiddlewares.httperror import HttpErrorMiddleware
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

from scrapy_mandelbot import (
    MandelbotRobotParser,
    ParkingScheduler,
    PauseMiddleware,
    RobotsTxtMiddleware,
    RobotTagsMiddleware,
    SettingsError,
    SiteQueue,
    SpiderHooks,
)
from scrapy_mandelbot.report.account import Account

CLI = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"


class OwnQueue(ScrapyPriorityQueue):
    """A project's own."""


class OtherQueue:
    """A project's own that is like none of Scrapy's."""


class OtherScheduler:
    """A project's own. To issubclass() it is one of Scrapy's, by its methods."""

    def has_pending_requests(self): ...
    def enqueue_request(self, request): ...
    def next_request(self): ...


def settings_with_addon(
    custom: dict[str, object] | None = None, **project: object
) -> BaseSettings:
    """Return the settings as a crawler has them once the add-on is applied."""

    class CustomSpider(Spider):
        custom_settings = custom

    crawler = get_crawler(CustomSpider, {**SETTINGS, **project})
    return crawler.settings


def middlewares(
    settings: BaseSettings, name: str = "DOWNLOADER_MIDDLEWARES"
) -> list[type]:
    with_base = getattr(
        settings,
        "get_component_priority_dict_with_base",
        settings.getwithbase,  # before Scrapy 2.15
    )
    listed = build_component_list(with_base(name))
    return [load_object(one) for one in listed]


def test_one_line_of_settings_wires_all():
    """Components in their places, the stock middleware gone, the rules obeyed."""
    settings = settings_with_addon()
    assert settings.getbool("ROBOTSTXT_OBEY")
    assert load_object(settings["ROBOTSTXT_PARSER"]) is MandelbotRobotParser
    assert load_object(settings["SCHEDULER_PRIORITY_QUEUE"]) is SiteQueue
    assert SpiderHooks in map(load_object, settings.getdict("EXTENSIONS"))
    order = middlewares(settings)
    assert StockMiddleware not in order
    assert order[0] is Account  # it sees what no other has tried again
    # after the off-site filter, as the stock one
    assert order.index(RobotsTxtMiddleware) == 2
    assert order[-1] is PauseMiddleware
    order = middlewares(settings, "SPIDER_MIDDLEWARES")
    assert order.index(HttpErrorMiddleware) == order.index(RobotTagsMiddleware) + 1


def test_settings_of_the_project_stay():
    """ROBOTSTXT_OBEY, the parser, and the order or absence of our middlewares."""
    settings = settings_with_addon(
        ROBOTSTXT_OBEY=False,
        ROBOTSTXT_PARSER="scrapy.robotstxt.PythonRobotParser",
        DOWNLOADER_MIDDLEWARES={
            "scrapy_mandelbot.PauseMiddleware": None,
            "scrapy_mandelbot.RobotsTxtMiddleware": 120,
        },
    )
    assert not settings.getbool("ROBOTSTXT_OBEY")
    assert settings["ROBOTSTXT_PARSER"] == "scrapy.robotstxt.PythonRobotParser"
    assert PauseMiddleware not in middlewares(settings)
    assert (
        settings.getdict("DOWNLOADER_MIDDLEWARES")[
            "scrapy_mandelbot.RobotsTxtMiddleware"
        ]
        == 120
    )


def test_a_spider_switches_all_of_it_off():
    """custom_settings beat the project; nothing of ours is left."""
    before = Settings(SETTINGS)
    settings = settings_with_addon({"MANDELBOT_ENABLED": False})
    names = [
        "ROBOTSTXT_OBEY",
        "ROBOTSTXT_PARSER",
        "SCHEDULER_PRIORITY_QUEUE",
        "EXTENSIONS",
    ]
    assert [settings[name] for name in names] == [before[name] for name in names]
    for name in ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES"):
        assert middlewares(settings, name) == middlewares(before, name)


def test_a_spider_switches_it_on_where_the_project_has_it_off():
    """The other way round."""
    settings = settings_with_addon({"MANDELBOT_ENABLED": True}, MANDELBOT_ENABLED=False)
    assert load_object(settings["SCHEDULER_PRIORITY_QUEUE"]) is SiteQueue


@pytest.mark.parametrize("own", [DownloaderAwarePriorityQueue, ScrapyPriorityQueue])
def test_scrapys_own_queues_are_replaced(own):
    """Also where the project names one of them, as older projects do."""
    settings = settings_with_addon(SCHEDULER_PRIORITY_QUEUE=own)
    assert load_object(settings["SCHEDULER_PRIORITY_QUEUE"]) is SiteQueue


def test_a_projects_own_queue_is_wrapped():
    """One like ScrapyPriorityQueue orders the requests of a site."""
    settings = settings_with_addon(SCHEDULER_PRIORITY_QUEUE=OwnQueue)
    assert load_object(settings["SCHEDULER_PRIORITY_QUEUE"]) is SiteQueue
    assert settings["MANDELBOT_INNER_PRIORITY_QUEUE"] is OwnQueue


def test_a_queue_that_cannot_be_wrapped_stays_with_a_warning(caplog):
    """A queue that cannot be wrapped is used as set, and a log line says what that
    costs.
    """
    settings = settings_with_addon(SCHEDULER_PRIORITY_QUEUE=OtherQueue)
    assert settings["SCHEDULER_PRIORITY_QUEUE"] is OtherQueue
    assert "it does not skip paused sites" in caplog.text


def test_a_third_party_scheduler_is_wrapped():
    """A scheduler that is not Scrapy's is asked by one that parks requests of paused
    sites.
    """
    settings = settings_with_addon(SCHEDULER=OtherScheduler)
    assert load_object(settings["SCHEDULER"]) is ParkingScheduler
    assert settings["MANDELBOT_INNER_SCHEDULER"] is OtherScheduler
    assert settings_with_addon()["SCHEDULER"] == "scrapy.core.scheduler.Scheduler"


@pytest.mark.parametrize("own", [{}, {"SCHEDULER_PRIORITY_QUEUE": SiteQueue}])
def test_a_site_queue_is_not_wrapped_in_another(own):
    """Where the project names our scheduler, or a kind of it, what is within has
    Scrapy's queue.
    """

    class Parks(ParkingScheduler):
        pass

    for scheduler in (ParkingScheduler, Parks):
        named = {"MANDELBOT_INNER_SCHEDULER": "scrapy.core.scheduler.Scheduler"}
        settings = settings_with_addon(SCHEDULER=scheduler, **named, **own)
        assert settings["SCHEDULER"] is scheduler
        assert (
            load_object(settings["SCHEDULER_PRIORITY_QUEUE"])
            is DownloaderAwarePriorityQueue
        )


def test_scrapy_refuses_what_is_no_scheduler():
    """The project's mistake stays as it is, and Scrapy's engine says what it is."""
    crawler = get_crawler(Spider, {**SETTINGS, "SCHEDULER": OtherQueue})
    with pytest.raises(
        TypeError, match="does not fully implement the scheduler interface"
    ):
        crawler._create_engine()


@pytest.mark.parametrize(
    "named", [{}, {"SCHEDULER_PRIORITY_QUEUE": DownloaderAwarePriorityQueue}]
)
def test_scrapy_refuses_concurrency_per_ip(named):
    """Its own queue knows no addresses, and says so."""
    settings = settings_with_addon(CONCURRENT_REQUESTS_PER_IP=2, **named)
    assert (
        load_object(settings["SCHEDULER_PRIORITY_QUEUE"])
        is DownloaderAwarePriorityQueue
    )
    settings = settings_with_addon(
        CONCURRENT_REQUESTS_PER_IP=2, SCHEDULER_PRIORITY_QUEUE=ScrapyPriorityQueue
    )
    assert load_object(settings["SCHEDULER_PRIORITY_QUEUE"]) is SiteQueue


COMPONENTS = """
from twisted.internet import reactor
from scrapy.core.scheduler import Scheduler
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy_mandelbot import PauseMiddleware

class Component: ...
class OwnQueue(ScrapyPriorityQueue): ...
class OwnScheduler(Scheduler): ...
"""
SCRIPT = """
import sys
from scrapy import Spider
from scrapy.crawler import CrawlerProcess

class EmptySpider(Spider):
    name = "empty"

settings = {
    "ADDONS": {"scrapy_mandelbot.Addon": 500},
    "DOWNLOADER_MIDDLEWARES": {"components.Component": 1},
    "SPIDER_MIDDLEWARES": {"components.Component": 1},
    "EXTENSIONS": {"components.Component": 1},
    "ITEM_PIPELINES": {"components.Component": 1},
    "SCHEDULER": "components.OwnScheduler",
    "TELNETCONSOLE_ENABLED": False,
    sys.argv[1]: "components.OwnQueue",
}
process = CrawlerProcess(settings)
crawler = process.create_crawler(EmptySpider)
process.crawl(crawler)
process.start()
queue = crawler.settings["SCHEDULER_PRIORITY_QUEUE"]
print(crawler.stats.get_value("finish_reason"), queue)
"""


@pytest.mark.parametrize(
    "name", ["SCHEDULER_PRIORITY_QUEUE", "MANDELBOT_INNER_PRIORITY_QUEUE"]
)
def test_no_component_is_loaded_before_the_reactor_is_installed(tmp_path, forked, name):
    """One that imports the reactor at its top runs in a script, as it does in stock
    Scrapy.
    """
    (tmp_path / "components.py").write_text(COMPONENTS)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    run = forked.program(tmp_path, script, name)
    assert run.stdout == b"finished scrapy_mandelbot.SiteQueue\n", run.stderr


def test_the_package_does_not_import_the_reactor():
    """Whatever of it is imported first: a project may do so before it installs a
    reactor.
    """
    code = (
        "import importlib, pkgutil, sys, scrapy_mandelbot\nfor one in"
        " pkgutil.walk_packages(scrapy_mandelbot.__path__, 'scrapy_mandelbot.'):\n   "
        " importlib.import_module(one.name)\nsys.exit('twisted.internet.reactor' in"
        " sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_component_is_recognised_by_each_of_its_paths():
    """By the public one, by its home, and by that of a module that has it and is
    imported.
    """
    for path in (
        "scrapy_mandelbot.PauseMiddleware",
        "scrapy_mandelbot.downloadermiddlewares.pause.PauseMiddleware",
        f"{__name__}.PauseMiddleware",
    ):
        settings = settings_with_addon(DOWNLOADER_MIDDLEWARES={path: 7})
        assert middlewares(settings).count(PauseMiddleware) == 1
        assert settings.getdict("DOWNLOADER_MIDDLEWARES")[path] == 7


def test_a_bad_setting_stops_the_crawl_before_it_starts():
    """The error names the setting."""
    with pytest.raises(SettingsError, match="MANDELBOT_DIALECT"):
        settings_with_addon(MANDELBOT_DIALECT="googel")


def test_components_that_a_project_lists_are_off_with_the_add_on():
    """As where it has moved one of them: they are Scrapy's own or none."""
    settings = {
        "ROBOTSTXT_OBEY": True,
        "MANDELBOT_ENABLED": False,
        "DOWNLOADER_MIDDLEWARES": {
            CLI: None,
            "scrapy_mandelbot.RobotsTxtMiddleware": 100,
            "scrapy_mandelbot.PauseMiddleware": 950,
        },
        "SPIDER_MIDDLEWARES": {"scrapy_mandelbot.RobotTagsMiddleware": 40},
        "SCHEDULER_PRIORITY_QUEUE": "scrapy_mandelbot.SiteQueue",
        "EXTENSIONS": {"scrapy_mandelbot.SpiderHooks": 500},
    }
    crawler = get_crawler(Spider, settings)
    assert isinstance(RobotsTxtMiddleware.from_crawler(crawler), StockMiddleware)
    with pytest.raises(NotConfigured):
        RobotTagsMiddleware.from_crawler(crawler)
