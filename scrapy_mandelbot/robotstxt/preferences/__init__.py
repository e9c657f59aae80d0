"""What owners say of the use of their pages, as far as robots.txt says it, and the words for it.

Statements of other places (headers, a page's head, ``tdmrep.json``) are read in
:mod:`scrapy_mandelbot.usage`, with the words of this package.
"""

from scrapy_mandelbot.robotstxt.preferences.control_tokens import CONTROL_TOKENS, ControlToken
from scrapy_mandelbot.robotstxt.preferences.reading import (
    AgentPreferences,
    Preference,
    control_tokens_in,
    licenses_in,
    refused_as,
    split_path,
)
from scrapy_mandelbot.robotstxt.preferences.statements import (
    NOTHING_SAID,
    Statement,
    Terms,
    Usage,
    statements_of,
)
from scrapy_mandelbot.robotstxt.preferences.values import (
    Preferences,
    read_content_signal,
    read_content_usage,
)
from scrapy_mandelbot.robotstxt.preferences.vocabulary import (
    CATEGORIES,
    CATEGORY_TEXTS,
    DOCUMENTS,
    MEANINGS,
    Answer,
    Meaning,
)

__all__ = [
    "CATEGORIES",
    "CATEGORY_TEXTS",
    "CONTROL_TOKENS",
    "DOCUMENTS",
    "MEANINGS",
    "NOTHING_SAID",
    "AgentPreferences",
    "Answer",
    "ControlToken",
    "Meaning",
    "Preference",
    "Preferences",
    "Statement",
    "Terms",
    "Usage",
    "control_tokens_in",
    "licenses_in",
    "read_content_signal",
    "read_content_usage",
    "refused_as",
    "split_path",
    "statements_of",
]
