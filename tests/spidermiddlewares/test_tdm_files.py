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


class Shared:
    """Lends the fetch of a file, or has its copy."""

    def __init__(self, *, is_ours):
        self._is_ours = is_ours
        self.may_serve = None
        self.ended = []

    async def begin(self, _key, _fresh_for, may_serve):
        self.may_serve = may_serve
        return SimpleNamespace(is_ours=self._is_ours)

    def end(self, key, keep_for):
        self.ended.append((key, keep_for))


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


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_lease_to_fetch_it_is_given_back_at_once(monkeypatch, is_ours):
    """Others find the copy; none may use a stale one meanwhile."""
    shared = Shared(is_ours=is_ours)
    files = files_with(shared, monkeypatch)
    assert result_of(files.of(SITE, REQUEST)) == "the file"
    key = f"{SITE}/.well-known/tdmrep.json"
    assert shared.ended == ([(key, 0.0)] if is_ours else [])
    assert not shared.may_serve(None)
