"""How a file is corrected: "Checking robots.txt theory" (Moderatobot), section by
section.
"""

from __future__ import annotations

from dataclasses import dataclass

STRUCTURE = "File structure"
GROUPS = "Groups"
GROUP_DIRECTIVES = "Group directives"
AGENT = "User-agent directive"
DISALLOW = "Disallow directive"
RULES = "Disallow vs. Allow"
SITEMAP = "Sitemap directive"
HOST = "Host directive"
CLEAN = "Clean-param directive"
VERSION = "An Extended Standard for Robot Exclusion"


@dataclass(frozen=True)
class Rewrite:
    """A file and its corrected version; both are dedented."""

    section: str
    says: str
    before: str
    after: str
    dialect: str = "mandelbot"

    @property
    def id(self) -> str:
        """What the test is called."""
        return f"{self.section}: {self.says[:40]}".replace(" ", "_")


CASES = (
    Rewrite(
        STRUCTURE,
        "Comments that begin not with the line move to the line before.",
        """
        User-agent: one # our friend
        Disallow: /a# drafts
        """,
        """
        # our friend
        User-agent: one
        # drafts
        Disallow: /a
        """,
    ),
    Rewrite(
        STRUCTURE,
        "Comments go where their line goes; those at the top and at the end stay.",
        """
        # example.com

        # for all
        User-agent: *
        # first
        Disallow: /a
        # second
        Allow: /a/b
        User-agent: one
        Disallow: /c
        # the end
        """,
        """
        # example.com

        User-agent: one
        Disallow: /c

        # for all
        User-agent: *
        # second
        Allow: /a/b
        # first
        Disallow: /a

        # the end
        """,
    ),
    Rewrite(
        STRUCTURE,
        "The format is name: value, names as documents write them, unknown ones as they"
        " are.",
        """
        USER-AGENT :one
          disallow:/a
        CRAWL-delay:\t5
        xFoo : bar
        """,
        """
        User-agent: one
        Disallow: /a
        Crawl-delay: 5
        xFoo: bar
        """,
    ),
    Rewrite(
        STRUCTURE,
        "What is no directive becomes a comment, and is not lost.",
        """
        User-agent: one
        Disallow /a
        : b
        Disallow: /c
        """,
        """
        User-agent: one
        # Disallow /a
        # : b
        Disallow: /c
        """,
    ),
    Rewrite(
        GROUPS,
        "Groups are separated by a blank line, and have none inside.",
        """
        User-agent: one

        Disallow: /a

        Disallow: /b
        User-agent: two
        Disallow: /c


        User-agent: three
        Disallow: /d
        """,
        """
        User-agent: one
        Disallow: /a
        Disallow: /b

        User-agent: two
        Disallow: /c

        User-agent: three
        Disallow: /d
        """,
    ),
    Rewrite(
        GROUPS,
        "Only one group for a robot: with the rules of all, as Mandelbot reads them.",
        """
        User-agent: one
        User-agent: two
        Disallow: /a

        User-agent: ONE
        Disallow: /b
        Disallow: /a
        """,
        """
        User-agent: one
        Disallow: /a
        Disallow: /b

        User-agent: two
        Disallow: /a
        """,
    ),
    Rewrite(
        GROUPS,
        "The robot must take into account only the first: the others become comments.",
        """
        User-agent: one
        Disallow: /a

        User-agent: ONE
        User-agent: two
        Disallow: /b

        User-agent: two
        Disallow: /c
        """,
        """
        User-agent: one
        Disallow: /a

        # User-agent: ONE
        User-agent: two
        Disallow: /b

        # User-agent: two
        # Disallow: /c
        """,
        "rep1994",
    ),
    Rewrite(
        GROUP_DIRECTIVES,
        "Group directives outside of groups are ignored: they become comments.",
        """
        Disallow: /a
        Crawl-delay: 1

        User-agent: one
        Disallow: /b
        """,
        """
        # Disallow: /a
        # Crawl-delay: 1

        User-agent: one
        Disallow: /b
        """,
    ),
    Rewrite(
        GROUP_DIRECTIVES,
        "After a blank line they are ignored in the standard's own reading.",
        """
        User-agent: one
        Disallow: /b

        Disallow: /c
        """,
        """
        User-agent: one
        Disallow: /b

        # Disallow: /c
        """,
        "rep1994",
    ),
    Rewrite(
        AGENT,
        "The group with * moves to the end.",
        """
        User-agent: *
        Disallow: /tmp/

        User-agent: Weirdbot
        Disallow: /links/listing.html
        Disallow: /tmp/
        """,
        """
        User-agent: Weirdbot
        Disallow: /links/listing.html
        Disallow: /tmp/

        User-agent: *
        Disallow: /tmp/
        """,
    ),
    Rewrite(
        AGENT,
        "Where a robot may find a name in its own, * leaves the others where they are.",
        """
        User-agent: *
        User-agent: google
        Disallow: /a

        User-agent: googlebot
        Disallow: /b
        """,
        """
        User-agent: google
        Disallow: /a

        User-agent: googlebot
        Disallow: /b

        User-agent: *
        Disallow: /a
        """,
        "rep1994",
    ),
    Rewrite(
        AGENT,
        "One name token a directive: what else there is, and one without a name, is a"
        " comment.",
        """
        User-agent: one/2.1
        User-agent: two three
        User-agent:
        Disallow: /a
        """,
        """
        User-agent: one
        # two three
        User-agent: two
        # User-agent:
        Disallow: /a
        """,
    ),
    Rewrite(
        DISALLOW,
        "A group without Disallow gets one.",
        """
        User-agent: one
        Allow: /a

        User-agent: two
        Crawl-delay: 1

        User-agent: three
        """,
        """
        User-agent: one
        Allow: /a
        Disallow:

        User-agent: two
        Disallow:
        Crawl-delay: 1

        User-agent: three
        Disallow:
        """,
    ),
    Rewrite(
        RULES,
        "All Allow directives first and then all Disallow directives.",
        """
        User-agent: one
        Disallow: /a
        Allow: /a/b
        Disallow: /c
        Allow: /c/d
        """,
        """
        User-agent: one
        Allow: /a/b
        Allow: /c/d
        Disallow: /a
        Disallow: /c
        """,
    ),
    Rewrite(
        SITEMAP,
        "Sitemap moves to the bottom of the file.",
        """
        Sitemap: https://example.com/a.xml
        User-agent: one
        # news
        Sitemap: https://example.com/b.xml
        Disallow: /a
        Sitemap:
        """,
        """
        User-agent: one
        Disallow: /a

        Sitemap: https://example.com/a.xml
        # news
        Sitemap: https://example.com/b.xml

        # Sitemap:
        """,
    ),
    Rewrite(
        HOST,
        "Host and Clean-param move to the end of Yandex's group; one Host only.",
        """
        Host: example.com
        User-agent: Yandex
        Clean-param: s /a
        Disallow: /a
        Crawl-delay: 1

        User-agent: *
        Disallow: /b
        Clean-param: t /b
        Host: www.example.com
        """,
        """
        User-agent: Yandex
        Disallow: /a
        Crawl-delay: 1
        Host: example.com
        Clean-param: s /a
        Clean-param: t /b

        User-agent: *
        Disallow: /b

        # Host: www.example.com
        """,
    ),
    Rewrite(
        AGENT,
        "Without a group for Yandex one is made, with that for * as a pattern.",
        """
        User-agent: one
        Disallow: /a

        User-agent: *
        # all of it
        Disallow: /b
        Crawl-delay: 3
        Host: example.com
        """,
        """
        User-agent: one
        Disallow: /a

        User-agent: Yandex
        Disallow: /b
        Crawl-delay: 3
        Host: example.com

        User-agent: *
        # all of it
        Disallow: /b
        Crawl-delay: 3
        """,
    ),
    Rewrite(
        CLEAN,
        "Without a group for * it forbids nothing.",
        """
        User-agent: one
        Disallow: /a
        Clean-param: s /a
        """,
        """
        User-agent: one
        Disallow: /a

        User-agent: Yandex
        Disallow:
        Clean-param: s /a
        """,
    ),
    Rewrite(
        VERSION,
        "Robot-version moves just after the last User-agent, one a group.",
        """
        User-agent: one
        User-agent: two
        Disallow: /a
        Robot-version: 2.0
        Robot-version: 1.0
        """,
        """
        User-agent: one
        User-agent: two
        Robot-version: 2.0
        Disallow: /a

        # Robot-version: 1.0
        """,
    ),
    Rewrite(
        VERSION,
        "It is not added where version 2.0 directives are without it.",
        """
        User-agent: one
        Visit-time: 0600-0845
        Disallow: /a
        """,
        """
        User-agent: one
        Disallow: /a
        Visit-time: 0600-0845
        """,
    ),
    Rewrite(
        VERSION,
        "In its own reading, where the first rule decides, a group of 2.0 keeps its"
        " order.",
        """
        User-agent: one
        Robot-version: 2.0
        Allow: *index.html # any
        Disallow: *
        Allow: /x#y
        Visit-time: 0600-0845
        """,
        """
        User-agent: one
        Robot-version: 2.0
        # any
        Allow: *index.html
        Disallow: *
        Allow: /x#y
        Visit-time: 0600-0845
        """,
        "extended2",
    ),
)
