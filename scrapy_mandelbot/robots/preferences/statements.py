"""What is said of the use of one page: statements, and the answer that they make together.

Source: draft-ietf-aipref-vocab (19 August 2026), section "Combining Preferences": any statement
that disallows wins, else any that allows, else it is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_mandelbot.robots.preferences.vocabulary import CATEGORIES, MEANINGS, Answer
from scrapy_mandelbot.robots.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SHOWN = 120  # characters of a statement's text


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement about one category of use, and where it stood."""

    category: str
    allowed: bool
    source: str
    """``content-usage``, ``content-signal``, ``tdmrep``, ``robot-tag`` or ``control-token``."""
    where: str
    """``robots.txt``, ``header``, ``meta`` or ``tdmrep.json``."""
    text: str
    """As written, with its field: ``Content-Usage: /ai-ok/ train-ai=y``."""
    line: int | None = None
    """Of the file or the page, from 1; None: of a header."""
    images_only: bool = False
    """It is about images, not about the text of a page."""

    def __str__(self) -> str:
        answer = "allowed" if self.allowed else "disallowed"
        at = self.where if self.line is None else f"{self.where} line {self.line}"
        of_images = " of images" if self.images_only else ""
        return f"{self.category}{of_images} {answer} by {shown(self.text, _SHOWN)} ({at})"


@dataclass(frozen=True, slots=True)
class Terms:
    """Where an owner's terms can be read, by people: a licence, or a policy of TDMRep."""

    kind: str
    """``license`` or ``tdm-policy``."""
    url: str
    """As written."""
    where: str
    """``robots.txt``, ``header``, ``meta``, ``link`` or ``tdmrep.json``."""
    line: int | None = None

    def __str__(self) -> str:
        at = self.where if self.line is None else f"{self.where} line {self.line}"
        return f"{self.kind} {shown(self.url, _SHOWN)} ({at})"


@dataclass(frozen=True, slots=True)
class Usage:
    """What an owner says of the use of a page.

    >>> usage = Usage((Statement("search", True, "content-signal", "header", "search=yes"),))
    >>> usage["search"], usage["train-ai"]
    ('allowed', 'unknown')
    """

    statements: tuple[Statement, ...] = ()
    terms: tuple[Terms, ...] = ()
    is_crawlable: bool = True
    """False: robots.txt forbids the page, so that its preferences for pages do not apply."""

    def __getitem__(self, category: str) -> Answer:
        """Return ``allowed``, ``disallowed`` or ``unknown``: of the page, whatever of its images.

        Raises:
            KeyError: there is no such category.
        """
        return self.answer(category)

    def answer(self, category: str, *, of_images: bool = False) -> Answer:
        """Return the answer for a page, or for an image, of which noimageai speaks as well.

        Raises:
            KeyError: there is no such category.
        """
        if category not in CATEGORIES:
            raise KeyError(category)
        statement = self.decided_by(category, of_images=of_images)
        if statement is None:
            return "unknown"
        return "allowed" if statement.allowed else "disallowed"

    def decided_by(self, category: str, *, of_images: bool = False) -> Statement | None:
        """Return the first statement that makes the answer what it is; None: nothing is said."""
        first: Statement | None = None
        for statement in self.statements:
            if statement.category == category and (of_images or not statement.images_only):
                if not statement.allowed:
                    return statement
                first = first or statement
        return first

    @property
    def answers(self) -> dict[str, Answer]:
        """The answer for each category."""
        return {category: self[category] for category in CATEGORIES}

    def and_also(self, other: Usage) -> Usage:
        """Return what both say."""
        if other is NOTHING_SAID:
            return self
        return Usage(
            self.statements + other.statements,
            self.terms + other.terms,
            self.is_crawlable and other.is_crawlable,
        )


NOTHING_SAID = Usage()


def statements_of(
    source: str, words: Iterable[str], where: str, text: str, line: int | None = None
) -> Iterator[Statement]:
    """Yield what words of the table say, word by word.

    Args:
        source: whose words they are.
        words: as the table spells them.
        where: as a statement has it.
        text: as written.
        line: of the file or the page.
    """
    for word in words:
        meaning = MEANINGS[source, word]
        for allowed, categories in ((True, meaning.allows), (False, meaning.refuses)):
            for category in categories:
                yield Statement(
                    *(category, allowed, source, where, text, line), meaning.images_only
                )
