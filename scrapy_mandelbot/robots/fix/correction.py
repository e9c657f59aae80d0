"""The correction that hurts nobody, and the proof: both files, asked the same, answer the same.

The file that the document describes (`rewrite.py`) is tried. Where it would open something, to
whoever reads it, or close what the file leaves open, or where the file is so large that only a
sample were compared, the file stays as it is.

What is asked is in `questions.py`. And what either file says besides rules is compared: delays,
rates, times, comments, what is said of the use of pages, licences, sitemaps, Clean-params, and the
first Host, which is the only one that counts (Moderatobot, "Host directive"). What others make of
the two files is in `effects.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.robots.fix.effects import READINGS, effects_by
from scrapy_mandelbot.robots.fix.questions import SITE, Most, Questions
from scrapy_mandelbot.robots.fix.rewrite import rewrite
from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.robotstxt.dialects import DIALECTS
from scrapy_mandelbot.robots.robotstxt.grammar import UTF16_MARKS, clean_bytes, decode
from scrapy_mandelbot.robots.robotstxt.robots_txt import RobotsTxt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy_mandelbot.robots.fix.effects import Effect
    from scrapy_mandelbot.robots.robotstxt.dialects import Dialect

_LISTED = 50  # differences that are told one by one


class Difference(NamedTuple):
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


class Proof(NamedTuple):
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


_MOST = Most(1_000_000, 0, 200)  # all robots
_SAMPLE = Most(10, 100, 100)


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

    Args:
        body: The file as fetched.
        dialect: How it is read.
        alone: It is corrected for this dialect, whatever that changes for others.
        unsafe: It is put in order though that opens or closes something to others; `effects` say
            what to whom.
        max_bytes: What robots read of a file; of a longer one the rest is told of.
        max_decisions: So many are compared for each who reads the file, about, or fewer where each
            takes longer; besides those that are asked because of each rule.
    """
    robots = RobotsTxt.parse(body, dialect=dialect, max_bytes=None)
    first = tuple(_unread(body, max_bytes))
    how = f"--unsafe corrects it all the same, --only {robots.dialect.name} for these alone"
    stays = f"So the file stays as it is; {how}."
    as_asked = alone or unsafe
    if not as_asked and Questions([robots], len(body), max_decisions, most=_MOST).is_too_large:
        # With those of the corrected file there are yet more questions.
        first = (*first, _TOO_LARGE, stays)
    else:
        written = rewrite(robots, max_bytes=max_bytes, alone=alone)
        questions, after = _questions(body, robots, written.text, max_decisions)
        if as_asked or not questions.is_too_large:
            correction = _compared(body, written.text, questions, (robots, after), max_bytes)
            is_harmless = correction.is_harmless and not questions.is_cut
            if correction.proof.holds and (as_asked or is_harmless):
                return correction._replace(remarks=(*first, *written.remarks))
        is_sample = questions.is_too_large or questions.is_cut
        first = (*first, _TOO_LARGE if is_sample else _refusal(correction), stays)
    text = as_it_is(body)
    questions, after = _questions(body, robots, text, max_decisions)
    same = _compared(body, text, questions, (robots, after), max_bytes)
    return same._replace(remarks=first)


def _questions(
    body: bytes, robots: RobotsTxt, text: str, max_decisions: int
) -> tuple[Questions, RobotsTxt]:
    """Return what both files are to be asked, and the new one."""
    dialect, new = robots.dialect, text.encode()
    after = RobotsTxt.parse(new, dialect=dialect, max_bytes=None)
    files = [
        RobotsTxt.parse(one, dialect=name, max_bytes=None)
        for name in (READINGS if new != body else ())
        if name != dialect.name
        for one in (body, new)
    ]
    questions = Questions([robots, after, *files], len(body), max_decisions, most=_MOST)
    if questions.is_too_large:
        questions.most = _SAMPLE
    return questions, after


def _compared(
    body: bytes,
    text: str,
    questions: Questions,
    files: tuple[RobotsTxt, RobotsTxt],
    max_bytes: int | None,
) -> Correction:
    """Return what a file changes for whom."""
    proof = prove_by(questions, *files)
    effects = effects_by(questions, body, text.encode(), files[0].dialect, max_bytes)
    return Correction(text, (), proof, effects)


_TOO_LARGE = "The file is too large to be compared in whole."


def as_it_is(body: bytes) -> str:
    """Return a file as text that says the same."""
    is_wide = body[:2] in UTF16_MARKS
    return body.decode("utf-16", "replace") if is_wide else decode(body.decode("latin-1"))


def _refusal(correction: Correction) -> str:
    if not correction.proof.holds:
        return f"Put in order, the file is {correction.proof}."
    harm = next(effect for effect in correction.effects if not effect.is_harmless)
    return f"Put in order, the file {next(harm.sentences())}."


def _unread(body: bytes, max_bytes: int | None) -> Iterator[str]:
    if max_bytes is not None and len(body) > max_bytes:
        read = len(clean_bytes(body, DIALECTS["mandelbot"], max_bytes).splitlines())
        yield (
            f"Robots that read {max_bytes} bytes stop after line {read} of "
            f"{len(body.splitlines())}: what follows is corrected, too, but does not count."
        )
