"""`RobotsTxt`, a parsed robots.txt, and its verdicts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.robots.robotstxt.agents import names_in_order
from scrapy_mandelbot.robots.robotstxt.decider import Decider
from scrapy_mandelbot.robots.robotstxt.dialects import OWN_FIELDS
from scrapy_mandelbot.robots.robotstxt.grammar import (
    grammar_of,
    line_ends,
    searchable,
    value_of,
)
from scrapy_mandelbot.robots.robotstxt.groups import own_spans
from scrapy_mandelbot.robots.robotstxt.paths import read_url
from scrapy_mandelbot.robots.robotstxt.verdict import Verdict

if TYPE_CHECKING:
    from scrapy_mandelbot.robots.lint import Finding
    from scrapy_mandelbot.robots.preferences.in_robots_txt import (
        AgentPreferences,
        FilePreferences,
        Preference,
    )
    from scrapy_mandelbot.robots.preferences.statements import Statement, Usage
    from scrapy_mandelbot.robots.robotstxt.dialects import Dialect
    from scrapy_mandelbot.robots.robotstxt.grammar import Grammar
    from scrapy_mandelbot.robots.robotstxt.records import Record
    from scrapy_mandelbot.robots.robotstxt.times import RequestRate, TimeWindow

    Agent = str | Sequence[str]

CACHED_AGENTS = 128  # a crawler has one or two; invented ones must not fill the memory


class RobotsTxt:
    """A robots.txt, read in one dialect.

    An `agent` is a product token (``"Mandelbot"``), a whole User-Agent header, or a sequence of
    these in order of preference. A `url` is absolute or a path.
    """

    __slots__ = ("_body", "_deciders", "_fetched", "_grammar", "_max_bytes", "_preferences")

    def __init__(
        self, body: bytes, grammar: Grammar, fetched: bytes, max_bytes: int | None
    ) -> None:
        self._body = body
        self._grammar = grammar
        self._fetched = fetched  # usually the body itself; the linter needs the original
        self._max_bytes = max_bytes
        self._deciders: dict[object, Decider] = {}  # by agent as given, and by its names
        self._preferences: FilePreferences | None = None

    @classmethod
    def parse(
        cls, body: bytes, *, dialect: str | Dialect = "mandelbot", max_bytes: int | None = 512_000
    ) -> RobotsTxt:
        """Parse the body of a robots.txt. Never raises, whatever the bytes.

        Only whole lines within `max_bytes` count; None: no limit. An unknown dialect raises
        ValueError.
        """
        grammar = grammar_of(dialect)
        return cls(grammar.clean(body, max_bytes), grammar, body, max_bytes)

    def __repr__(self) -> str:
        return f"<RobotsTxt {self.dialect.name}, {len(self._body)} bytes>"

    @property
    def dialect(self) -> Dialect:
        """The dialect in which the file is read."""
        return self._grammar.dialect

    # Deciding.

    def allowed(self, url: str, agent: Agent) -> bool:
        """Return whether the agent may fetch the URL. An invalid URL is allowed."""
        try:
            decider = self._deciders.get(agent)
        except TypeError:  # an unhashable list
            decider = None
        if decider is None or "%" in url or "#" in url or not url.isascii():
            return self._allowed(url, agent)
        index = decider.index
        if index is None:
            rules = decider.listed
            if rules is None or not rules.left or not url.startswith(rules.site):
                return self._allowed(url, agent)
            return rules.decide(url[rules.path_at :])
        answer = index.answers[bisect_right(index.bounds, url)]
        if answer is True or answer is False:
            return answer
        return self._allowed(url, agent) if answer is None else answer.decide(url)

    def _allowed(self, url: str, agent: Agent) -> bool:
        """Decide for a URL that cannot be looked up unchanged, or an agent without an index."""
        parts = read_url(url, self._grammar.dialect)
        return parts is None or self._decider(agent).allowed(*parts)

    def preparing(self, url: str, agent: Agent) -> Iterator[object] | None:
        """Return steps that prepare the decisions on URLs such as this one; None: none are needed.

        `allowed` prepares a file of 512 KB at once, in 0.1 s. An event loop can take the steps
        before, most of a fraction of a millisecond, and do other work between them.
        """
        parts = read_url(url, self.dialect)
        return None if parts is None else self._decider(agent).preparing(parts[0])

    def verdict(self, url: str, agent: Agent) -> Verdict:
        """Like `allowed`, with the rule that decided, its line and its group.

        Costs a scan of the agent's rules; after several calls some lookups, and memory for the
        rules. On a hot path, call `allowed` first.
        """
        decider, parts = self._decider(agent), read_url(url, self._grammar.dialect)
        if parts is None:
            return Verdict(True, None, decider.selection.agent, Verdict.NOT_A_URL)  # noqa: FBT003 - Verdict.allowed
        return decider.verdict(*parts)

    def _decider(self, agent: Agent) -> Decider:
        key = agent if isinstance(agent, str) else tuple(agent)
        decider = self._deciders.get(key)
        if decider is None:
            if len(self._deciders) >= CACHED_AGENTS:
                self._deciders.clear()
            names = self._grammar.names_of(key)
            decider = self._deciders.get(names) or Decider(self._body, self._grammar, names)
            self._deciders[names] = self._deciders[key] = decider
        return decider

    # Other lines for an agent.

    def crawl_delay(self, agent: Agent) -> float | None:
        """Return the agent's Crawl-delay in seconds, the longest of several, or None."""
        return max(self._times("crawl-delay", agent), default=None)

    def request_rates(self, agent: Agent) -> tuple[RequestRate, ...]:
        """Return the Request-rates for the agent, in order; `rate_at` selects the current one."""
        return self._times("request-rate", agent)

    def visit_times(self, agent: Agent) -> tuple[TimeWindow, ...]:
        """Return the Visit-times of the agent; empty: at all times."""
        return self._times("visit-time", agent)

    def _times(self, field: str, agent: Agent) -> tuple[Any, ...]:
        values = self._group_values(field, agent)
        if not values:
            return ()
        from scrapy_mandelbot.robots.robotstxt.times import READERS  # noqa: PLC0415 -- few files

        return tuple(time for time in map(READERS[field], values) if time is not None)

    def comments(self, agent: Agent) -> tuple[str, ...]:
        """Return the Comments to the agent's operators, in order."""
        return tuple(self._group_values("comment", agent))

    def group_lines(self, field: str, agent: Agent) -> tuple[tuple[int, str], ...]:
        """Return number and value of each line with this lower-case field for the agent.

        Values are as written, whether readable or not.
        """
        text = searchable(self._body)
        line = self._grammar.field_line(field)
        found = [
            match
            for start, end in self._group_spans(field, agent)
            for match in line.finditer(text, start, end)
        ]
        ends = line_ends(text) if found else []
        return tuple((bisect_right(ends, match.start()), value_of(match[1])) for match in found)

    def _group_values(self, field: str, agent: Agent) -> list[str]:
        lower, others = self._body.lower(), dict(self.dialect.spellings)
        if not any(name.encode() in lower for name in (field, *others.get(field, ()))):
            return []  # as in most files: the groups need not be searched
        return self._values(field, self._group_spans(field, agent))

    def _group_spans(self, field: str, agent: Agent) -> list[tuple[int, int]]:
        selection = self._decider(agent).selection
        spans = selection.spans
        if field in OWN_FIELDS:
            spans = list(own_spans(searchable(self._body), selection, self._grammar))
        if self.dialect.robot_version and field in _VERSION_2:
            spans = [span for span in spans if span.version > 1]
        return [(span.start, span.end) for span in spans]

    # Usage preferences.

    def usage(self, url: str, agent: Agent) -> Usage:
        """Return the usage preferences for a page, with every statement and its line.

        A page that the agent may not crawl has none (draft-ietf-aipref-attach). Groups for robots
        whose names stand for a use, such as GPTBot, count too: see `preferences`.
        """
        from scrapy_mandelbot.robots.preferences.statements import NOTHING_SAID, Usage  # noqa: PLC0415

        file = self._preferences or self._read_preferences()
        if not self.allowed(url, agent):
            return Usage((), file.licenses, is_crawlable=False)
        said: tuple[Statement, ...] = ()
        if file.has_lines and (preferences := self._preferences_of(agent)).lines:
            parts = read_url(url, self.dialect)
            said = preferences.of(parts[1] if parts else "")
        said += self._refused_as(file, url, agent) if file.tokens else ()
        return Usage(said, file.licenses) if said or file.licenses else NOTHING_SAID

    def preference_lines(self, agent: Agent) -> tuple[Preference, ...]:
        """Return the Content-Usage and Content-Signal lines for the agent, in order."""
        return self._preferences_of(agent).lines

    def _preferences_of(self, agent: Agent) -> AgentPreferences:
        from scrapy_mandelbot.robots.preferences.in_robots_txt import AgentPreferences  # noqa: PLC0415

        decider = self._decider(agent)
        if decider.preferences is None:
            text = searchable(self._body)
            decider.preferences = AgentPreferences(text, decider.selection, self._grammar)
        return decider.preferences

    def _read_preferences(self) -> FilePreferences:
        from scrapy_mandelbot.robots.preferences.in_robots_txt import FilePreferences  # noqa: PLC0415

        text = searchable(self._body)
        self._preferences = FilePreferences(
            text, self._grammar, lambda token: self._decider(token).only_rule()
        )
        return self._preferences

    def _refused_as(self, file: FilePreferences, url: str, agent: Agent) -> tuple[Statement, ...]:
        """No control token refuses an agent that is one itself."""
        own = names_in_order(agent if isinstance(agent, str) else tuple(agent))
        if not file.tokens.keys().isdisjoint(own):
            return ()
        found: list[Statement] = []
        for token, always in file.tokens.items():
            if not self.allowed(url, token):
                found += always or file.refusals(token, self.verdict(url, token).rule)
        return tuple(found)

    # Lines for all agents.

    @property
    def body(self) -> bytes:
        """The file as fetched."""
        return self._fetched

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The values of all Sitemap lines as written, in order."""
        return tuple(self._values("sitemap"))

    @property
    def hosts(self) -> tuple[str, ...]:
        """The values of Host lines as written, in order."""
        return tuple(self._values("host"))

    @property
    def clean_params(self) -> tuple[str, ...]:
        """The values of Clean-param lines as written, in order."""
        return tuple(self._values("clean-param"))

    @property
    def licenses(self) -> tuple[str, ...]:
        """The values of all License lines (RSL) as written, in order."""
        return tuple(self._values("license"))

    @property
    def records(self) -> tuple[Record, ...]:
        """Every line, numbered, with its problems."""
        from scrapy_mandelbot.robots.robotstxt.records import read_records  # noqa: PLC0415

        return tuple(read_records(self._body, self.dialect))

    @property
    def misspelt_line(self) -> tuple[int, str, str] | None:
        """Number, text and field of a rule or name that only other parsers read; None: no such.

        Google's parser and Protego read ``Disalow`` as Disallow; the dialect may not.
        """
        return self._grammar.misspelt_line(self._body)

    # Linting, rewriting and export.

    def findings(self) -> tuple[Finding, ...]:
        """Lint the file; return the findings in the order of its lines. See `lint`."""
        from scrapy_mandelbot.robots.lint import lint  # noqa: PLC0415 - rare

        return lint(self._fetched, max_bytes=self._max_bytes)

    def rewrite(self) -> str:
        """Return the normal form, which opens no URL to any robot. See `normalize`.

        In this dialect all decisions are unchanged.
        """
        from scrapy_mandelbot.robots.fix import normalize  # noqa: PLC0415

        return normalize(self._fetched, self.dialect, max_decisions=2_000).text

    def tables(self) -> dict[str, Any]:
        """Return the rules as plain data for programs in other languages. See `tables`."""
        from scrapy_mandelbot.robots.robotstxt.tables import tables_of  # noqa: PLC0415

        return tables_of(searchable(self._body), self._grammar)

    def _values(self, field: str, spans: list[tuple[int, int]] | None = None) -> list[str]:
        text = searchable(self._body)
        line = self._grammar.field_line(field)
        found = [
            value_of(value)
            for start, end in ([(0, len(text))] if spans is None else spans)
            for value in line.findall(text, start, end)
        ]
        return [value for value in found if value]


_VERSION_2 = frozenset({"request-rate", "visit-time", "comment"})
