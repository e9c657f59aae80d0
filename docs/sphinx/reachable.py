"""Pages that everyone can find and read: numbers in the search, WCAG 2.2 AA.

Sphinx's search drops words that are numbers, such as ``503``; here they are in the
index, and ``static/numbers.js`` asks for them. Furo's captions are headings without a
level, what scrolls cannot be reached by keyboard, and the lines of a long signature are
a list of definitions without terms: all get what they lack.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sphinx.search.en import SearchEnglish

if TYPE_CHECKING:
    from sphinx.application import Sphinx


_LINES_OF_A_SIGNATURE = re.compile(
    r'<dl>\n((?:<dd><em class="sig-param">.*</dd>\n)+)</dl>'
)


class SearchWithNumbers(SearchEnglish):
    """Puts numbers into the index as well."""

    def word_filter(self, word: str) -> bool:
        """Return whether a word is put into the index."""
        return word.isdigit() or super().word_filter(word)


def reach(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: object
) -> None:
    """Give a page what it lacks."""
    if page == "search":
        app.add_js_file("numbers.js")
    for part in ("furo_navigation_tree", "body"):
        html = context.get(part) or ""
        html = _LINES_OF_A_SIGNATURE.sub(_in_spans, html).replace(
            "<pre>", '<pre tabindex="0">'
        )
        context[part] = html.replace('role="heading"', 'role="heading" aria-level="2"')


def _in_spans(lines: re.Match[str]) -> str:
    spans = lines[1].replace("<dd>", "<span>").replace("</dd>", "</span>")
    return f'<span class="sig-lines">{spans}</span>'


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the search language and the page hook."""
    app.add_search_language(SearchWithNumbers)
    app.connect("html-page-context", reach, priority=900)  # when Furo has made its tree
    return {"parallel_read_safe": True, "parallel_write_safe": True}
