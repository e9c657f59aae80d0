"""The correction that opens nothing to any robot, and the proof that no decision changes.

`rewrite.py` writes the file that the document describes. If that would open something to a robot,
or close what the file leaves open, or if the file is too large to compare, it stays unchanged.

`questions.py` chooses the URLs and robots to compare. The other fields are compared, too: delays,
rates, times, comments, usage preferences, licences, sitemaps, Clean-params, and the first Host, the
only one that counts (Moderatobot, "Host directive"). `effects.py` compares other readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.robots.fix.effects import READINGS, effects_by
from scrapy_mandelbot.robots.fix.questions import SITE, Questions
from scrapy_mandelbot.robots.fix.rewrite import rewrite
from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.robotstxt.grammar import UTF16_MARKS, decode, grammar_of
from scrapy_mandelbot.robots.robotstxt.robots_txt import RobotsTxt

if TYPE_CHECKING:
    from scrapy_mandelbot.robots.fix.effects import Effect
    from scrapy_mandelbot.robots.robotstxt.dialects import Dialect

_LISTED = 50  # differences that are listed


class Difference(NamedTuple):
    """A question with different answers."""

    question: str
    """A URL, or a field such as ``Crawl-delay``."""
    agent: str | None
    """The robot; None: all robots."""
    before: str
    after: str

    def __str__(self) -> str:
        who = "" if self.agent is None else f" for {shown(self.agent)}"
        was, now = shown(self.before), shown(self.after)
        return f"{shown(self.question)}{who} was {was}, and is {now}"


class Proof(NamedTuple):
    """How many answers were compared, and which differ."""

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
        """Whether all answers are equal."""
        return not self.different

    def __str__(self) -> str:
        part = "" if self.is_whole else ", a sample"
        if self.holds:
            return (
                f"verified: {self.decisions} allow/disallow decisions unchanged "
                f"({self.dialect} dialect{part})"
            )
        return (
            f"not verified: {self.different} of {self.decisions + self.fields} answers differ "
            f"({self.dialect} dialect{part}), first: {self.differences[0]}"
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


class Correction(NamedTuple):
    """A corrected file, and what it changes for whom."""

    text: str
    remarks: tuple[str, ...]
    """Where it is not as the document recommends, and why, as sentences."""
    proof: Proof
    """That it says in the dialect what the file says, all of it."""
    effects: tuple[Effect, ...]
    """What changes for those who read the file otherwise; nothing opens, but with `alone`."""

    @property
    def is_harmless(self) -> bool:
        """Whether all is as it was in the dialect, and nothing opens to others."""
        return self.proof.holds and all(effect.is_harmless for effect in self.effects)


def correct(  # noqa: PLR0913 - two by position
    body: bytes,
    dialect: str | Dialect = "mandelbot",
    *,
    alone: bool = False,
    unsafe: bool = False,
    max_bytes: int | None = 512_000,
    max_decisions: int = 100_000,
) -> Correction:
    """Return the corrected version of a whole file, past `max_bytes`, too.

    A file of more than 64 KiB, or with more to compare than there is time for, stays as it is.

    Args:
        body: The file as fetched.
        dialect: How it is read.
        alone: It is corrected for this dialect, whatever that changes for others.
        unsafe: It is put in order though that opens or closes something to others; `effects` say
            what to whom.
        max_bytes: How much robots read of a file; a remark names the rest of a longer one.
        max_decisions: About how many are compared for each reader, fewer where each takes longer,
            besides those for each rule.
    """
    as_asked = alone or unsafe
    why: tuple[str, ...] = (_TOO_LARGE,)
    if len(body) <= MOST_BYTES:
        robots = RobotsTxt.parse(body, dialect=dialect, max_bytes=None)
        written = rewrite(robots, max_bytes=max_bytes, alone=alone)
        correction = _compared(body, robots, written.text, max_decisions, max_bytes)
        if correction is not None:
            remarks = tuple(_unread(body, max_bytes))
            if correction.proof.holds and (as_asked or correction.is_harmless):
                return correction._replace(remarks=(*remarks, *written.remarks))
            how = (
                f"--unsafe corrects it nevertheless, --only {robots.dialect.name} for that dialect"
            )
            why = (*remarks, _refusal(correction), f"So the file stays unchanged; {how}.")
    text = as_it_is(body)
    proof = prove(body, text, dialect, max_bytes=None, max_decisions=max_decisions)
    return Correction(text, why, proof, ())


def _compared(
    body: bytes, robots: RobotsTxt, text: str, max_decisions: int, max_bytes: int | None
) -> Correction | None:
    """Return what a file changes for whom; None: to find out would take too long."""
    dialect, new = robots.dialect, text.encode()
    after = RobotsTxt.parse(new, dialect=dialect, max_bytes=None)
    files = [
        RobotsTxt.parse(one, dialect=name, max_bytes=None)
        for name in (READINGS if new != body else ())
        if name != dialect.name
        for one in (body, new)
    ]
    questions = Questions([robots, after, *files], len(body), max_decisions, all_robots=True)
    lines = max(one.count(b"\n") + one.count(b"\r") for one in (body, new))
    if questions.is_too_large or lines > questions.most_lines:
        return None
    proof = prove_by(questions, robots, after)
    effects = effects_by(questions, body, new, dialect, max_bytes)
    return Correction(text, (), proof, effects)


MOST_BYTES = 65_536
"""A file that is longer is not corrected: to compare the two would take too long."""
_TOO_LARGE = "The file is too large to compare completely: it stays unchanged."


def as_it_is(body: bytes) -> str:
    """Return a file as text that says the same."""
    if body[:2] not in UTF16_MARKS:
        return decode(body.decode("latin-1"))
    text = body.decode("utf-16", "replace")
    # A second mark is part of the first line; in UTF-8 it would be taken for the file's own.
    return f"\ufeff{text}" if text.startswith("\ufeff") else text


def _refusal(correction: Correction) -> str:
    if not correction.proof.holds:
        return f"Put in order, the file is {correction.proof}."
    harm = next(effect for effect in correction.effects if not effect.is_harmless)
    return f"Put in order, the file {next(harm.sentences())}."


def _unread(body: bytes, max_bytes: int | None) -> Iterator[str]:
    if max_bytes is not None and len(body) > max_bytes:
        read = len(grammar_of("mandelbot").clean(body, max_bytes).splitlines())
        yield (
            f"Robots that read {max_bytes} bytes stop after line {read} of "
            f"{len(body.splitlines())}: what follows is corrected, too, but does not count."
        )
