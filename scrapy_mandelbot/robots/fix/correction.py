"""The correction that opens nothing to any robot, and the proof that no decision changes.

`rewrite.py` writes the file that the document describes. If that would open something to a robot,
or close what the file leaves open, or if the file is too large to compare, it stays unchanged.

`questions.py` chooses the URLs and robots to compare. The other fields are compared, too: delays,
rates, times, comments, usage preferences, licences, sitemaps, Clean-params, and the first Host, the
only one that counts (Moderatobot, "Host directive"). `effects.py` compares other readers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
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
    asked: Counter[str] = Counter()
    found = _differences(questions, before, after, asked)
    first = tuple(islice(found, _LISTED))
    different = len(first) + sum(1 for _ in found)  # all is asked by now
    return Proof(
        before.dialect.name,
        asked["decisions"],
        asked["fields"],
        first,
        different,
        questions.is_whole,
    )


def _differences(
    questions: Questions, before: RobotsTxt, after: RobotsTxt, asked: Counter[str]
) -> Iterator[Difference]:
    """Ask two files, count what is asked, and yield the questions with different answers."""
    for agent, targets in questions.asked():
        for target in targets:
            url = SITE + target
            asked["decisions"] += 1
            if before.allowed(url, agent) != after.allowed(url, agent):
                verdicts = before.verdict(url, agent), after.verdict(url, agent)
                yield Difference(url, agent, *map(str, verdicts))
        yield from _different_fields(agent, _about(before, agent), _about(after, agent), asked)
    yield from _different_fields(None, _about_all(before), _about_all(after), asked)


def _different_fields(
    agent: str | None, before: dict[str, object], after: dict[str, object], asked: Counter[str]
) -> Iterator[Difference]:
    asked["fields"] += len(before)
    for field, was in before.items():
        if was != after[field]:
            yield Difference(field, agent, str(was), str(after[field]))


def _about(robots: RobotsTxt, agent: str) -> dict[str, object]:
    return {
        "Crawl-delay": robots.crawl_delay(agent),
        "Request-rate": robots.request_rates(agent),
        "Visit-time": robots.visit_times(agent),
        "Comment": robots.comments(agent),
        # The order of these lines means nothing.
        "Content-Usage": sorted({line.text for line in robots.preference_lines(agent)}),
    }


def _about_all(robots: RobotsTxt) -> dict[str, object]:
    return {
        "Sitemap": robots.sitemaps,
        "License": set(robots.licenses),
        "Host": robots.hosts[:1],
        "Clean-param": robots.clean_params,
    }


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
