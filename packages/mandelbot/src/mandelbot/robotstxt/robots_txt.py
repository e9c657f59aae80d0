"""`RobotsTxt`, a parsed robots.txt, and its verdicts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from mandelbot.arguments import (
    agent_key,
    check_url,
    is_a_url,
    is_swapped,
    octets_of,
)
from mandelbot.robotstxt.decider import Decider
from mandelbot.robotstxt.grammar import grammar_of

if TYPE_CHECKING:
    from mandelbot.findings import Finding
    from mandelbot.preferences.in_robots_txt import Preference
    from mandelbot.preferences.of_file import FilePreferences
    from mandelbot.preferences.statements import Statement, Usage
    from mandelbot.robotstxt.agents import Agent
    from mandelbot.robotstxt.dialects import Dialect
    from mandelbot.robotstxt.full_urls import FullUrlRules
    from mandelbot.robotstxt.records import Record
    from mandelbot.robotstxt.times import RequestRate, TimeWindow
    from mandelbot.robotstxt.verdict import Verdict

CACHED_AGENTS = 128  # a crawler has one or two; invented ones must not fill the memory


class RobotsTxt:
    r"""A robots.txt, read in one dialect.

    An `agent` is a product token (``"Mandelbot"``), a whole User-Agent header, or a
    sequence of these in order of preference. A `url` is absolute or a path.

    >>> from mandelbot import RobotsTxt
    >>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /*.pdf$\n")
    >>> robots.allowed("https://example.com/paper.pdf", "Examplebot/1.0")
    False
    """

    LARGE: ClassVar = 32_000
    """Bytes of a file; a longer one may take several milliseconds to prepare."""

    __slots__ = (
        "_body",
        "_deciders",
        "_fetched",
        "_full_urls",
        "_grammar",
        "_max_bytes",
        "_preferences",
    )

    def __init__(
        self, fetched: bytes, dialect: str | Dialect, max_bytes: int | None
    ) -> None:
        self._grammar = grammar_of(dialect)
        self._body = self._grammar.clean(fetched, max_bytes)
        # usually the body itself; the linter needs the original
        self._fetched = fetched
        self._max_bytes = max_bytes
        # by agent as given, and by its names
        self._deciders: dict[object, Decider] = {}
        self._preferences: FilePreferences | None = None
        # the rules of a file that name hosts; None: none, or not asked yet
        self._full_urls: FullUrlRules | None = None

    @classmethod
    def parse(
        cls,
        body: bytes,
        *,
        dialect: str | Dialect = "mandelbot",
        max_bytes: int | None = 512_000,
    ) -> RobotsTxt:
        """Parse the body of a robots.txt. Never raises, whatever the bytes.

        Only whole lines within `max_bytes` count; None: no limit.

        Raises:
            TypeError: `body` is neither bytes nor a bytearray nor a memoryview.
            ValueError: the dialect is unknown.
        """
        if type(body) is not bytes:
            body = octets_of(body, "body", "response.body")
        return cls(body, dialect, max_bytes)

    def __repr__(self) -> str:
        return f"<RobotsTxt {self.dialect.name}, {len(self._body)} bytes>"

    @property
    def dialect(self) -> Dialect:
        """The dialect in which the file is read."""
        return self._grammar.dialect

    # Deciding.

    def allowed(self, url: str, agent: Agent) -> bool:
        """Return whether the agent may fetch the URL. An invalid URL is allowed.

        Raises:
            TypeError: one of both is no text, and the agent no sequence of texts.
            ValueError: the agent is a URL, and the URL is none: they are swapped.
        """
        try:
            decider = self._deciders[agent]
            is_plain = "%" not in url and "#" not in url and url.isascii()
        except (AttributeError, KeyError, TypeError):
            # not cached yet, an unhashable list, or a wrong type
            if type(url) is not str or ("://" not in url and not url.startswith("/")):
                _check_order(url, agent)
            return self._decider(agent).allowed(url)
        if not is_plain:
            return decider.allowed(url)
        index = decider.index
        if index is None:
            rules = decider.listed
            if rules is None or not rules.left or not url.startswith(rules.site):
                return decider.allowed(url)
            return rules.decide(url[rules.path_at :])
        answer = index.answers[bisect_right(index.bounds, url)]
        if answer is True or answer is False:
            return answer
        return decider.allowed(url) if answer is None else answer.decide(url)

    def preparing(self, url: str, agent: Agent) -> Iterator[object] | None:
        """Return steps that prepare the decisions on URLs such as this one.

        None: none are needed. `allowed` prepares a file of 512 KB at once, in 0.1 s. An
        event loop can take the steps before, most of a fraction of a millisecond, and
        do other work between them.
        """
        return self._decider(agent).preparing(url)

    def verdict(self, url: str, agent: Agent) -> Verdict:
        """Like `allowed`, with the rule that decided, its line and its group.

        Costs a scan of the agent's rules; after several calls some lookups, and memory
        for the rules. On a hot path, call `allowed` first.
        """
        verdict = self._decider(agent).verdict(url)
        if verdict.reason == verdict.NOT_A_URL and is_swapped(url, agent):
            return replace(verdict, reason=verdict.SWAPPED)
        return verdict

    def explaining(self, agent: Agent) -> Iterator[object] | None:
        """Return steps that prepare verdicts, as :meth:`preparing` does decisions."""
        return self._decider(agent).explaining()

    def _decider(self, agent: Agent) -> Decider:
        key = agent if isinstance(agent, str) else agent_key(agent)
        decider = self._deciders.get(key)
        if decider is None:
            if len(self._deciders) >= CACHED_AGENTS:
                self._deciders.clear()
            names = self._grammar.names_of(key)
            decider = self._deciders.get(names)
            if decider is None:
                find = self._grammar.full_url
                if find is not None and find.search(self._body):
                    decider = self._decider_by_host(names)
                else:
                    decider = Decider(self._body, self._grammar, names)
            self._deciders[names] = decider
            self._deciders[key] = decider
        return decider

    def _decider_by_host(self, names: tuple[str, ...]) -> Decider:
        from mandelbot.robotstxt.full_urls import DeciderByHost, FullUrlRules  # noqa: PLC0415 -- few files

        if self._full_urls is None:
            self._full_urls = FullUrlRules(self._body, self._grammar)
        return DeciderByHost(self._body, self._grammar, names, self._full_urls)

    # Other lines for an agent.

    def crawl_delay(self, agent: Agent) -> float | None:
        """Return the agent's longest Crawl-delay in seconds, or None."""
        return max(self._decider(agent).times("crawl-delay"), default=None)

    def request_rates(self, agent: Agent) -> tuple[RequestRate, ...]:
        """Return the Request-rates for the agent, in order.

        `rate_at` selects the current one.
        """
        return tuple(self._decider(agent).times("request-rate"))

    def visit_times(self, agent: Agent) -> tuple[TimeWindow, ...]:
        """Return the Visit-times of the agent; empty: at all times."""
        return tuple(self._decider(agent).times("visit-time"))

    def comments(self, agent: Agent) -> tuple[str, ...]:
        """Return the Comments to the agent's operators, in order."""
        return tuple(value for _, value in self.group_lines("comment", agent) if value)

    def group_lines(self, field: str, agent: Agent) -> tuple[tuple[int, str], ...]:
        """Return number and value of each line of the agent with a lower-case field.

        Values are as written, whether readable or not.
        """
        return tuple(self._decider(agent).values(field))

    # Usage preferences.

    def usage(self, url: str, agent: Agent) -> Usage:
        """Return the usage preferences for a page, with every statement and its line.

        A page that the agent may not crawl has none (draft-ietf-aipref-attach). Groups
        for robots whose names stand for a use, such as GPTBot, count too: see
        `preferences`.
        """
        from mandelbot.preferences.statements import NOTHING_SAID, Usage  # noqa: PLC0415

        file = self._preferences or self._read_preferences()
        if not self.allowed(url, agent):
            return Usage((), file.licenses, is_crawlable=False)
        said: tuple[Statement, ...] = ()
        if file.has_lines:
            said = self._decider(agent).preferences.of(url)
        for token in file.tokens_beside(agent) if file.tokens else ():
            if not self.allowed(url, token):
                said += file.tokens[token] or file.refusals(
                    token, self.verdict(url, token).rule
                )
        if said or file.licenses:
            return Usage(said, file.licenses)
        return NOTHING_SAID

    def preference_lines(self, agent: Agent) -> tuple[Preference, ...]:
        """Return the Content-Usage and Content-Signal lines for the agent, in order."""
        return self._decider(agent).preferences.lines

    def _read_preferences(self) -> FilePreferences:
        from mandelbot.preferences.of_file import FilePreferences  # noqa: PLC0415

        self._preferences = FilePreferences(
            self._body, self._grammar, lambda token: self._decider(token).only_rule()
        )
        return self._preferences

    # Lines for all agents.

    @property
    def body(self) -> bytes:
        """The file as fetched."""
        return self._fetched

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The URLs of all Sitemap lines, in order; a value that is none, as written.

        A line may lack the field, or have several URLs: see `sitemap_lines`.
        """
        has_field = self._grammar.may_have("sitemap", self._body)
        if not has_field and b"//" not in self._body:
            return ()
        from mandelbot.robotstxt import sitemap_lines  # noqa: PLC0415 -- not for verdicts

        of_line: dict[int, tuple[str, ...]] = {}
        for number, value in self._grammar.values("sitemap", self._body):
            if value:
                of_line[number] = sitemap_lines.urls_of(value)
        # a dialect may read such a line, too: "Sitemaps https" is a field to Google
        for number, url in sitemap_lines.bare_urls(self._body):
            of_line[number] = (url,)
        return tuple(url for number in sorted(of_line) for url in of_line[number])

    @property
    def hosts(self) -> tuple[str, ...]:
        """The values of Host lines as written, in order."""
        return self._values("host")

    @property
    def clean_params(self) -> tuple[str, ...]:
        """The values of Clean-param lines as written, in order."""
        return self._values("clean-param")

    @property
    def licenses(self) -> tuple[str, ...]:
        """The values of all License lines (RSL) as written, in order."""
        return self._values("license")

    @property
    def records(self) -> tuple[Record, ...]:
        """Every line, numbered, with its problems."""
        from mandelbot.robotstxt.records import Record  # noqa: PLC0415

        return tuple(Record.read(self._body, self.dialect))

    @property
    def misspelt_line(self) -> tuple[int, str, str] | None:
        """Number, text and field of a rule or name that only other parsers read.

        None: no such. Google's parser and Protego read ``Disalow`` as Disallow; the
        dialect may not.
        """
        return self._grammar.misspelt_line(self._body)

    # Linting, rewriting and export.

    def findings(self) -> tuple[Finding, ...]:
        """Lint the file; return the findings in the order of its lines. See `lint`."""
        from mandelbot.findings import lint  # noqa: PLC0415 - rare

        return lint(self._fetched, max_bytes=self._max_bytes)

    def rewrite(self) -> str:
        """Return the normal form, which opens no URL to any robot. See `normalize`.

        In this dialect all decisions are unchanged.
        """
        from mandelbot.fix import normalize  # noqa: PLC0415

        return normalize(self._fetched, self.dialect, max_decisions=2_000).text

    def tables(self) -> dict[str, Any]:
        """Return the rules as plain data for programs in other languages.

        See `tables`.
        """
        from mandelbot.robotstxt.tables import tables_of  # noqa: PLC0415

        return tables_of(self._body, self._grammar)

    def _values(self, field: str) -> tuple[str, ...]:
        if not self._grammar.may_have(field, self._body):
            return ()
        return tuple(
            value for _, value in self._grammar.values(field, self._body) if value
        )


def _check_order(url: str, agent: Agent) -> None:
    """Raise an exception for a URL that is none and an agent that is one."""
    check_url(url)
    if is_swapped(url, agent) and is_a_url(agent):
        raise ValueError(
            f"url is {url!r} and agent is {agent!r}: are they swapped?"
            " Call allowed(url, agent)"
        )
