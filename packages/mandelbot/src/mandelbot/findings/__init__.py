r"""Finds what is wrong with a robots.txt or its delivery, and for which robots.

>>> for finding in lint(b"User-agent: *\nDisalow: /a\nAllow: /b\n"):
...     print(finding)
line 1: note: The group for "*" has no Disallow. [group-without-disallow]
line 2: error: "Disalow" is not a field: did you mean Disallow? [misspelt-field]

The checks read the bytes and the numbered records that the matcher reads (after the
model of Google's ``reporting_robots.cc``). Findings are the same in all dialects: they
say which robots do what.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from mandelbot.arguments import octets_of
from mandelbot.findings.agent_checks import check_agent
from mandelbot.findings.catalogue import (
    FINDINGS,
    Consequence,
    Finding,
    FindingKind,
    Severity,
)
from mandelbot.findings.delivery import Delivery, check_delivery
from mandelbot.findings.rule_checks import check_clashes
from mandelbot.findings.source import LintHit, LintInput, quoted, with_managed_block
from mandelbot.findings.structure import check_structure
from mandelbot.findings.syntax import check_syntax
from mandelbot.findings.usage_checks import check_usage
from mandelbot.findings.value_checks import (
    check_full_urls,
    check_hosts,
    check_invisible,
    check_value,
)
from mandelbot.robotstxt.dialects import FIELDS
from mandelbot.robotstxt.records import RecordProblem
from mandelbot.robotstxt.robots_txt import RobotsTxt

if TYPE_CHECKING:
    from mandelbot.findings.source import Check
    from mandelbot.robotstxt.records import Record

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


def lint(
    body: bytes | RobotsTxt, *, max_bytes: int | None = 512_000, site: str = ""
) -> tuple[Finding, ...]:
    r"""Return the findings about a file: the whole file first, then by line.

    >>> from mandelbot import lint
    >>> print(lint(b"User-agent: *\nDisalow: /a\n")[-1])
    line 2: error: "Disalow" is not a field: did you mean Disallow? [misspelt-field]

    Any bytes do. Costs time linear in the size of the file. Of findings of one kind as
    many are listed as its row of the table says; the last of them knows how many more
    there are.

    Args:
        body: The file as fetched, or a file that was parsed. Its dialect makes no
            difference.
        max_bytes: What robots read of it; a file that was parsed has its own limit.
        site: Whose file it is, as ``https://example.com``: rules for another host are
            reported. Empty: it is not known but for what the file cites.

    Raises:
        TypeError: `body` is neither bytes nor a bytearray nor a memoryview.
    """
    if isinstance(body, RobotsTxt):
        return lint(body.body, max_bytes=body.max_bytes, site=site)
    if type(body) is not bytes:
        body = octets_of(body, "body", "response.body")
    kind = _kind_of_binary(body)
    if kind is not None:  # of its lines there is nothing to say
        return _sorted([LintHit("binary-file", None, f"The file is {kind}.")])
    source = LintInput.read(body, max_bytes, site)
    if source.is_html and not source.outline.groups:  # nor of these
        return _sorted(_check_octets(source))
    groups = chain(check_structure(source), check_clashes(source))
    usage = check_usage(source.outline.groups)
    found = chain(_check_octets(source), groups, usage, _check_lines(source))
    return _sorted(_one_each(with_managed_block(found, source)))


_SAID_BY = {
    "blank-line-between-agents": {"agents-apart"},
    "redundant-star": {"duplicate-rule", "tie", "unreachable-rule"},
    "unknown-usage": {"bad-content-signal", "bad-content-usage"},
    **{
        code: {"invisible-character"}
        for code in (
            "agent-characters",
            "misspelt-agent",
            "no-leading-slash",
            "not-utf-8",
            "odd-line-end",
            "relative-sitemap",
            "sitemap-not-alone",
            "space-in-agent",
            "star-in-agent",
            "unescaped-character",
        )
    },
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
    """Return what is wrong with how a file came.

    >>> from mandelbot import Delivery, lint_delivery
    >>> print(*lint_delivery(Delivery(redirects=6)))
    warning: There are 6 redirects. [many-redirects]
    """
    return _sorted(check_delivery(delivery))


def _check_lines(source: LintInput) -> Check:
    yield from check_hosts(source.outline.records)
    yield from check_full_urls(source)
    for record in source.outline.records:
        yield from _check_characters(record, source)
        yield from check_syntax(record, source)
        yield from check_invisible(record)
        if record.field == "user-agent":
            yield from check_agent(record)
        else:
            yield from check_value(record)


def _sorted(found: Iterable[LintHit]) -> tuple[Finding, ...]:
    by_code: defaultdict[str, list[LintHit]] = defaultdict(list)
    for one in found:
        by_code[one.code].append(one)
    findings = chain.from_iterable(
        _listed(FINDINGS[code], by_code[code]) for code in by_code
    )
    return tuple(
        sorted(findings, key=lambda one: (one.line or 0, -one.severity, one.code))
    )


def _listed(kind: FindingKind, found: list[LintHit]) -> Iterator[Finding]:
    found.sort(key=lambda one: one.line or 0)
    more = max(0, len(found) - kind.most)
    for place, one in enumerate(found[: kind.most], start=1):
        left_out = more if place == kind.most else 0
        yield Finding(kind.code, kind.severity, one.line, one.message, left_out)


GOOGLES_LINE = 16_663
"""Bytes of a line that Google's parser reads."""

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_SEPARATOR = re.compile("[\v\f\x85\u2028\u2029]")


#: What files begin with that are no text, by what they are; UTF-32 before UTF-16,
#: which begins like it.
_KINDS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"PK\x03\x04": "a zip file",
    b"\x89PNG": "a PNG image",
    b"GIF8": "a GIF image",
    b"\xff\xd8\xff": "a JPEG image",
    b"RIFF": "a WebP image, or another RIFF file",
    b"\0\0\1\0": "an icon",
    b"%PDF": "a PDF file",
}
_SAMPLE = 4096  # bytes at the beginning by which a file is judged
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_TOO_MANY = 10  # one in so many of these signs, and it is no text


def _kind_of_binary(octets: bytes) -> str | None:
    """Return what a file is that is no text.

    None: it is text, or UTF-16 with its mark.
    """
    for begins, kind in _KINDS.items():
        if octets.startswith(begins):
            return kind
    if octets.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    sample = octets[:_SAMPLE]
    text = sample.rstrip(b"\0")
    # more than ends a text in UTF-32: padding
    if text and len(sample) - len(text) > len("\0\0\0"):
        sample = text
    zeros = sample.count(b"\0")
    if zeros * 3 > len(sample):
        if zeros * 2 > len(sample) + 4:
            return "UTF-32"
        return "UTF-16 without its mark"
    if len(_NO_TEXT.findall(sample)) * _TOO_MANY > len(sample):
        return "no text"
    return None


def _check_end(source: LintInput) -> Check:
    """Whether the file ends within the name of a field."""
    last = None
    if source.outline.records:
        last = source.outline.records[-1]
    if (
        last is None
        or source.body[-1:] in {b"\n", b"\r"}
        or len(source.body) < len(source.octets) - 3
    ):
        return
    word = last.raw.strip().lower()
    if word and last.number > 1 and any(field.startswith(word) for field in FIELDS):
        message = f"The file ends after {quoted(last.raw.strip())}."
        yield LintHit("broken-off", last.number, message)


def _check_octets(source: LintInput) -> Check:
    octets = source.octets
    body = source.body
    yield from _check_end(source)
    if source.is_html:
        begins = quoted(body.lstrip()[:40].decode("utf-8", "replace").splitlines()[0])
        yield LintHit(
            "html-page", 1, f"The file is a web page; it begins with {begins}."
        )
    elif not any(record.field for record in source.outline.records):
        yield LintHit("empty-file", None, "There is no directive in the file.")
    if octets.startswith(b"\xef\xbb\xbf"):
        yield LintHit(
            "byte-order-mark", 1, "The file begins with the byte-order mark of UTF-8."
        )
    elif octets.startswith((b"\xff\xfe", b"\xfe\xff")):
        yield LintHit(
            "utf-16", 1, "The file begins with the byte-order mark of UTF-16."
        )
    if source.max_bytes is not None and len(octets) > source.max_bytes:
        read = len(source.outline.records)
        message = (
            f"Robots read {source.max_bytes} of {len(octets)} bytes: nothing after line"
            f" {read}."
        )
        yield LintHit("too-large", read or None, message)
    yield from _check_line_ends(body)


def _check_line_ends(body: bytes) -> Check:
    both = body.count(b"\r\n")
    counts = {
        "CR LF": both,
        "LF": body.count(b"\n") - both,
        "CR": body.count(b"\r") - both,
    }
    used = [f"{count} with {end}" for end, count in counts.items() if count]
    if len(used) > 1:
        yield LintHit(
            "mixed-line-ends", None, f"Lines end in several ways: {', '.join(used)}."
        )
    elif counts["CR"]:
        yield LintHit("carriage-returns", None, "All lines end with CR alone.")


def _check_characters(record: Record, source: LintInput) -> Check:
    number = record.number
    raw = record.raw
    # a character has up to four octets, an escape has three
    if len(raw) > GOOGLES_LINE // 4:
        size = len(raw.encode("utf-8", "surrogatepass"))
        if size > GOOGLES_LINE:
            yield LintHit("long-line", number, f"The line has {size} bytes.")
    if RecordProblem.NOT_UTF8 in record.problems:
        yield LintHit(
            "not-utf-8",
            number,
            f"The line contains bytes that are not UTF-8: {quoted(raw)}.",
        )
    if raw.isprintable() or source.is_html:
        return
    control = _CONTROL.search(raw)
    if control:
        yield LintHit(
            "control-character", number, f"There is a character {quoted(control[0])}."
        )
    separator = _SEPARATOR.search(raw.strip("\v\f"))
    if separator:
        message = f"There is {quoted(separator[0])} in the line, which does not end it."
        yield LintHit("odd-line-end", number, message)
