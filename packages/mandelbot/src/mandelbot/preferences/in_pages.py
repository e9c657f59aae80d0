"""Reads the usage preferences in the headers and the head of a page."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from mandelbot.arguments import agent_key, check_headers, octets_of
from mandelbot.formatting import shown
from mandelbot.preferences import MARKED_STATUSES, TERMS_STATUSES
from mandelbot.preferences.statements import (
    NOTHING_SAID,
    VALUE_LIMIT,
    Statement,
    Terms,
    Usage,
)
from mandelbot.robotstxt.agents import header_text
from mandelbot.tags import head
from mandelbot.tags.reading import LIST_LIMIT, names_of_robot, tags_for

if TYPE_CHECKING:
    from mandelbot.tags import RobotTag

_SHOWN = 200  # characters of a header
_ERRORS = range(400, 600)
_MARKS: dict[str, tuple[str, dict[str, Container[int]]]] = {
    # RSL 1.0, "Open License Protocol": the scheme for clients that want a license for
    # the page.
    "www-authenticate": ("WWW-Authenticate", {"license": TERMS_STATUSES}),
    # Cloudflare, "Pay Per Crawl", "Crawl pages": the price, with 402.
    "crawler-price": ("crawler-price", {"": TERMS_STATUSES}),
    # Cloudflare, "Detect a Challenge Page response": of any status.
    "cf-mitigated": ("cf-mitigated", {"challenge": _ERRORS}),
    # AWS WAF, "CAPTCHA and Challenge action behavior".
    "x-amzn-waf-action": ("x-amzn-waf-action", {"challenge": {202}, "captcha": {405}}),
}
"""Headers that mark a challenge or a price, by the documents that name them: the
statuses for each first word of the value, or for any value.
"""


def stated_terms(
    status: int, headers: Iterable[tuple[str | bytes, str | bytes]]
) -> str | None:
    """Return the terms or the challenge of a response as text for a log, or None."""
    if status not in MARKED_STATUSES and status not in _ERRORS:
        return None
    for field, value in _headers_named(headers, _MARKS):
        name, statuses = _MARKS[field]
        said = value.strip().lower().partition(" ")[0]
        if status in statuses.get(said, statuses.get("", ())):
            return shown(f"{name}: {value.strip()}", _SHOWN)
    return "402 Payment Required" if status == 402 else None  # noqa: PLR2004 - its very meaning


def _headers_named(
    headers: Iterable[tuple[str | bytes, str | bytes]], names: Container[str]
) -> Iterator[tuple[str, str]]:
    for name, value in headers:
        field = header_text(name).strip().lower()
        if field in names:
            yield field, header_text(value)


HEADERS_READ = frozenset(
    {
        "content-signal",
        "content-usage",
        "link",
        "robots-tag",
        "tdm-policy",
        "tdm-reservation",
        "x-robots-tag",
    }
)
"""The headers with usage preferences, in lower case."""
MOST_HEADERS = 100
"""The number of these headers that are read of a page."""
_RESERVATION = "tdm-reservation"
_POLICY = "tdm-policy"
_IN_HEADS = frozenset({_RESERVATION, _POLICY})
_Headers = tuple[tuple[str, str], ...]  # names in lower case, and values


def page_usage(
    headers: Iterable[tuple[str | bytes, str | bytes]],
    body: bytes,
    agent: str | bytes | Sequence[str],
) -> Usage:
    """Return the usage preferences of a page.

    Never raises, whatever the headers and bytes; TypeError names an argument of another
    type.

    >>> from mandelbot import page_usage
    >>> usage = page_usage([("Content-Usage", "train-ai=n")], b"", "Examplebot")
    >>> usage["train-ai"]
    'disallowed'

    Args:
        headers: name and value of each of the response's headers.
        body: the HTML, decompressed; its first 256 KiB suffice. ``b""`` for other
            types.
        agent: a product token, a whole User-Agent header, or a sequence of tokens.
    """
    if type(body) is not bytes:
        body = octets_of(body, "body", "response.body")
    try:
        read: _Headers = tuple(_headers_read(headers)) if headers else ()
    except (AttributeError, TypeError, ValueError):
        check_headers(headers)
        raise
    metas: tuple[head.Meta, ...] = ()
    links: tuple[head.LicenseLink, ...] = ()
    if body:
        name = agent if isinstance(agent, (str, bytes)) else agent_key(agent)
        metas = head.meta_tags(body, _names(name))
        links = head.license_links(body)
    if not (read or metas or links):
        return NOTHING_SAID
    statements = (
        *_content_usage_and_signals(read),
        *_robot_tags(read, metas, agent),
        *_tdm(read, metas),
    )
    return Usage(statements, tuple(_terms(read, metas, links)))


@lru_cache(maxsize=1024)
def _names(agent: str | bytes | tuple[str, ...]) -> frozenset[str]:
    return names_of_robot(agent) | _IN_HEADS


def _headers_read(
    headers: Iterable[tuple[str | bytes, str | bytes]],
) -> Iterator[tuple[str, str]]:
    for field, value in islice(_headers_named(headers, HEADERS_READ), MOST_HEADERS):
        most = LIST_LIMIT if field == "robots-tag" else VALUE_LIMIT
        yield field, value[: most + 1]  # one more shows that it is too long


def _content_usage_and_signals(headers: _Headers) -> Iterator[Statement]:
    """Source: draft-ietf-aipref-attach, "HTTP Content-Usage Header Field".

    A Content-Usage in several lines is one Dictionary (RFC 9651, section 4.2).
    """
    if usage := ", ".join(value for name, value in headers if name == "content-usage"):
        yield from Statement.read(
            "content-usage", usage, "header", f"Content-Usage: {usage}"
        )
    for name, value in headers:
        if name == "content-signal":
            yield from Statement.read(name, value, "header", f"Content-Signal: {value}")


def _robot_tags(
    headers: _Headers, metas: tuple[head.Meta, ...], agent: str | bytes | Sequence[str]
) -> Iterator[Statement]:
    names = names_of_robot(agent)
    own = tuple(meta for meta in metas if meta.name in names)
    for tag in tags_for(headers, own, names).sources:
        yield from Statement.of_words(
            "robot-tag", [tag.text.strip().lower()], *_place_of(tag)
        )


def _place_of(tag: RobotTag) -> tuple[str, str, int | None]:
    if tag.where != "meta":
        return "header", str(tag), None
    return "meta", f'{tag.text} in <meta name="{tag.agent or "robots"}">', tag.line


def _tdm(headers: _Headers, metas: tuple[head.Meta, ...]) -> Iterator[Statement]:
    """Source: TDM Reservation Protocol, "Processing priority".

    The head supersedes the headers, and both supersede ``tdmrep.json``. Values other
    than 0 and 1 are ignored.
    """
    in_head = [
        (meta.content, "meta", meta.line) for meta in metas if meta.name == _RESERVATION
    ]
    in_headers = [
        (value, "header", None) for name, value in headers if name == _RESERVATION
    ]
    for said in (in_head, in_headers):
        found = [
            statement
            for value, where, line in said
            for statement in tdm_statements(value.strip(), where, line)
        ]
        if found:
            yield from found
            return


def tdm_statements(value: str, where: str, line: int | None) -> tuple[Statement, ...]:
    """Return a reservation's statements; none unless its value is ``0`` or ``1``."""
    word = f"{_RESERVATION}: {value}"
    return Statement.of_words("tdmrep", [word], where, word, line)


# `<https://example.com/license.xml>; rel="license"`: a link and its parameters, up to
# the next.
_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_PARAMETER = re.compile(r";\s*([^\s;,=\"]+)\s*=\s*(?:\"([^\"]*)\"?|([^\s;,\"]*))")


def _terms(
    headers: _Headers, metas: tuple[head.Meta, ...], links: tuple[head.LicenseLink, ...]
) -> Iterator[Terms]:
    """Source: RFC 8288, section 3; RSL 1.0, "Adding RSL to HTTP headers"."""
    for name, value in headers:
        if name == _POLICY and value.strip():
            yield Terms(_POLICY, value.strip(), "header")
        elif name == "link":
            for url, parameters in _LINK.findall(value):
                if "license" in _relations(parameters) and url.strip():
                    yield Terms("license", url.strip(), "header")
    for meta in metas:
        if meta.name == _POLICY and meta.content.strip():
            yield Terms(_POLICY, meta.content.strip(), "meta", meta.line)
    for link in links:
        yield Terms("license", link.href, "link", link.line)


def _relations(parameters: str) -> list[str]:
    """Only the first ``rel`` of a link counts; in lower case."""
    for name, quoted, bare in _PARAMETER.findall(parameters):
        if name.lower() == "rel":
            named: str = quoted or bare
            return named.lower().split()
    return []
