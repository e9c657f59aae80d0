r"""Findings: what is wrong with a robots.txt, or with how it comes, and to which robots it matters.

>>> for finding in lint(b"User-agent: *\nDisalow: /a\nAllow: /b\n"):
...     print(finding)
line 1: note: The group for "*" has no Disallow. [group-without-disallow]
line 2: error: "Disalow" is no field: Disallow is meant, most likely. [misspelt-field]

The checks read the bytes and the numbered records that the matcher reads (after the model of
Google's ``reporting_robots.cc``). Findings are the same in all dialects: they say which robots do
what.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING

from scrapy_mandelbot.robots.lint.catalogue import (
    FINDINGS,
    Consequence,
    Finding,
    FindingKind,
    Severity,
)
from scrapy_mandelbot.robots.lint.delivery import (
    Delivery,
    check_characters,
    check_delivery,
    check_octets,
    kind_of_binary,
)
from scrapy_mandelbot.robots.lint.rule_checks import check_clashes, check_path, check_priority
from scrapy_mandelbot.robots.lint.source import LintHit, LintInput, read_source
from scrapy_mandelbot.robots.lint.structure import (
    check_managed,
    check_structure,
    managed_block,
    without_excused,
)
from scrapy_mandelbot.robots.lint.syntax import check_agent, check_syntax
from scrapy_mandelbot.robots.lint.values import check_usage, check_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_mandelbot.robots.lint.source import Check

__all__ = [
    "FINDINGS",
    "Consequence",
    "Delivery",
    "Finding",
    "FindingKind",
    "Severity",
    "lint",
    "lint_delivery",
]


def lint(body: bytes, *, max_bytes: int | None = 512_000) -> tuple[Finding, ...]:
    """Return what is wrong with a file, in the order of its lines, the whole file first.

    Any bytes do. Costs time linear in the size of the file. Of findings of one kind as many are
    listed as its row of the table says; the last of them knows how many more there are.
    """
    kind = kind_of_binary(body)
    if kind is not None:  # of its lines there is nothing to say
        return _sorted([LintHit("binary-file", None, f"The file is {kind}.")])
    source = read_source(body, max_bytes)
    if source.is_html and not source.outline.groups:  # nor of these
        return _sorted(check_octets(source))
    groups = (check_structure(source), check_clashes(source), check_priority(source))
    found = chain(check_octets(source), *groups, check_usage(source), _check_lines(source))
    block = managed_block(source)
    return _sorted(_one_each(chain(without_excused(found, block), check_managed(block))))


_SAID_BY = {
    "redundant-star": {"duplicate-rule", "tie", "unreachable-rule"},
    "unknown-usage": {"bad-content-signal", "bad-content-usage"},
}
"""Findings that say no more than others do of the same line."""


def _one_each(found: Iterable[LintHit]) -> Iterator[LintHit]:
    hits = list(found)
    said: defaultdict[int | None, set[str]] = defaultdict(set)
    for one in hits:
        said[one.line].add(one.code)
    for one in hits:
        if not _SAID_BY.get(one.code, set()) & said[one.line]:
            yield one


def lint_delivery(delivery: Delivery) -> tuple[Finding, ...]:
    """Return what is wrong with how a file came."""
    return _sorted(check_delivery(delivery))


def _check_lines(source: LintInput) -> Check:
    for record in source.outline.records:
        yield from check_characters(record, source)
        yield from check_syntax(record, source)
        if record.field == "user-agent":
            yield from check_agent(record)
        elif record.field in {"allow", "disallow"}:
            yield from check_path(record)
        else:
            yield from check_value(record)


def _sorted(found: Iterable[LintHit]) -> tuple[Finding, ...]:
    """Make findings of what the checks found, no more of a kind than the table says."""
    by_code: defaultdict[str, list[LintHit]] = defaultdict(list)
    for one in found:
        by_code[one.code].append(one)
    findings = chain.from_iterable(_listed(FINDINGS[code], by_code[code]) for code in by_code)
    return tuple(sorted(findings, key=lambda one: (one.line or 0, -one.severity, one.code)))


def _listed(kind: FindingKind, found: list[LintHit]) -> Iterator[Finding]:
    found.sort(key=lambda one: one.line or 0)
    more = max(0, len(found) - kind.most)
    for place, one in enumerate(found[: kind.most], start=1):
        left_out = more if place == kind.most else 0
        yield Finding(kind.code, kind.severity, one.line, one.message, left_out)
