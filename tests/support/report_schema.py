"""The schema of the report on a crawl, as it is shipped."""

from __future__ import annotations

import json
from importlib import resources

from schemas import misfits

from scrapy_mandelbot import report

SCHEMA = json.loads(
    resources.files(report).joinpath("report.schema.json").read_text("utf-8")
)


def misfits_of(data: dict) -> list[str]:
    """Return what of a report is not as the schema says."""
    return list(misfits(data, SCHEMA, SCHEMA))
