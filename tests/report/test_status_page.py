"""docs/status.rst names every reason, column and metric, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from scrapy_mandelbot.report.measurements import METRICS
from scrapy_mandelbot.report.status import Reason
from scrapy_mandelbot.report.summary import headings

PAGE = (Path(__file__).parents[2] / "docs" / "status.rst").read_text()


def test_every_reason_is_explained():
    """In the order in which they are looked for."""
    assert re.findall(r"^   ``([a-z. ]+)``; ", PAGE, re.MULTILINE) == [
        *map(str, Reason)
    ]


def test_every_column_is_explained():
    """Those of the table at the end, but for the site."""
    assert re.findall(r"^``([A-Z ]+)`` ", PAGE, re.MULTILINE) == headings()


def test_every_metric_is_listed():
    """With its kind."""
    rows = re.findall(
        r"^``(mandelbot\.[a-z_.]+)`` +(Counter|UpDownCounter|Histogram|Gauge) ",
        PAGE,
        re.MULTILINE,
    )
    kinds = {"up-down": "UpDownCounter"}
    assert rows == [
        (metric.name, kinds.get(metric.kind, metric.kind.capitalize()))
        for metric in METRICS
    ]
