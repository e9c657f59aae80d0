"""The normal form that opens nothing to any robot, and the proof of it.

`normalize` writes the normal form of `rewrite.py`. What would open something to a robot
is not done.

`questions.py` chooses the URLs and robots to compare. For the normal form the other
fields are compared, too: delays, rates, times, comments, usage preferences, licences,
sitemaps, Clean-params, and the first Host, the only one that counts (Moderatobot, "Host
directive"). `effects.py` compares all readers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from mandelbot.arguments import octets_of
from mandelbot.fix.effects import READINGS, effects_by, sentences
from mandelbot.fix.questions import Questions
from mandelbot.fix.rewrite import rewrite
from mandelbot.formatting import shown
from mandelbot.preferences.of_file import preference_lines
from mandelbot.robotstxt.grammar import UTF16_MARKS, decode
from mandelbot.robotstxt.robots_txt import RobotsTxt

if TYPE_CHECKING:
    from mandelbot.fix.effects import Effect
    from mandelbot.robotstxt.dialects import Dialect

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
        was = shown(self.before)
        now = shown(self.after)
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
    """False: the files are so large that a part of the questions, spread evenly, had to
    do.
    """

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
            f"not verified: {self.different} of {self.decisions + self.fields} answers"
            f" differ ({self.dialect} dialect{part}), first: {self.differences[0]}"
        )


def prove(
    original: bytes,
    rewritten: str | bytes,
    dialect: str | Dialect = "mandelbot",
    *,
    max_decisions: int = 4_000_000,
) -> Proof:
    """Compare what two files say.

    Args:
        original: The file as fetched.
        rewritten: The other one.
        dialect: How both are read.
        max_decisions: No more are compared, about; of more, as many spread evenly.
            Where patterns make each take longer, fewer.
    """
    if isinstance(rewritten, str):
        rewritten = rewritten.encode()
    before = RobotsTxt.parse(original, dialect=dialect, max_bytes=None)
    after = RobotsTxt.parse(rewritten, dialect=dialect, max_bytes=None)
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
    """Put questions to two files, count them, and yield those answered differently."""
    for agent, targets in questions.asked():
        for target in targets:
            for url in questions.urls(target):
                asked["decisions"] += 1
                if before.allowed(url, agent) != after.allowed(url, agent):
                    verdicts = before.verdict(url, agent), after.verdict(url, agent)
                    yield Difference(url, agent, *map(str, verdicts))
        yield from _different_fields(
            agent, _about(before, agent), _about(after, agent), asked
        )
    yield from _different_fields(None, _about_all(before), _about_all(after), asked)


def _different_fields(
    agent: str | None,
    before: dict[str, object],
    after: dict[str, object],
    asked: Counter[str],
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
        "Content-Usage": sorted(
            {line.text for line in preference_lines(robots, agent)}
        ),
    }


def _about_all(robots: RobotsTxt) -> dict[str, object]:
    return {
        "Sitemap": robots.sitemaps,
        "License": set(robots.licenses),
        "Host": robots.hosts[:1],
        "Clean-param": robots.clean_params,
    }


class Correction(NamedTuple):
    """A file in the normal form."""

    text: str
    remarks: tuple[str, ...] = ()
    """What is not as it should be, and why, as sentences."""
    effects: tuple[Effect, ...] = ()
    """What changes for each reader; empty: the file is unchanged."""
    proof: Proof | None = None
    """That the normal form says in the dialect what the file says, all of it."""

    @property
    def changes(self) -> tuple[str, ...]:
        """What changes for whom, as sentences."""
        return tuple(sentences(self.effects))

    @property
    def is_harmless(self) -> bool:
        """Whether nothing opens, and only what is meant to be closed closes."""
        return not self.harm and (self.proof is None or self.proof.holds)

    @property
    def harm(self) -> str:
        """What opens to whom, or is lost, as the rest of a sentence; empty: nothing."""
        return next(sentences(one for one in self.effects if not one.is_harmless), "")


def normalize(
    body: bytes | RobotsTxt,
    dialect: str | Dialect | None = None,
    *,
    alone: bool = False,
    max_decisions: int = 100_000,
) -> Correction:
    r"""Return the normal form of a file, verified to make the same decisions.

    A file of more than 64 KiB, or with more to compare than there is time for, stays as
    it is.

    >>> from mandelbot import normalize
    >>> print(normalize(b"user-agent:*\ndisallow:/b\ndisallow:/a\n").text, end="")
    User-agent: *
    Disallow: /b
    Disallow: /a

    Args:
        body: The file as fetched, or a file that was parsed: all of it counts, whatever
            its limit.
        dialect: How it is read. None: as it was parsed, and a body as by ``mandelbot``.
        alone: It is written for this dialect, whatever that changes for others;
            `effects` say what to whom.
        max_decisions: About how many are compared for each reader, fewer where each
            takes longer, besides those for each rule.

    Raises:
        TypeError: `body` is neither bytes nor a bytearray nor a memoryview.
    """
    if isinstance(body, RobotsTxt):
        dialect = dialect or body.dialect
        body = body.body
    if type(body) is not bytes:
        body = octets_of(body, "body", "response.body")
    dialect = dialect or "mandelbot"
    why: tuple[str, ...] = (_TOO_LARGE,)
    robots = RobotsTxt.parse(body, dialect=dialect, max_bytes=None)
    if len(body) <= MOST_BYTES:
        written = rewrite(robots, alone=alone)
        new = written.text.encode()
        after = RobotsTxt.parse(new, dialect=dialect, max_bytes=None)
        questions = _questions(body, new, robots, after, max_decisions)
        if questions is not None:
            proof = prove_by(questions, robots, after)
            effects = effects_by(questions, body, new, after.allowed, robots.dialect)
            tried = Correction(written.text, written.remarks, effects, proof=proof)
            if proof.holds and (alone or tried.is_harmless):
                return tried
            does = tried.harm if proof.holds else f"is {proof}"
            only = f"--only {robots.dialect.name} writes it for that dialect."
            why = (
                f"In the normal form, the file {does}.",
                f"So it stays unchanged; {only}",
            )
    text = as_it_is(body)
    proof = prove(body, text, dialect, max_decisions=max_decisions)
    return Correction(text, why, proof=proof)


def _questions(
    body: bytes, new: bytes, robots: RobotsTxt, after: RobotsTxt, max_decisions: int
) -> Questions | None:
    """What to ask of two files; None: to compare them would take too long."""
    files = [
        RobotsTxt.parse(one, dialect=name, max_bytes=None)
        for name in (READINGS if new != body else ())
        if name != robots.dialect.name
        for one in (body, new)
    ]
    questions = Questions(
        [robots, after, *files], len(body), max_decisions, all_robots=True
    )
    lines = max(one.count(b"\n") + one.count(b"\r") for one in (body, new))
    is_too_large = questions.is_too_large or lines > questions.most_lines
    if is_too_large or len(body) > MOST_BYTES:
        return None
    return questions


MOST_BYTES = 65_536
"""A file that is longer is not corrected: to compare the two would take too long."""
_TOO_LARGE = "The file is too large to compare completely: it stays unchanged."


def as_it_is(body: bytes) -> str:
    """Return a file as text that says the same."""
    if body[:2] not in UTF16_MARKS:
        return decode(body.decode("latin-1"))
    text = body.decode("utf-16", "replace")
    # A second mark is part of the first line; in UTF-8 it would be taken for the file's
    # own.
    if text.startswith("\ufeff"):
        return f"\ufeff{text}"
    return text
