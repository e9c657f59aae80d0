"""Who fetches a tdmrep.json that several crawls need, without a crawl."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import scrapy
from scrapy.settings import Settings

from scrapy_mandelbot.settings.config import Config
from scrapy_mandelbot.spidermiddlewares.tdm_files import TdmFiles

SITE = "https://example.com"
REQUEST = scrapy.Request(f"{SITE}/page")


def files_with(shared, monkeypatch):
    crawl = SimpleNamespace(
        fetcher=SimpleNamespace(limits=None),
        config=Config.from_settings(Settings()),
        now=lambda: 0.0,
        shared_fetches=shared,
    )

    async def fetch(self, site, request):
        return "the file"

    monkeypatch.setattr(TdmFiles, "_fetch", fetch)
    return TdmFiles(crawl)


def result_of(coroutine):
    with pytest.raises(StopIteration) as ended:
        coroutine.send(None)
    return ended.value.value
