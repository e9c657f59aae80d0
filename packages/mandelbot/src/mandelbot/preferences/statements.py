"""The vocabulary of usage preferences, and how statements combine.

The categories are ``train-ai`` and ``search`` of the IETF's vocabulary
(draft-ietf-aipref-vocab, 19 August 2026), ``ai-input`` of Content Signals, and ``tdm``
of TDMRep. Refusals are read widely and permissions narrowly: reserving text and data
mining refuses training, but not reserving it does not allow training. A refusal counts
in every form that was published, a permission only in the form in force. Any statement
that disallows wins, else any that allows; otherwise the answer is unknown (section
"Combining Preferences").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mandelbot.formatting import shown

if TYPE_CHECKING:
    from mandelbot.robotstxt.known_robots import KnownRobot
    from mandelbot.robotstxt.verdict import Rule


Answer = Literal["allowed", "disallowed", "unknown"]

CATEGORIES = ("search", "ai-input", "train-ai", "tdm")

#: The meaning of each category in one line.
CATEGORY_TEXTS: Mapping[str, str] = MappingProxyType(
    {
        "search": "finding pages and sending people to them, without summaries",
        "ai-input": (
            "giving pages to a model that answers somebody (retrieval, grounding)"
        ),
        "train-ai": "training or fine-tuning a model that generates content",
        "tdm": "text and data mining of any kind (Directive (EU) 2019/790, article 4)",
    }
)


class Meaning(NamedTuple):
    """The categories that a word allows or refuses; it leaves the others open."""

    allows: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    images_only: bool = False
    """Whether it applies to images, but not to the text of a page."""
    now: str = ""
    """For a word of an older draft, what to write instead; empty: it is in force."""
    yields: bool = False
    """Whether a permission in the same value exempts its category, as in a draft whose
    label for several uses gave way to the label for one of them.
    """


class _CategoryRow(NamedTuple):
    source: str
    word: str
    meaning: Meaning
    document: str


_VOCAB = (
    "draft-ietf-aipref-vocab, 19 August 2026: 'Usage Category Labels', 'Preference"
    " Labels'"
)
_FIRST_VOCAB = "draft-ietf-aipref-vocab, 15 May to 18 July 2025"
_JUNE_VOCAB = "draft-ietf-aipref-vocab, 5 June to 18 July 2025"
_USE_VOCAB = "draft-ietf-aipref-vocab, 18 July to 8 August 2025"
_JULY_VOCAB = "draft-ietf-aipref-vocab, 18 July to 3 September 2025"
_GENAI_VOCAB = "draft-ietf-aipref-vocab, 18 July to 23 October 2025"
_BOTS_VOCAB = "draft-ietf-aipref-vocab, 3 September to 18 November 2025"
_OUTPUT_VOCAB = "draft-ietf-aipref-vocab, 1 October to 18 November 2025"
_CANEL = "draft-canel-robots-ai-control-00, 21 October 2024"
_SIGNALS = "Content Signals Policy (contentsignals.org), 24 September 2025"
_USE = "Content Signals, 'use', in Cloudflare's managed robots.txt since 1 July 2026"
_TDMREP = (
    "TDM Reservation Protocol, W3C community group report of 10 May 2024,"
    " 'tdm-reservation'; Regulation (EU) 2024/1689, article 53(1)(c): training is text"
    " and data mining"
)
_NOAI = "DeviantArt, 'Tell AI datasets they can't use your content', 11 November 2022"
_NOML = "noml.info, 2023"

_TRAIN = "Content-Usage: train-ai=n"
_INPUT = "Content-Signal: ai-input=no"

_ROWS = (
    _CategoryRow("content-usage", "train-ai=y", Meaning(allows=("train-ai",)), _VOCAB),
    _CategoryRow("content-usage", "train-ai=n", Meaning(refuses=("train-ai",)), _VOCAB),
    _CategoryRow("content-usage", "search=y", Meaning(allows=("search",)), _VOCAB),
    _CategoryRow("content-usage", "search=n", Meaning(refuses=("search",)), _VOCAB),
    _CategoryRow(
        "content-usage",
        "ai=n",
        Meaning(refuses=("train-ai",), now=_TRAIN),
        _FIRST_VOCAB,
    ),
    _CategoryRow(
        "content-usage",
        "genai=n",
        Meaning(refuses=("train-ai",), now=_TRAIN),
        _FIRST_VOCAB,
    ),
    _CategoryRow(
        "content-usage",
        "tdm=n",
        Meaning(refuses=("tdm", "train-ai"), now=_TRAIN, yields=True),
        _FIRST_VOCAB,
    ),
    _CategoryRow(
        "content-usage",
        "inference=n",
        Meaning(refuses=("ai-input",), now=_INPUT),
        _JUNE_VOCAB,
    ),
    _CategoryRow(
        "content-usage",
        "ai-use=n",
        Meaning(refuses=("ai-input",), now=_INPUT),
        _USE_VOCAB,
    ),
    _CategoryRow(
        "content-usage",
        "all=n",
        Meaning(refuses=CATEGORIES, now=_TRAIN, yields=True),
        _JULY_VOCAB,
    ),
    _CategoryRow(
        "content-usage",
        "train-genai=n",
        Meaning(refuses=("train-ai",), now=_TRAIN),
        _GENAI_VOCAB,
    ),
    _CategoryRow(
        "content-usage",
        "bots=n",
        Meaning(refuses=CATEGORIES, now=_TRAIN, yields=True),
        _BOTS_VOCAB,
    ),
    _CategoryRow(
        "content-usage",
        "ai-output=n",
        Meaning(refuses=("ai-input", "search"), now=_INPUT, yields=True),
        _OUTPUT_VOCAB,
    ),
    # Its value is a path.
    _CategoryRow(
        "disallowaitraining", "", Meaning(refuses=("train-ai",), now=_TRAIN), _CANEL
    ),
    _CategoryRow("content-signal", "search=yes", Meaning(allows=("search",)), _SIGNALS),
    _CategoryRow("content-signal", "search=no", Meaning(refuses=("search",)), _SIGNALS),
    _CategoryRow(
        "content-signal", "ai-input=yes", Meaning(allows=("ai-input",)), _SIGNALS
    ),
    _CategoryRow(
        "content-signal", "ai-input=no", Meaning(refuses=("ai-input",)), _SIGNALS
    ),
    _CategoryRow(
        "content-signal", "ai-train=yes", Meaning(allows=("train-ai",)), _SIGNALS
    ),
    _CategoryRow(
        "content-signal", "ai-train=no", Meaning(refuses=("train-ai",)), _SIGNALS
    ),
    # The most extensive permitted use: nothing stored; indexed, quoted and linked;
    # summarised and reproduced. An upper bound by itself allows nothing.
    _CategoryRow(
        "content-signal",
        "use=immediate",
        Meaning(refuses=("search", "train-ai", "tdm")),
        _USE,
    ),
    _CategoryRow(
        "content-signal", "use=reference", Meaning(refuses=("train-ai",)), _USE
    ),
    _CategoryRow("content-signal", "use=full", Meaning(), _USE),
    _CategoryRow(
        "tdmrep", "tdm-reservation: 1", Meaning(refuses=("tdm", "train-ai")), _TDMREP
    ),
    _CategoryRow("tdmrep", "tdm-reservation: 0", Meaning(allows=("tdm",)), _TDMREP),
    _CategoryRow("robot-tag", "noai", Meaning(refuses=("train-ai",)), _NOAI),
    _CategoryRow(
        "robot-tag",
        "noimageai",
        Meaning(refuses=("train-ai",), images_only=True),
        _NOAI,
    ),
    _CategoryRow("robot-tag", "noml", Meaning(refuses=("train-ai",)), _NOML),
    _CategoryRow(
        "robot-tag", "disallowaitraining", Meaning(refuses=("train-ai",)), _CANEL
    ),
)

#: The meaning of each word, by source and word.
MEANINGS: Mapping[tuple[str, str], Meaning] = MappingProxyType(
    {(row.source, row.word): row.meaning for row in _ROWS}
)
#: The document that defines it, by source and word.
DOCUMENTS: Mapping[tuple[str, str], str] = MappingProxyType(
    {(row.source, row.word): row.document for row in _ROWS}
)


VALUE_LIMIT = 4_096
"""Characters of a value; longer ones count as unreadable."""
# characters; nearly all values are shorter, and a site repeats them on every page
_SHORT = 256


class Preferences(NamedTuple):
    """A parsed value."""

    words: tuple[str, ...]
    """Words of the table, in its spelling: ``train-ai=n``."""
    unknown: tuple[str, ...] = ()
    """Keys that no document defines, and known keys without a defined value."""
    is_readable: bool = True


UNREADABLE = Preferences((), (), is_readable=False)


def read_content_usage(value: str) -> Preferences:
    """Parse a Dictionary of RFC 9651. Unreadable values are ignored.

    The last of equal keys counts; keys are case-sensitive; parameters and unknown keys
    are ignored ("Processing Algorithm").
    """
    return (_usage_often if len(value) <= _SHORT else _usage)(value)


def _usage(value: str) -> Preferences:
    import http_sf  # noqa: PLC0415 -- few sites send Content-Usage

    if len(value) > VALUE_LIMIT:
        return UNREADABLE
    try:
        members: Any = http_sf.parse(
            value.encode("utf-8", "surrogatepass"), tltype="dictionary"
        )
    except (http_sf.StructuredFieldError, ValueError, ArithmeticError):
        return UNREADABLE
    said: dict[str, str | None] = {}
    for key, member in members.items():
        token = member[0] if isinstance(member, tuple) else member
        said[key] = str(token) if isinstance(token, http_sf.Token) else None
    words = tuple(
        f"{key}={token}" for key, token in said.items() if _is_word(key, token)
    )
    unknown = tuple(key for key, token in said.items() if not _is_word(key, token))
    return Preferences(words, unknown)


# The values are untrusted: 1,024 of them take at most 16 MiB.
_usage_often = lru_cache(maxsize=1_024)(_usage)


def _is_word(key: str, token: str | None) -> bool:
    return ("content-usage", f"{key}={token}") in MEANINGS


def read_content_signal(value: str) -> Preferences:
    """Parse the signals of a line or header. Unknown keys and values are ignored.

    A repeated key makes several statements, of which the strictest counts, as always.
    """
    return (_signals_often if len(value) <= _SHORT else _signals)(value)


def _signals(value: str) -> Preferences:
    if len(value) > VALUE_LIMIT:
        return UNREADABLE
    words: dict[str, None] = {}
    unknown = []
    for part in filter(None, map(str.strip, value.split(","))):
        key, _, said = part.lower().partition("=")
        word = f"{key.strip()}={said.strip()}"
        if ("content-signal", word) in MEANINGS:
            words[word] = None
        else:
            unknown.append(part)
    return Preferences(
        tuple(words), tuple(unknown), is_readable=bool(words) or not unknown
    )


_signals_often = lru_cache(maxsize=1_024)(_signals)

#: What parses the value of a field, by its lower-case name.
READERS = {"content-usage": read_content_usage, "content-signal": read_content_signal}


_SHOWN = 120  # characters of a statement's text


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement about one category of use, and its place.

    >>> from mandelbot import page_usage
    >>> usage = page_usage([("Content-Usage", "train-ai=n")], b"", "Examplebot")
    >>> print(usage.statements[0])
    train-ai disallowed by Content-Usage: train-ai=n (header)
    """

    category: str
    allowed: bool
    source: str
    """``content-usage``, ``content-signal``, ``disallowaitraining``, ``tdmrep``,
    ``robot-tag`` or ``control-token``.
    """
    where: str
    """``robots.txt``, ``header``, ``meta`` or ``tdmrep.json``."""
    text: str
    """As written, with its field: ``Content-Usage: /ai-ok/ train-ai=y``."""
    line: int | None = None
    """The line of the file or the page, from 1; None for a header."""
    images_only: bool = False
    """Whether it applies to images, but not to the text of a page."""

    def __str__(self) -> str:
        answer = "allowed" if self.allowed else "disallowed"
        at = self.where if self.line is None else f"{self.where} line {self.line}"
        of_images = " of images" if self.images_only else ""
        return (
            f"{self.category}{of_images} {answer} by {shown(self.text, _SHOWN)} ({at})"
        )

    @classmethod
    def read(
        cls, source: str, value: str, where: str, text: str, line: int | None = None
    ) -> tuple[Statement, ...]:
        """Return what a Content-Usage or Content-Signal (in lower case) states."""
        return cls.of_words(source, READERS[source](value).words, where, text, line)

    @classmethod
    def of_words(
        cls,
        source: str,
        words: Iterable[str],
        where: str,
        text: str,
        line: int | None = None,
    ) -> tuple[Statement, ...]:
        """Return the statements of words of a value; the table does not have all.

        Those of the last short texts are shared: most pages say what others do.
        """
        read = _stated_often if len(text) <= _SHORT else _stated
        return read(source, tuple(words), where, text, line)

    @classmethod
    def refusals(cls, robot: KnownRobot, rule: Rule) -> Iterator[Statement]:
        """Yield the refusals that a rule against a control token makes."""
        for category in robot.refuses:
            yield cls(
                category,
                allowed=False,
                source="control-token",
                where="robots.txt",
                text=f"{rule} for {robot.name}",
                line=rule.line,
            )


def _stated(
    source: str, words: tuple[str, ...], where: str, text: str, line: int | None
) -> tuple[Statement, ...]:
    meanings = [MEANINGS.get((source, word), Meaning()) for word in words]
    said: list[Statement] = []
    for meaning in meanings:
        place = source, where, text, line, meaning.images_only
        said += (Statement(category, True, *place) for category in meaning.allows)  # noqa: FBT003 -- a field of the row
        for category in meaning.refuses:
            if meaning.yields and any(category in one.allows for one in meanings):
                continue
            said.append(Statement(category, False, *place))  # noqa: FBT003 -- a field of the row
    return tuple(said)


_stated_often = lru_cache(maxsize=1_024)(_stated)


@dataclass(frozen=True, slots=True)
class Terms:
    r"""A link to an owner's terms, for people to read: a licence or a TDMRep policy.

    >>> from mandelbot import RobotsTxt, usage
    >>> robots = RobotsTxt.parse(b"License: https://example.com/license.xml\n")
    >>> print(*usage(robots, "/", "Examplebot").terms)
    license https://example.com/license.xml (robots.txt line 1)
    """

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
    """The owner's preferences for the use of a page.

    >>> yes = Statement("search", True, "content-signal", "header", "search=yes")
    >>> usage = Usage((yes,))
    >>> usage["search"], usage["train-ai"]
    ('allowed', 'unknown')
    """

    statements: tuple[Statement, ...] = ()
    terms: tuple[Terms, ...] = ()
    is_crawlable: bool = True
    """False if robots.txt forbids the page: its preferences then do not apply."""

    def __getitem__(self, category: str) -> Answer:
        """Return ``allowed``, ``disallowed`` or ``unknown`` for a page, not its images.

        Raises:
            KeyError: there is no such category.
        """
        return self.answer(category)

    def answer(self, category: str, *, of_images: bool = False) -> Answer:
        """Return the answer for a page or for an image, to which noimageai applies too.

        Raises:
            KeyError: there is no such category.
        """
        return answers_of(self, of_images=of_images)[category]

    def decided_by(self, category: str, *, of_images: bool = False) -> Statement | None:
        """Return the first statement that decides, or None if the answer is unknown."""
        first: Statement | None = None
        for statement in self.statements:
            if statement.category == category and (
                of_images or not statement.images_only
            ):
                if not statement.allowed:
                    return statement
                first = first or statement
        return first

    @property
    def answers(self) -> dict[str, Answer]:
        """The answer for each category."""
        return answers_of(self)

    def combined_with(self, other: Usage) -> Usage:
        """Return the preferences of both."""
        if other is NOTHING_SAID:
            return self
        return Usage(
            self.statements + other.statements,
            self.terms + other.terms,
            self.is_crawlable and other.is_crawlable,
        )


NOTHING_SAID = Usage()


def answers_of(usage: Usage, *, of_images: bool = False) -> dict[str, Answer]:
    """Return the answer for each category, of a page or an image: ``Usage.answer``."""
    answers: dict[str, Answer] = dict.fromkeys(CATEGORIES, "unknown")
    for one in usage.statements:
        is_open = answers.get(one.category, "disallowed") != "disallowed"
        if is_open and (of_images or not one.images_only):
            answers[one.category] = "allowed" if one.allowed else "disallowed"
    return answers
