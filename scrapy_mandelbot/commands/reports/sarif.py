"""Findings as SARIF 2.1.0, which code scanning services and editors read.

OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from scrapy_mandelbot._version import __version__
from scrapy_mandelbot.commands.reports.findings import STANDARD_INPUT, message_told
from scrapy_mandelbot.commands.use import is_url
from scrapy_mandelbot.robotstxt.lint import FINDINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def text(reports: Iterable[dict[str, Any]], takes: Callable[[str], bool]) -> str:
    """Return one log of one run. Its rules are all findings that are looked for."""
    reports = list(reports)
    codes = [code for code in FINDINGS if takes(code)]
    index = {code: place for place, code in enumerate(codes)}
    failures = [
        {"level": "error", "message": {"text": one["failure"]}} for one in reports if one["failure"]
    ]
    run = {
        "tool": {
            "driver": {
                "name": "scrapy-mandelbot",
                "version": __version__,
                "rules": [_rule(code) for code in codes],
            }
        },
        "invocations": [
            {"executionSuccessful": not failures, "toolExecutionNotifications": failures}
        ],
        "results": [
            _result(report["source"], one, index)
            for report in reports
            for one in report["findings"]
        ],
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str) -> dict[str, Any]:
    kind = FINDINGS[code]
    return {
        "id": code,
        "shortDescription": {"text": kind.text},
        "fullDescription": {"text": kind.why},
        "help": {"text": kind.why},
        "defaultConfiguration": {"level": str(kind.severity)},
    }


def _result(source: str, finding: dict[str, Any], index: dict[str, int]) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(source)}}
    if finding["line"]:
        place["region"] = {"startLine": finding["line"]}
        if finding["text"]:
            place["region"]["snippet"] = {"text": finding["text"]}
    return {
        "ruleId": finding["code"],
        "ruleIndex": index[finding["code"]],
        "level": finding["severity"],
        "message": {"text": message_told(finding)},
        "locations": [{"physicalLocation": place}],
    }


def _uri(source: str) -> str:
    """Return where a file is: as seen from where the command runs, if it is named so."""
    if is_url(source):
        return source
    if source == STANDARD_INPUT:
        return "robots.txt"
    path = Path(source)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
