"""Checks of what the fields but User-agent say."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING

from mandelbot.findings.source import ABSOLUTE_URL, LintHit, quoted, readable
from mandelbot.findings.usage_checks import (
    TRAINING,
    check_content_signal,
    check_content_usage,
    check_training,
)
from mandelbot.robotstxt import times
from mandelbot.robotstxt.full_urls import host_of
from mandelbot.robotstxt.paths import split_url
from mandelbot.robotstxt.sitemap_lines import urls_of

if TYPE_CHECKING:
    from mandelbot.findings.source import Check, LintInput
    from mandelbot.robotstxt.records import Record

_LONGEST_DELAY = 30  # Moderatobot, "Crawl-delay directive"
_LONGEST_CLEAN_PARAM = 500  # Moderatobot, "Clean-param directive"
_HOST = re.compile(r"(?:[\w\-]+\.)*[\w\-]+(?::[0-9]+)?|\[[0-9A-Fa-f:.]+\](?::[0-9]+)?")
_VERSION = re.compile(r"(?:1\.0|2\.[0-9]*[02468])(?:\.[0-9]+)*")


def _check_delay(record: Record) -> Check:
    seconds = times.read_delay(record.value)
    if seconds is None:
        message = f"{quoted(record.value)} is not a number of seconds."
        yield LintHit("bad-crawl-delay", record.number, message)
    elif seconds > _LONGEST_DELAY:
        message = f"{quoted(record.value)} is longer than {_LONGEST_DELAY} seconds."
        yield LintHit("long-crawl-delay", record.number, message)
    elif not record.value.isdigit() or not seconds:
        message = f"{quoted(record.value)} is not a positive whole number."
        yield LintHit("crawl-delay-not-whole", record.number, message)


def _check_sitemap(record: Record) -> Check:
    value = record.value
    number = record.number
    urls = urls_of(value)
    if len(urls) > 1:
        message = f"There are {len(urls)} URLs in one line: write {len(urls)} lines."
        yield LintHit("sitemap-not-alone", number, message)
        return
    if urls[0] != value:
        message = (
            f"There is more than a URL in {quoted(value)}: write {quoted(urls[0])}."
        )
        yield LintHit("sitemap-not-alone", number, message)
        return
    if not ABSOLUTE_URL.fullmatch(value):
        yield LintHit(
            "relative-sitemap", number, f"{quoted(value)} is not an absolute URL."
        )
        return
    path = re.split("[?#]", value, maxsplit=1)[0].lower()
    if path.endswith("/"):
        yield LintHit(
            "sitemap-is-directory", number, f"{quoted(value)} ends with a slash."
        )
    elif not path.endswith((".xml", ".xml.gz")):
        message = f"{quoted(value)} ends neither with .xml nor with .xml.gz."
        yield LintHit("sitemap-extension", number, message)


def _check_clean_param(record: Record) -> Check:
    length = len(record.value)
    if length > _LONGEST_CLEAN_PARAM:
        message = f"The Clean-param has {length} characters."
        yield LintHit("long-clean-param", record.number, message)
        return
    words = [word for word in re.split("[ \t]+", record.value) if word]
    names = [words[0], *(word for word in words[1:] if word[0] not in "/*")]
    if len(names) > 1:
        paths = [word for word in words[1:] if word[0] in "/*"]
        line = " ".join(["&".join(names), *paths])
        message = f"There is a space between parameters: write {readable(line)}."
        yield LintHit("space-in-clean-param", record.number, message)


def _unless(
    is_right: Callable[[Record], object], code: str, says: str
) -> Callable[[Record], Check]:
    """Return a check that says one thing of a value that is not right."""

    def check(record: Record) -> Check:
        if not is_right(record):
            yield LintHit(code, record.number, f"{quoted(record.value)} {says}")

    return check


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_TWO_SLASHES = re.compile(r"//+(?:www\.[^/]*/?)?")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}")
# Mandelbot's page: /earn$* is about a dollar
_DOLLAR_INSIDE = re.compile(r"\$(?!\**\Z)")
_REGULAR_EXPRESSION = re.compile(
    r"\^|\\[.dwsDWS/?$\-]|\[\^?\w-\w|\(\?|\([^()|]*\|[^()]*\)|\.\+"
    r"|\A(?:[^*]|(?<=\.)\*)*(?<![/*.])\.\*"  # before it no wildcard as in *.css.*
)
_NO_LETTER = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z]")


def _check_path(record: Record) -> Check:
    path = record.value
    number = record.number
    field = record.field.capitalize()
    if not path:
        if record.field == "allow":
            yield LintHit("empty-allow", number, "Allow has no path.")
        return
    if record.field == "allow" and not path.strip("/*"):
        message = f"{field}: {readable(path)} allows what is allowed by default."
        yield LintHit("allow-all", number, message)
    yield from _check_beginning(path, field, number)
    yield from _check_meaning(path, number)
    yield from _check_wildcards(path, field, number)
    yield from _check_path_characters(path, number)
    if record.field == "allow" and path.rpartition("/")[2].startswith("index.htm"):
        message = f"{field}: {readable(path)} names an index page."
        yield LintHit("index-page", number, message)
    if path.rstrip("*$").lower() == "/robots.txt":
        message = f"{field}: {readable(path)} matches the file itself."
        yield LintHit("robots-txt-in-rule", number, message)


def _check_beginning(path: str, field: str, number: int) -> Check:
    if path[0] == "*":
        if path.strip("*"):
            message = f"{field}: {readable(path)} does not begin with a slash."
            yield LintHit("leading-star", number, message)
    elif _SCHEME.match(path):
        return  # see `check_full_urls`
    elif path.startswith("//"):
        yield _of_slashes(path, number)
    elif path[0] != "/":
        yield LintHit(
            "no-leading-slash", number, f"{quoted(path)} does not begin with a slash."
        )


def _of_slashes(path: str, number: int) -> LintHit:
    if not path.strip("/*$"):
        message = f"{quoted(path)} matches only URLs that begin with as many slashes."
        return LintHit("only-slashes", number, message)
    write = quoted(_TWO_SLASHES.sub("/", path, count=1))
    message = (
        f"{quoted(path)} matches only URLs that begin with two slashes: write {write}."
    )
    return LintHit("double-slash", number, message)


#: A parameter of a query, as a path; one that has no letter is no name.
_PARAMETER = re.compile(r"/[A-Za-z_][\w\-.%\[\]]*=[^/?*]*\$?", re.ASCII)


_PUNCTUATED = re.compile(r"/[\w/.\-]*[,;]", re.ASCII)


def _check_meaning(path: str, number: int) -> Check:
    if _PARAMETER.fullmatch(path):
        name = path[1:].partition("=")[0]
        message = f"{quoted(path)} is no query: write /*?{name}= and /*&{name}=."
        yield LintHit("parameter-as-path", number, message)
    if _PUNCTUATED.fullmatch(path):
        message = f"{quoted(path)} ends with {quoted(path[-1])}, which URLs must have."
        yield LintHit("ends-with-punctuation", number, message)


def check_hosts(records: Iterable[Record]) -> Check:
    """Find paths that begin with a host that the file names in a Sitemap or Host."""
    records = tuple(records)
    hosts = set()
    for record in records:
        if record.field in {"sitemap", "host"}:
            found = _HOST_IN.match(record.value)
            if found:
                hosts.add(found[1].lower().removeprefix("www."))
    for record in records if hosts else ():
        if record.field in {"allow", "disallow"}:
            first = record.value[:_LONGEST_HOST].lstrip("/").partition("/")[0].lower()
            if first.removeprefix("www.") in hosts and first:
                message = f"{quoted(record.value)} begins with the site's own host."
                yield LintHit("host-in-path", record.number, message)


def check_full_urls(source: LintInput) -> Check:
    """Find rules with whole URLs, and say for whom each is."""
    for record in source.outline.records:
        if record.field not in {"allow", "disallow"}:
            continue
        url = record.value
        if not _SCHEME.match(url):
            continue
        host = host_of(url)
        parts = split_url(url)
        if not host or parts is None:
            says = "is a URL without a host: it matches nothing."
        elif not source.hosts:
            says = "is a whole URL, not a path."
        elif host in source.hosts:
            write = quoted(parts[1])
            says = f"is a whole URL, not a path: write {write}."
            if write.endswith('…"'):  # nobody writes a part
                says = "is a whole URL, not a path: write it without the host."
        else:
            says = "is a whole URL: this rule is for another host."
        yield LintHit("full-url", record.number, f"{quoted(url)} {says}")


_LONGEST_HOST = 300  # characters
_HOST_IN = re.compile(r"(?:https?://)?([\w\-]+(?:\.[\w\-]+)+)", re.IGNORECASE)


def check_invisible(record: Record) -> Check:
    """Find a value that begins or ends with a character that nobody sees."""
    value = record.value
    if value.isascii() or not value:
        return
    found = _INVISIBLE_ENDS.search(value)
    place = "beside"
    if found is None and record.field in _PATHS:
        found = _INVISIBLE.search(value)
        place = "within"
    if found:
        sign = f"U+{ord(found[0][0]):04X}"
        message = f"There is an invisible character ({sign}) {place} {quoted(value)}."
        yield LintHit("invisible-character", record.number, message)


_PATHS = frozenset({"allow", "disallow", "sitemap", TRAINING})


def _characters(*categories: str) -> str:
    """Return the characters of some Unicode categories, and fillers without a look."""
    fillers = "\u115f\u1160\u3164\uffa0\u2800\u034f\u180e"
    return fillers + "".join(
        sign
        for sign in map(chr, chain(range(0x80, 0x3100), range(0xFE00, 0x10000)))
        if unicodedata.category(sign) in categories
    )


_HIDDEN = re.escape(_characters("Cf"))
_INVISIBLE = re.compile(f"[{_HIDDEN}]")
_SPACES = re.escape(_characters("Cf", "Zs", "Zl", "Zp") + "\x85")
_INVISIBLE_ENDS = re.compile(rf"\A[{_SPACES}]|[{_SPACES}]\Z")


def _check_wildcards(path: str, field: str, number: int) -> Check:
    if "*" not in path and "$" not in path:
        return
    if "*" in path or path[-1] == "$":
        message = f"{field}: {readable(path)} has wildcards."
        yield LintHit("wildcard", number, message)
    if (
        len(path) > 1
        and path.endswith(("*", "*$"))
        and not path.rstrip("*").endswith("$")
    ):
        message = f"The * at the end of {quoted(path)} adds no match."
        yield LintHit("redundant-star", number, message)
    elif path.endswith("*$"):
        message = f"The *$ at the end of {quoted(path)} adds nothing."
        yield LintHit("redundant-star", number, message)
    if _DOLLAR_INSIDE.search(path):
        message = f"The $ within {quoted(path)} is a dollar sign, not the end."
        yield LintHit("dollar-inside", number, message)


def _check_path_characters(path: str, number: int) -> Check:
    is_upper = path.isupper() and len(_NO_LETTER.sub("", path)) > 1
    for code, is_so, says in (
        (
            "regular-expression",
            _REGULAR_EXPRESSION.search(path),
            "{} looks like a regular expression.",
        ),
        ("space-in-path", " " in path or "\t" in path, _space_in(path)),
        (
            "unescaped-character",
            not path.isascii(),
            "There are characters outside ASCII in {}.",
        ),
        ("capitals-in-path", is_upper, "{} matches paths in capitals only."),
    ):
        if is_so:
            yield LintHit(code, number, says.format(quoted(path)))
    bad = _BAD_ESCAPE.search(path) if "%" in path else None
    if bad:
        yield LintHit("bad-escape", number, f"{quoted(bad[0])} is no escape.")


def _space_in(path: str) -> str:
    parts = path.replace(",", " ").split()
    if all(part.startswith("/") for part in parts):
        return f"{{}} has {len(parts)} paths in one line: write {len(parts)} lines."
    return "There is a space in {}."


_CHECKS: dict[str, Callable[[Record], Check]] = {
    "allow": _check_path,
    "clean-param": _check_clean_param,
    "content-signal": check_content_signal,
    "content-usage": check_content_usage,
    "crawl-delay": _check_delay,
    "disallow": _check_path,
    TRAINING: check_training,
    "host": _unless(
        lambda one: _HOST.fullmatch(one.value),
        "host-not-a-name",
        "is more than a host name.",
    ),
    "license": _unless(
        lambda one: ABSOLUTE_URL.fullmatch(one.value),
        "relative-license",
        "is not an absolute URL.",
    ),
    "request-rate": _unless(
        lambda one: (
            times.is_documented_rate(one.value) and times.RequestRate.read(one.value)
        ),
        *("bad-request-rate", "is no rate of documents."),
    ),
    "robot-version": _unless(
        lambda one: _VERSION.fullmatch(one.value),
        "bad-robot-version",
        "is neither 1.0 nor 2.0.",
    ),
    "sitemap": _check_sitemap,
    "visit-time": _unless(
        lambda one: times.is_documented_window(one.value),
        "bad-visit-time",
        "is no time of the day.",
    ),
}


def check_value(record: Record) -> Check:
    """What is wrong with a line's value; an empty one is looked at for Allow alone."""
    if (record.value or record.field == "allow") and record.field in _CHECKS:
        yield from _CHECKS[record.field](record)
