"""The correction that hurts nobody: the best version of a file that opens nothing to any robot.

The file that the document describes (`rewrite.py`) is tried. Where it would open something, to
whoever reads it, or close what the file leaves open, or where the file is so large that only a
sample were compared, the file stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scrapy_mandelbot.robots.fix.effects import READINGS, effects_by
from scrapy_mandelbot.robots.fix.proof import Proof, prove_by
from scrapy_mandelbot.robots.fix.questions import Most, Questions
from scrapy_mandelbot.robots.fix.rewrite import Rewritten, rewrite
from scrapy_mandelbot.robots.robotstxt.dialects import DIALECTS
from scrapy_mandelbot.robots.robotstxt.grammar import UTF16_MARKS, clean_bytes, decode
from scrapy_mandelbot.robots.robotstxt.robots_txt import RobotsTxt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.robots.fix.effects import Effect
    from scrapy_mandelbot.robots.robotstxt.dialects import Dialect

_MOST = Most(1_000_000, 0, 200)  # all robots
_SAMPLE = Most(10, 100, 100)


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
        correction, is_sample = _compared(body, robots, written, max_bytes, max_decisions)
        if correction.proof.holds and (as_asked or (correction.is_harmless and not is_sample)):
            return replace(correction, remarks=(*first, *written.remarks))
        first = (*first, _TOO_LARGE if is_sample else _refusal(correction), stays)
    same, _ = _compared(body, robots, Rewritten(as_it_is(body)), max_bytes, max_decisions)
    return replace(same, remarks=first)


def _compared(
    body: bytes, robots: RobotsTxt, written: Rewritten, max_bytes: int | None, max_decisions: int
) -> tuple[Correction, bool]:
    """Return what a file changes for whom, and whether a sample was compared alone."""
    dialect, new = robots.dialect, written.text.encode()
    after = RobotsTxt.parse(new, dialect=dialect, max_bytes=None)
    files = [
        RobotsTxt.parse(one, dialect=name, max_bytes=None)
        for name in (READINGS if new != body else ())
        if name != dialect.name
        for one in (body, new)
    ]
    questions = Questions([robots, after, *files], len(body), max_decisions, most=_MOST)
    is_sample = questions.is_too_large
    if is_sample:
        questions.most = _SAMPLE
    proof = prove_by(questions, robots, after)
    effects = effects_by(questions, body, new, dialect, max_bytes)
    return Correction(written.text, (), proof, effects), is_sample or questions.is_cut


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
