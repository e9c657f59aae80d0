"""The correction that hurts nobody: the best version of a file that opens nothing to any robot.

The file that the document describes (`rewrite.py`) is tried first. Where it would open something,
to whoever reads it, or close what the file leaves open, the lines stay where they are
(`in_place`), and where even that would, the file stays as it is. What it costs to see that is
known before (`effort`): where it is too much, the lines stay, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.robots.fix.effects import READINGS, effects_by
from scrapy_mandelbot.robots.fix.proof import Proof, prove_by
from scrapy_mandelbot.robots.fix.questions import LONGEST, PROBES, Most, Questions, price_of
from scrapy_mandelbot.robots.fix.rewrite import rewrite
from scrapy_mandelbot.robots.fix.rewritten_lines import RewrittenLine, spelt
from scrapy_mandelbot.robots.robotstxt.dialects import DIALECTS, FIELDS
from scrapy_mandelbot.robots.robotstxt.grammar import UTF16_MARKS, WHITE_SPACE, clean_bytes, decode
from scrapy_mandelbot.robots.robotstxt.records import read_outline
from scrapy_mandelbot.robots.robotstxt.robots_txt import RobotsTxt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_mandelbot.robots.fix.effects import Effect
    from scrapy_mandelbot.robots.robotstxt.dialects import Dialect
    from scrapy_mandelbot.robots.robotstxt.records import Outline, Record

# A decision, where no pattern is tried, takes as long as these:
_SEARCH = 80  # bytes that are searched for a robot's groups
_READING = 4  # lines that are read
_OTHERS = 10  # rules of others that each robot is asked about
_FEW = 40  # URLs for each robot of a file that is too large


@dataclass(frozen=True, slots=True)
class Effort:
    """What comparing would cost."""

    questions: int
    """About as many are to be asked."""
    decisions: int
    """As many plain ones take as long, for each reader."""
    few: int
    """So many URLs a robot are what any file can be asked."""


def effort_of(outline: Outline, size: int) -> Effort:
    """Return what it costs to compare all that a file of `size` bytes says."""
    names: set[str] = set()
    paths: list[str] = []
    own = 0
    for group in outline.groups:
        values = [rule.value for rule in group.rules()]
        names.update(agent.value.lower() for agent in group.agents)
        paths += values
        own += len(values) * len(group.agents)
    agents = 2 * len(names) + 1
    questions = PROBES * (own + min(len(paths), _OTHERS) * agents)
    price = price_of(paths)
    decisions = questions * price + agents * size // _SEARCH + len(outline.records) // _READING
    if any(len(path) >= LONGEST for path in paths):
        decisions += size**2
    return Effort(questions, decisions, max(1, _FEW // price))


def rewrite_in_place(outline: Outline) -> str:
    """Return the file with each line as documents write it, its comment above it."""
    opening = {group.agents[0].number for group in outline.groups}
    return "".join(f"{line}\n" for line in _lines(outline.records, opening))


def _lines(records: Iterable[Record], opening: set[int]) -> Iterator[str]:
    comments: list[str] = []
    within = False  # a group that has no blank line after it yet
    for record in records:
        if not record.field and record.comment is not None and not record.value:
            comments.append(record.raw.strip(WHITE_SPACE))
            continue
        if record.number in opening and within:
            yield ""  # Moderatobot, "Groups": they must be separated by blank lines
        yield from comments
        comments = []
        within = bool(record.field) and (within or record.field == "user-agent")
        yield from _line(record)
    yield from comments


def _line(record: Record) -> Iterator[str]:
    is_read = record.field in FIELDS and (record.value or record.field == "disallow")
    before = record.raw[: -len(record.comment or "") - 1] if record.comment is not None else ""
    if not is_read or (record.comment is not None and before[-1:] not in WHITE_SPACE):
        yield record.raw  # some robots take it for something: then for what it is
        return
    comment = (record.comment or "").rstrip(WHITE_SPACE)
    yield from RewrittenLine(
        spelt(record), record.value, [f"#{comment}"] if comment else []
    ).write()


_SMALL = 25_000  # bytes; a smaller file may be as slow
_ALL = Most(1_000_000, 50_000_000, 200)  # all robots about all their rules, whose number is known


@dataclass(frozen=True, slots=True)
class Correction:
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


def correct(
    body: bytes,
    dialect: str | Dialect = "mandelbot",
    *,
    alone: bool = False,
    max_bytes: int | None = 512_000,
    max_decisions: int = 100_000,
) -> Correction:
    """Return the corrected version of a whole file, past `max_bytes`, too.

    Args:
        body: The file as fetched.
        dialect: How it is read.
        alone: It is corrected for this dialect, whatever that changes for others.
        max_bytes: What robots read of a file; of a longer one the rest is told of.
        max_decisions: So many are compared for each 25,000 bytes and each who reads the file,
            about, or fewer where each takes longer. The lines of a file that asks for more stay
            where they are.
    """
    robots = RobotsTxt.parse(body, dialect=dialect, max_bytes=None)
    outline = read_outline(robots.records, robots.dialect)
    effort = effort_of(outline, len(body))
    is_large = effort.decisions > max_decisions * max(_SMALL, len(body)) // _SMALL
    refused: list[str] = []
    for write in (_as_documented, _in_place, _as_it_is):
        if is_large and write is _as_documented and not alone:
            continue
        text, remarks = write(_Read(robots, outline, body), max_bytes, alone=alone)
        new = text.encode()
        after = RobotsTxt.parse(new, dialect=dialect, max_bytes=None)
        files = [robots, after]
        if not is_large:
            files += [
                RobotsTxt.parse(one, dialect=name, max_bytes=None)
                for name in READINGS
                if name != robots.dialect.name
                for one in (body, new)
            ]
        most = Most(1, effort.few, effort.few) if is_large else _ALL
        questions = Questions(files, len(body), max_decisions, most=most)
        proof = prove_by(questions, robots, after)
        found = effects_by(questions, body, new, dialect, max_bytes)
        if is_large:
            refused = [_unproved(proof, effort.questions)]
        told = (*_unread(body, max_bytes), *refused, *remarks)
        correction = Correction(text, told, proof, found)
        if correction.is_harmless or (alone and proof.holds):
            break
        refused = refused or [_refusal(correction)]
    return correction


def _unproved(proof: Proof, decisions: int) -> str:
    return f"The file is too large to be compared in whole: {proof.decisions} of {decisions} were."


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


class _Read(NamedTuple):
    robots: RobotsTxt
    outline: Outline
    body: bytes


_Written = tuple[str, tuple[str, ...]]


def _as_documented(read: _Read, max_bytes: int | None, *, alone: bool) -> _Written:
    rewritten = rewrite(read.robots, max_bytes=max_bytes, alone=alone)
    return rewritten.text, rewritten.remarks


def _in_place(read: _Read, _: int | None, *, alone: bool) -> _Written:  # noqa: ARG001 - one shape
    text = rewrite_in_place(read.outline)
    name = read.robots.dialect.name
    how = f"--only {name}, or correct(…, alone=True), puts them in order all the same"
    return text, (f"So the lines stay where they are, and are only spelt as documents do; {how}.",)


def _as_it_is(read: _Read, _: int | None, *, alone: bool) -> _Written:  # noqa: ARG001 - one shape
    body = read.body
    text = (
        body.decode("utf-16", "replace")
        if body[:2] in UTF16_MARKS
        else decode(body.decode("latin-1"))
    )
    return text, ("So the file stays as it is.",)
