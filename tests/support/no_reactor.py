"""Whether this Scrapy can run here without a reactor."""

from __future__ import annotations

from importlib import import_module

import pytest
import scrapy


def _why_not() -> str:
    if tuple(map(int, scrapy.__version__.split(".")[:2])) < (2, 15):
        return "Scrapy 2.15 and newer run without a reactor"
    handler = import_module("scrapy.core.downloader.handlers._httpx")
    if handler.httpx is None:
        return "this Scrapy takes httpx for that, or httpx2 from 2.18 on"
    return ""


NO_REACTOR = pytest.mark.skipif(bool(_why_not()), reason=_why_not())
