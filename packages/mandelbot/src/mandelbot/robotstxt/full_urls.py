"""Rules whose value is a whole URL: each counts for the host that it names.

RFC 9309's path-pattern begins with a slash, and to Google's parser, Protego and urllib
such a rule matches nothing. Owners write them for pages of their own host, or copy them
from the file of another one. So where a dialect reads them (`Dialect.full_urls`), a
rule applies to URLs of its host and to paths without a host, and to nothing else.
``http://`` names no host.

A file with such rules is decided by a copy for each host that is asked. There the rules
for this host have their paths, those for others a value that every dialect ignores, and
lines keep their numbers: what decides on a copy knows nothing of hosts.
`Grammar.full_url` finds these files, about one in a hundred; others cost no more than
that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from mandelbot.arguments import check_url
from mandelbot.origins import DEFAULT_PORTS
from mandelbot.robotstxt.decider import Decider
from mandelbot.robotstxt.grammar import (
    WHITE_SPACE,
    decode,
    line_ends,
    searchable,
)
from mandelbot.robotstxt.paths import split_url

if TYPE_CHECKING:
    import re

    from mandelbot.robotstxt.grammar import Grammar
    from mandelbot.robotstxt.verdict import Verdict

_IGNORED = "-"  # neither a path nor a URL
_OTHERS = ""  # a host that no rule names
_MOST_HOSTS = 16  # copies that are kept for a robot
_LONGEST_NAME = 253  # characters of a host name (RFC 1035, section 2.3.4)


def host_of(url: str) -> str | None:
    """Return the host that a whole URL names, as far as rules distinguish hosts.

    In lower case, without the scheme's default port, user information, a final dot or a
    leading ``www.``; None for a path, and for a text that is no URL; empty: no host.

    >>> host_of("https://WWW.Example.com:443/a"), host_of("http://example.com:8000")
    ('example.com', 'example.com:8000')
    """
    parts = split_url(url)
    if parts is None or not parts[0]:
        return None
    scheme, _, rest = parts[0].partition("://")
    host = rest.rpartition("@")[2].lower()
    name, colon, port = host.rpartition(":")
    if not colon or "]" in port:
        name = host
        port = ""
    name = name.rstrip(".").removeprefix("www.")
    if not name.isascii() and len(name) <= _LONGEST_NAME:
        with suppress(UnicodeError):
            name = name.encode("idna").decode()
    if name and port and port != str(DEFAULT_PORTS.get(scheme.lower())):
        return f"{name}:{port}"
    return name


class _FullUrl(NamedTuple):
    """A rule with a whole URL."""

    start: int
    """Its value's place in the searchable text, and its end."""
    end: int
    line: int
    host: str
    path: str
    value: str
    """As written."""


class FullUrlRules:
    """The rules of a file that name a host."""

    def __init__(self, body: bytes, grammar: Grammar) -> None:
        self._text = searchable(body)
        self._rules = list(_rules_in(self._text, grammar))
        self.hosts = frozenset(rule.host for rule in self._rules if rule.host)
        self.values = {rule.line: rule.value for rule in self._rules}
        """The values as written, by their lines."""

    def body_for(self, host: str | None) -> bytes:
        """Return the file as it is for a host; None: for a path without a host."""
        parts = []
        at = 1  # after the line end in front
        for rule in self._rules:
            is_own = rule.host != "" and host in {None, rule.host}
            parts += [self._text[at : rule.start], rule.path if is_own else _IGNORED]
            at = rule.end
        parts.append(self._text[at:])
        return "".join(parts).encode("latin-1")


def _rules_in(text: str, grammar: Grammar) -> Iterator[_FullUrl]:
    ends = line_ends(text)
    for line in grammar.rule.finditer(text):
        rule = _full_url(line, bisect_right(ends, line.start()))
        if rule is not None:
            yield rule


def _full_url(line: re.Match[str], number: int) -> _FullUrl | None:
    start = line.start(2)
    value = line.string[start : line.end()].rstrip(WHITE_SPACE)
    host = host_of(decode(value))
    parts = split_url(value)
    if host is None or parts is None:
        return None
    end = start + len(value)
    return _FullUrl(start, end, number, host, parts[1], decode(value))


class DeciderByHost(Decider):
    """Decides for one robot by a file with rules that name hosts."""

    __slots__ = ("_by_host", "_full_urls", "_last")

    def __init__(
        self,
        body: bytes,
        grammar: Grammar,
        names: tuple[str, ...],
        full_urls: FullUrlRules,
    ) -> None:
        super().__init__(body, grammar, names)
        self._full_urls = full_urls
        self._by_host: dict[str | None, Decider] = {}
        self._last: Decider | None = None

    def _of(self, url: str) -> Decider:
        """Return what decides on a URL: by its host, or for all that no rule names."""
        check_url(url)
        host = host_of(url)
        if host is not None and host not in self._full_urls.hosts:
            host = _OTHERS
        decider = self._by_host.get(host)
        if decider is None:
            if len(self._by_host) >= _MOST_HOSTS:
                self._by_host.clear()
            body = self._full_urls.body_for(host)
            decider = Decider(body, self._grammar, self._names)
            self._by_host[host] = decider
        self._last = decider
        return decider

    def allowed(self, url: str) -> bool:
        """Return whether a URL is allowed, as an invalid one is."""
        return self._of(url).allowed(url)

    def verdict(self, url: str) -> Verdict:
        """Like :meth:`allowed`, with the rule that decided, as it is written."""
        verdict = self._of(url).verdict(url)
        rule = verdict.rule
        if rule is None or rule.line not in self._full_urls.values:
            return verdict
        written = self._full_urls.values[rule.line]
        return replace(verdict, rule=replace(rule, path=written))

    def preparing(self, url: str) -> Iterator[object] | None:
        """Return the steps that are left to index the file for the URL's host."""
        return self._of(url).preparing(url)

    def explaining(self) -> Iterator[object] | None:
        """Return the steps that are left for the host that was asked last."""
        return None if self._last is None else self._last.explaining()
