"""Crawlers that send nothing, and settings that are made for one crawler."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings, Settings, SettingsAttribute
from scrapy.utils.reactor import is_asyncio_reactor_installed
from scrapy.utils.spider import DefaultSpider

if TYPE_CHECKING:
    import scrapy


@cache
def scrapys_own() -> Settings:
    """Return Scrapy's defaults: to read them from its module takes 2 ms."""
    return Settings()


class OwnSettings(Settings):
    """Settings that one crawler has to itself: it need not copy them.

    A copy takes 2 ms, two thirds of what it takes to make a crawler.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        BaseSettings.__init__(self)
        for name, default in scrapys_own().attributes.items():
            value = default.value
            if isinstance(value, BaseSettings):
                value = BaseSettings(value)
            self.attributes[name] = SettingsAttribute(value, default.priority)
        self.update(values)

    def copy(self) -> OwnSettings:
        return self


def get_crawler(
    spider: type[scrapy.Spider] = DefaultSpider,
    settings_dict: dict[str, Any] | None = None,
) -> Crawler:
    """Return a crawler with its settings applied, as ``scrapy.utils.test`` does.

    In a sixth of the time: without a runner, which copies all settings as well.
    """
    settings: dict[str, Any] = {
        "REMOTE_CONTROL_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        # whichever reactor pytest was started with
        **({} if is_asyncio_reactor_installed() else {"TWISTED_REACTOR": None}),
        **(settings_dict or {}),
    }
    crawler = Crawler(spider, OwnSettings(settings))
    crawler._apply_settings()
    return crawler
