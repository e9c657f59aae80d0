"""The categories of use, and which words of which source say what of them: one table.

The categories are those of the IETF's vocabulary (draft-ietf-aipref-vocab, as of 19 August 2026),
``train-ai`` and ``search``, and two that others speak of: ``ai-input`` (Content Signals) and
``tdm`` (TDMRep). What is refused is taken widely and what is allowed narrowly: who reserves text
and data mining has reserved training, and who does not has said nothing of training.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Answer = Literal["allowed", "disallowed", "unknown"]

CATEGORIES = ("search", "ai-input", "train-ai", "tdm")

#: What each category means, in a line.
CATEGORY_TEXTS: Mapping[str, str] = MappingProxyType(
    {
        "search": "finding pages and sending people to them, without summaries",
        "ai-input": "giving pages to a model that answers somebody (retrieval, grounding)",
        "train-ai": "training or fine-tuning a model that generates content",
        "tdm": "text and data mining of any kind (Directive (EU) 2019/790, article 4)",
    }
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a word says of the categories; of those not named it says nothing."""

    allows: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    images_only: bool = False
    """It is about images, not about the text of a page."""


@dataclass(frozen=True, slots=True)
class _Row:
    source: str
    word: str
    meaning: Meaning
    document: str


_VOCAB = "draft-ietf-aipref-vocab, 19 August 2026: 'Usage Category Labels', 'Preference Labels'"
_SIGNALS = "Content Signals Policy (contentsignals.org), 24 September 2025"
_USE = "Content Signals, 'use', in Cloudflare's managed robots.txt since 1 July 2026"
_TDMREP = (
    "TDM Reservation Protocol, W3C community group report of 10 May 2024, 'tdm-reservation';"
    " Regulation (EU) 2024/1689, article 53(1)(c): training is text and data mining"
)
_NOAI = "DeviantArt, 'Tell AI datasets they can't use your content', 11 November 2022"
_NOML = "noml.info, 2023"

_ROWS = (
    _Row("content-usage", "train-ai=y", Meaning(allows=("train-ai",)), _VOCAB),
    _Row("content-usage", "train-ai=n", Meaning(refuses=("train-ai",)), _VOCAB),
    _Row("content-usage", "search=y", Meaning(allows=("search",)), _VOCAB),
    _Row("content-usage", "search=n", Meaning(refuses=("search",)), _VOCAB),
    _Row("content-signal", "search=yes", Meaning(allows=("search",)), _SIGNALS),
    _Row("content-signal", "search=no", Meaning(refuses=("search",)), _SIGNALS),
    _Row("content-signal", "ai-input=yes", Meaning(allows=("ai-input",)), _SIGNALS),
    _Row("content-signal", "ai-input=no", Meaning(refuses=("ai-input",)), _SIGNALS),
    _Row("content-signal", "ai-train=yes", Meaning(allows=("train-ai",)), _SIGNALS),
    _Row("content-signal", "ai-train=no", Meaning(refuses=("train-ai",)), _SIGNALS),
    # The most that may be made of a page: nothing is stored; it is indexed, quoted and linked to;
    # it is summarised and reproduced. A most allows nothing by itself.
    _Row(
        "content-signal",
        "use=immediate",
        Meaning(refuses=("search", "train-ai", "tdm")),
        _USE,
    ),
    _Row("content-signal", "use=reference", Meaning(refuses=("train-ai",)), _USE),
    _Row("content-signal", "use=full", Meaning(), _USE),
    _Row("tdmrep", "tdm-reservation: 1", Meaning(refuses=("tdm", "train-ai")), _TDMREP),
    _Row("tdmrep", "tdm-reservation: 0", Meaning(allows=("tdm",)), _TDMREP),
    _Row("robot-tag", "noai", Meaning(refuses=("train-ai",)), _NOAI),
    _Row("robot-tag", "noimageai", Meaning(refuses=("train-ai",), images_only=True), _NOAI),
    _Row("robot-tag", "noml", Meaning(refuses=("train-ai",)), _NOML),
)

#: What each word of each source means, by source and word.
MEANINGS: Mapping[tuple[str, str], Meaning] = MappingProxyType(
    {(row.source, row.word): row.meaning for row in _ROWS}
)
#: Where that is written, by source and word.
DOCUMENTS: Mapping[tuple[str, str], str] = MappingProxyType(
    {(row.source, row.word): row.document for row in _ROWS}
)
