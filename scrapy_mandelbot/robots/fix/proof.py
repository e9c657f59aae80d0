"""The proof: a file and its corrected version, asked the same, answer the same.

What is asked is in `questions.py`. And what either file says besides rules is compared: delays,
rates, times, comments, what is said of the use of pages, licences, sitemaps, Clean-params, and the
first Host, which is the only one that counts (Moderatobot, "Host directive"). What others make of
the two files is in `effects.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_mandelbot.robots.fix.questions import SITE, Questions
from scrapy_mandelbot.robots.robotstxt.robots_txt import RobotsTxt
from scrapy_mandelbot.robots.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_mandelbot.robots.robotstxt.dialects import Dialect

_LISTED = 50  # differences that are told one by one


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that the two files answer differently."""

    question: str
    """A URL, or a field such as ``Crawl-delay``."""
    agent: str | None
    """Who asked; None: it is about all robots."""
    before: str
    after: str

    def __str__(self) -> str:
        who = "" if self.agent is None else f" for {shown(self.agent)}"
        was, now = shown(self.before), shown(self.after)
        return f"{shown(self.question)}{who} was {was}, and is {now}"


@dataclass(frozen=True, slots=True)
class Proof:
    """What was compared, and what came of it."""

    dialect: str
    decisions: int
    """Pairs of a URL and a robot that were decided by both files."""
    fields: int
    """Other questions that were answered by both."""
    differences: tuple[Difference, ...]
    """The first ones."""
    different: int
    """How many there are."""
    is_whole: bool
    """False: the files are so large that a part of the questions, spread evenly, had to do."""

    @property
    def holds(self) -> bool:
        """Whether the files answered alike."""
        return not self.different

    def __str__(self) -> str:
        part = "" if self.is_whole else " (a sample of all)"
        if self.holds:
            return f"proved: {self.decisions} decisions in {self.dialect} are alike{part}"
        return (
            f"not proved: {self.different} of {self.decisions + self.fields} answers in "
            f"{self.dialect} differ{part}, first: {self.differences[0]}"
        )


def prove(
    original: bytes,
    rewritten: str | bytes,
    dialect: str | Dialect = "mandelbot",
    *,
    max_bytes: int | None = 512_000,
    max_decisions: int = 4_000_000,
) -> Proof:
    """Compare what two files say.

    Args:
        original: The file as fetched.
        rewritten: The other one.
        dialect: How both are read.
        max_bytes: As much of both is read.
        max_decisions: No more are compared, about; of more, as many spread evenly. Where patterns
            make each take longer, fewer.
    """
    if isinstance(rewritten, str):
        rewritten = rewritten.encode()
    before = RobotsTxt.parse(original, dialect=dialect, max_bytes=max_bytes)
    after = RobotsTxt.parse(rewritten, dialect=dialect, max_bytes=max_bytes)
    size = len(original) + len(rewritten)
    return prove_by(Questions((before, after), size, max_decisions), before, after)


def prove_by(questions: Questions, before: RobotsTxt, after: RobotsTxt) -> Proof:
    """Compare what two files answer to these questions."""
    return _Comparison(before, after).proof(questions)


class _Comparison:
    """Asks two files, and counts."""

    def __init__(self, before: RobotsTxt, after: RobotsTxt) -> None:
        self._before = before
        self._after = after
        self._decisions = self._fields = self._different = 0
        self._differences: list[Difference] = []

    def proof(self, questions: Questions) -> Proof:
        """Ask both files everything."""
        for agent, targets in questions.asked():
            self._compare_decisions(agent, targets)
            self._compare_fields(agent)
        self._compare("Sitemap", None, self._before.sitemaps, self._after.sitemaps)
        self._compare("License", None, set(self._before.licenses), set(self._after.licenses))
        self._compare("Host", None, self._before.hosts[:1], self._after.hosts[:1])
        self._compare("Clean-param", None, self._before.clean_params, self._after.clean_params)
        return Proof(
            self._before.dialect.name,
            self._decisions,
            self._fields,
            tuple(self._differences),
            self._different,
            questions.is_whole,
        )

    def _compare_decisions(self, agent: str, targets: Iterable[str]) -> None:
        before, after = self._before.allowed, self._after.allowed
        for target in targets:
            url = SITE + target
            self._decisions += 1
            if before(url, agent) != after(url, agent):
                verdicts = self._before.verdict(url, agent), self._after.verdict(url, agent)
                self._differ(Difference(url, agent, *map(str, verdicts)))

    def _compare_fields(self, agent: str) -> None:
        before, after = self._before, self._after
        answers: Sequence[tuple[str, object, object]] = (
            ("Crawl-delay", before.crawl_delay(agent), after.crawl_delay(agent)),
            ("Request-rate", before.request_rates(agent), after.request_rates(agent)),
            ("Visit-time", before.visit_times(agent), after.visit_times(agent)),
            ("Comment", before.comments(agent), after.comments(agent)),
            ("Content-Usage", _preferences(before, agent), _preferences(after, agent)),
        )
        for field, one, other in answers:
            self._compare(field, agent, one, other)

    def _compare(self, field: str, agent: str | None, before: object, after: object) -> None:
        self._fields += 1
        if before != after:
            self._differ(Difference(field, agent, str(before), str(after)))

    def _differ(self, difference: Difference) -> None:
        self._different += 1
        if len(self._differences) < _LISTED:
            self._differences.append(difference)


def _preferences(robots: RobotsTxt, agent: str) -> list[str]:
    """Return the Content-Usage and Content-Signal lines about an agent; their order is nothing."""
    return sorted({line.text for line in robots.preference_lines(agent)})
