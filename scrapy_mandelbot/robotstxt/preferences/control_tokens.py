"""Robots whose names in a robots.txt say what a page may be used for, not only who may fetch it.

A fifth of the most visited sites refuse at least one of these. Whoever shuts out the robots that
gather pages for training refuses training: so the file is read as each of them as well, and the
strictest counts. What a token stands for is what its vendor's page says, as of November 2026; of a
robot whose vendor says nothing of a use there is no row.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class ControlToken(NamedTuple):
    """A row of the table."""

    name: str
    """As the vendor writes it."""
    refuses: tuple[str, ...]
    """The categories that its Disallow refuses."""
    document: str


_TRAINING = ("train-ai",)
_ANSWERS = ("ai-input",)

_ROWS = (
    ControlToken("AI2Bot", _TRAINING, "https://allenai.org/crawler"),
    ControlToken("Amazonbot", _TRAINING, "https://developer.amazon.com/amazonbot"),
    ControlToken("anthropic-ai", _TRAINING, "Anthropic's name before ClaudeBot"),
    ControlToken(
        "Applebot-Extended", _TRAINING, "https://support.apple.com/119829 'Applebot-Extended'"
    ),
    ControlToken("Bytespider", _TRAINING, "ByteDance; Cloudflare Radar, 'AI crawlers'"),
    ControlToken("CCBot", ("train-ai", "tdm"), "https://commoncrawl.org/ccbot"),
    ControlToken("ChatGPT-User", _ANSWERS, "https://developers.openai.com/docs/bots"),
    ControlToken("Claude-SearchBot", _ANSWERS, "https://support.claude.com/articles/8896518"),
    ControlToken("Claude-User", _ANSWERS, "https://support.claude.com/articles/8896518"),
    ControlToken("ClaudeBot", _TRAINING, "https://support.claude.com/articles/8896518"),
    ControlToken("cohere-training-data-crawler", _TRAINING, "by its name"),
    ControlToken("DuckAssistBot", _ANSWERS, "https://duckduckgo.com/duckassistbot"),
    ControlToken("FacebookBot", _TRAINING, "https://developers.facebook.com/docs/sharing/bot"),
    ControlToken("Google-CloudVertexBot", _ANSWERS, "Google, 'List of Google's common crawlers'"),
    ControlToken(
        "Google-Extended",
        ("train-ai", "ai-input"),
        "Google, 'List of Google's common crawlers': training and grounding",
    ),
    ControlToken("GPTBot", _TRAINING, "https://developers.openai.com/docs/bots"),
    ControlToken(
        "Meta-ExternalAgent",
        _TRAINING,
        "https://developers.facebook.com/docs/sharing/webmasters/web-crawlers",
    ),
    ControlToken(
        "Meta-ExternalFetcher",
        _ANSWERS,
        "https://developers.facebook.com/docs/sharing/webmasters/web-crawlers",
    ),
    ControlToken("MistralAI-User", _ANSWERS, "https://docs.mistral.ai/robots"),
    ControlToken("OAI-SearchBot", _ANSWERS, "https://developers.openai.com/docs/bots"),
    ControlToken("Perplexity-User", _ANSWERS, "https://docs.perplexity.ai/guides/bots"),
    ControlToken("PerplexityBot", _ANSWERS, "https://docs.perplexity.ai/guides/bots"),
)

#: The tokens by their names in lower case.
CONTROL_TOKENS: Mapping[str, ControlToken] = MappingProxyType(
    {row.name.lower(): row for row in _ROWS}
)
