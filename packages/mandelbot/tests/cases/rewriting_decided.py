"""How a file is corrected where the document is silent."""

from __future__ import annotations

from cases.rewriting import Rewrite

DECIDED = "decided here"

CASES = (
    Rewrite(
        DECIDED,
        "Unknown fields keep to their group, or stand alone before all.",
        """
        Foo: bar
        User-agent: one
        Noindex: /x
        Disallow: /a
        """,
        """
        Foo: bar

        User-agent: one
        Disallow: /a
        Noindex: /x
        """,
    ),
    Rewrite(
        DECIDED,
        "A rule that is there twice is there once, with the comments of both.",
        """
        User-agent: one
        # first
        Disallow: /a
        Disallow: /b
        Disallow: /a # again
        """,
        """
        User-agent: one
        # first
        # again
        Disallow: /a
        Disallow: /b
        """,
    ),
    Rewrite(
        DECIDED,
        "A field that is none becomes a comment: a URL, a sentence, a byte-order mark"
        " within.",
        """
        User-agent: one
        https://example.com/
        See this, or that: x
        \ufeffDisallow: /x
        Disallow: /a
        """,
        """
        User-agent: one
        # https://example.com/
        # See this, or that: x
        # \ufeffDisallow: /x
        Disallow: /a
        """,
    ),
    Rewrite(
        DECIDED,
        "A value that begins with # stays one where a comment needs a space before it.",
        """
        User-agent: one
        Disallow:#a
        """,
        """
        User-agent: one
        Disallow:#a
        """,
        "extended2",
    ),
    Rewrite(
        DECIDED,
        "In Google's reading its spellings are corrected, and the missing colon.",
        """
        useragent: one
        Dissallow /a
        """,
        """
        User-agent: one
        Disallow: /a
        """,
        "google",
    ),
    Rewrite(
        DECIDED,
        "A delay stays with the agents whose lines stand right before it.",
        """
        User-agent: one
        User-agent: two
        Crawl-delay: 10
        User-agent: *
        Crawl-delay: 1
        Disallow: /a
        """,
        """
        User-agent: one
        User-agent: two
        Disallow: /a
        Crawl-delay: 10

        User-agent: *
        Disallow: /a
        Crawl-delay: 1
        """,
    ),
    Rewrite(DECIDED, "A file of comments stays.", "# a\n\n# b\n# c", "# a\n\n# b\n# c"),
    Rewrite(DECIDED, "An empty file stays empty.", "", ""),
)
