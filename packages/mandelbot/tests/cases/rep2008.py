"""About Robots.txt and Search Indexing Robots (SearchTools, 2008): good and bad
examples.
"""

from __future__ import annotations

from cases import Case

DIALECT = "rep2008"

GOOD = "Examples of Robots.txt Entries"
BAD = "Bad Examples - Common Wrong Entries"
NOTES = "Robots.txt Notes"

_WEIRD = """
User-agent: WeirdBot
Disallow: /links/listing.html
Disallow: /tmp/
Disallow: /private/

User-agent: *
Allow: /
Disallow: /temp*
Allow: *temperature*

Disallow: /private/
"""

_STAR_FIRST = """
User-agent: *
Disallow: /tmp/

User-agent: Weirdbot
Disallow: /links/listing.html
Disallow: /tmp/
"""

CASES = (
    Case(
        GOOD,
        "Nothing is disallowed.",
        "User-agent: *\nDisallow:\n",
        allowed=("/", "/a"),
    ),
    Case(
        GOOD,
        "mybot may not index anything.",
        "User-agent: mybot\nDisallow: /\n",
        agent="mybot",
        forbidden=("/", "/a"),
    ),
    Case(
        GOOD,
        "All agents, everything.",
        "User-agent: *\nAllow: /\n",
        allowed=("/", "/a"),
    ),
    Case(
        GOOD,
        "BadBot can see the robot policy document, but nothing else.",
        """
        User-agent: BadBot
        Allow: /About/robot-policy.html
        Disallow: /
        """,
        agent="BadBot",
        allowed=("/About/robot-policy.html",),
        forbidden=("/", "/About/"),
    ),
    Case(
        GOOD,
        "All other agents are by default allowed to see everything.",
        """
        User-agent: BadBot
        Allow: /About/robot-policy.html
        Disallow: /
        """,
        agent="GoodDog",
        allowed=("/", "/About/"),
    ),
    Case(
        GOOD,
        "Two directives in one line are one, whose path has a space in it.",
        """
        User-agent: BadBot
        Allow: /About/robot-policy.html Disallow: /
        """,
        agent="BadBot",
        allowed=("/About/robot-policy.html", "/"),
        lines=(("/About/robot-policy.html", None),),
    ),
    Case(
        GOOD,
        "Two directories are closed, and any path that starts with private.",
        """
        User-agent: *
        Disallow: /cgi-bin/
        Disallow: /tmp/
        Disallow: /private
        """,
        forbidden=("/cgi-bin/a", "/tmp/b", "/privatedir/mystuff", "/privateer.html"),
        allowed=("/", "/a/private"),
    ),
    *(
        Case(
            GOOD,
            "Any subdirectory named private, by a wildcard; BadBot goes away: asked by"
            f" {agent}.",
            """
            User-agent: BadBot
            Disallow: /

            User-agent: *
            Disallow: /*/private/*
            """,
            agent=agent,
            forbidden=(
                "/a/private/",
                "/a/b/private/c",
                *(["/"] if agent == "BadBot" else []),
            ),
            allowed=() if agent == "BadBot" else ("/", "/private/a", "/a/privates/"),
        )
        for agent in ("BadBot", "OtherBot")
    ),
    Case(
        GOOD,
        "WeirdBot is kept out of three places.",
        _WEIRD,
        agent="WeirdBot",
        forbidden=("/links/listing.html", "/tmp/a", "/private/"),
        allowed=("/", "/temps", "/links/"),
    ),
    Case(
        GOOD,
        "The longest matching string decides: temps and temporary against"
        " temperatures.",
        _WEIRD,
        agent="OtherBot",
        forbidden=("/temps", "/temporary", "/private/"),
        allowed=("/", "/temperatures", "/a/temperature"),
    ),
    Case(
        BAD,
        "Disallow without its colon is no directive.",
        "User-agent: googlebot\nDisallow /\n",
        agent="googlebot",
        allowed=("/",),
    ),
    Case(
        BAD,
        "A semicolon is no colon.",
        "User-agent: googlebot\nDisallow; /\n",
        agent="googlebot",
        allowed=("/",),
    ),
    Case(
        BAD,
        "Robots do not recognise misspelled names.",
        "User-agent: sidewiner\nDisallow: /tmp/\n",
        agent="sidewinder",
        allowed=("/tmp/",),
    ),
    Case(
        BAD,
        "Paths are case-sensitive.",
        "User-agent: MSNbot\nDisallow: /PRIVATE\n",
        agent="msnbot",
        forbidden=("/PRIVATE",),
        allowed=("/private", "/Private"),
    ),
    Case(
        BAD,
        "* before a special group: this dialect finds the special one all the same.",
        _STAR_FIRST,
        agent="Weirdbot",
        forbidden=("/links/listing.html", "/tmp/"),
    ),
    Case(
        BAD,
        "A robot with a group of its own does not read that of *.",
        """
        User-agent: Weirdbot
        Disallow: /links/listing.html

        User-agent: *
        Disallow: /tmp/
        """,
        agent="Weirdbot",
        allowed=("/tmp/",),
        forbidden=("/links/listing.html",),
    ),
    Case(
        "Listings of Robot User-agent Names",
        "webcrawler names WebCrawler/3.0 Robot libwww/5.0a.",
        "User-agent: webcrawler\nDisallow: /\n",
        agent="WebCrawler/3.0 Robot libwww/5.0a",
        forbidden=("/",),
    ),
    Case(
        NOTES,
        "A blank line ends nothing: what follows belongs to the group before.",
        """
        User-agent: *
        Disallow: /a

        Disallow: /b
        """,
        forbidden=("/a", "/b"),
    ),
    Case(
        NOTES,
        "Any directive ends a run of User-agent lines.",
        """
        User-agent: one
        Crawl-delay: 1
        User-agent: two
        Disallow: /
        """,
        agent="one",
        allowed=("/",),
    ),
)
