"""`RobotsTxt`, a parsed robots.txt, and its verdicts."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
    from mandelbot.robotstxt.agents import Agent
    from mandelbot.robotstxt.dialects import Dialect
    from mandelbot.robotstxt.full_urls import FullUrlRules
    from mandelbot.robotstxt.grammar import Grammar
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

    __slots__ = (
        "__weakref__",
        "_deciders",
        "_fetched",
        "_full_urls",
        "_mentioned",
        "cleaned",
        "grammar",
        "max_bytes",
    )

    def __init__(
        self, fetched: bytes, dialect: str | Dialect, max_bytes: int | None
    ) -> None:
        self._fetched = fetched
        self.max_bytes = max_bytes
        """How many bytes of the file count; None: all."""
        # Internal: what else of the library reads the file begins with these.
        self.grammar: Grammar = grammar_of(dialect)
        self.cleaned = self.grammar.clean(fetched, max_bytes)
        # fields, and misspelt ones; None: not asked yet
        self._mentioned: tuple[str, ...] | None = None
        # by agent as given, and by its names
        self._deciders: dict[object, Decider] = {}
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
        return f"<RobotsTxt {self.dialect.name}, {len(self.cleaned)} bytes>"

    @property
    def dialect(self) -> Dialect:
        """The dialect in which the file is read."""
        return self.grammar.dialect

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
            return self.decider(agent).allowed(url)
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

    def verdict(self, url: str, agent: Agent) -> Verdict:
        """Like `allowed`, with the rule that decided, its line and its group.

        Costs a scan of the agent's rules; after several calls some lookups, and memory
        for the rules. On a hot path, call `allowed` first.
        """
        verdict = self.decider(agent).verdict(url)
        if verdict.reason == verdict.NOT_A_URL and is_swapped(url, agent):
            return replace(verdict, reason=verdict.SWAPPED)
        return verdict

    def decider(self, agent: Agent) -> Decider:
        """Return what decides for an agent. Internal, as its class."""
        key = agent if isinstance(agent, str) else agent_key(agent)
        decider = self._deciders.get(key)
        if decider is None:
            if len(self._deciders) >= CACHED_AGENTS:
                self._deciders.clear()
            names = self.grammar.names_of(key)
            decider = self._deciders.get(names)
            if decider is None:
                find = self.grammar.full_url
                if find is not None and find.search(self.cleaned):
                    decider = self._decider_by_host(names)
                else:
                    decider = Decider(self.cleaned, self.grammar, names)
            self._deciders[names] = decider
            self._deciders[key] = decider
        return decider

    def _decider_by_host(self, names: tuple[str, ...]) -> Decider:
        from mandelbot.robotstxt.full_urls import DeciderByHost, FullUrlRules  # noqa: PLC0415 -- few files

        if self._full_urls is None:
            self._full_urls = FullUrlRules(self.cleaned, self.grammar)
        return DeciderByHost(self.cleaned, self.grammar, names, self._full_urls)

    # Other lines for an agent.

    @property
    def mentioned(self) -> tuple[str, ...]:
        """What :meth:`Grammar.mentioned_in` says of the file, asked once. Internal."""
        if self._mentioned is None:
            self._mentioned = self.grammar.mentioned_in(self.cleaned)
        return self._mentioned

    def values_for(self, agent: Agent, field: str) -> list[tuple[int, str]]:
        """Return number and value of each line for the agent with one of `OWN_FIELDS`.

        Internal. Values are as written, whether readable or not.
        """
        decider = self.decider(agent)
        if field not in self.mentioned:
            return []  # the groups need not be searched
        return decider.values(field)

    def _times(self, agent: Agent, field: str) -> list[Any]:
        """Return the values of a field of `TIME_READERS` that can be read."""
        values = self.values_for(agent, field)
        if not values:
            return []
        from mandelbot.robotstxt.times import TIME_READERS  # noqa: PLC0415 -- few files

        times = (TIME_READERS[field](value) for _, value in values)
        return [time for time in times if time is not None]

    def crawl_delay(self, agent: Agent) -> float | None:
        """Return the agent's longest Crawl-delay in seconds, or None."""
        return max(self._times(agent, "crawl-delay"), default=None)

    def request_rates(self, agent: Agent) -> tuple[RequestRate, ...]:
        """Return the Request-rates for the agent, in order.

        `rate_at` selects the current one.
        """
        return tuple(self._times(agent, "request-rate"))

    def visit_times(self, agent: Agent) -> tuple[TimeWindow, ...]:
        """Return the Visit-times of the agent; empty: at all times."""
        return tuple(self._times(agent, "visit-time"))

    def comments(self, agent: Agent) -> tuple[str, ...]:
        """Return the Comments to the agent's operators, in order."""
        return tuple(value for _, value in self.values_for(agent, "comment") if value)

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
        if "sitemap" not in self.mentioned and b"//" not in self.cleaned:
            return ()
        from mandelbot.robotstxt import sitemap_lines  # noqa: PLC0415 -- not for verdicts

        of_line: dict[int, tuple[str, ...]] = {}
        slashes = 0
        for number, value in self.grammar.values("sitemap", self.cleaned):
            slashes += value.count("//")
            if value:
                of_line[number] = sitemap_lines.urls_of(value)
        # Seldom are there URLs elsewhere. A lenient dialect may read such a line, too:
        # "Sitemaps https" is a field to Google.
        if self.grammar.is_lenient or self.cleaned.count(b"//") > slashes:
            for number, url in sitemap_lines.bare_urls(self.cleaned):
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

        return tuple(Record.read(self.cleaned, self.dialect))

    def _values(self, field: str) -> tuple[str, ...]:
        if not self.grammar.may_have(field, self.cleaned):
            return ()
        return tuple(
            value for _, value in self.grammar.values(field, self.cleaned) if value
        )


def _check_order(url: str, agent: Agent) -> None:
    """Raise an exception for a URL that is none and an agent that is one."""
    check_url(url)
    if is_swapped(url, agent) and is_a_url(agent):
        raise ValueError(
            f"url is {url!r} and agent is {agent!r}: are they swapped?"
            " Call allowed(url, agent)"
        )
