"""Support for robots.txt: Specifications, Details, and Examples (Mandelbot's page)."""

from __future__ import annotations

from cases import Case

DIALECT = "mandelbot"

LOCATION = "Location of robots.txt"
FORMAT = "Format of robots.txt"
AGENTS = "User Agents and Directive Groups"
DISALLOW = "Disallow Directive"
ALLOW = "Allow Directive"
WILDCARDS = "Wildcards"
PRECEDENCE = "Precedence of Directives"
EXOTIC = "Exotic Usage of Wildcards"
COMMENTS = "Comments"
SITEMAPS = "Sitemaps"
CRAWL_DELAY = "Crawl Delay"

_FORMS = b"User-agent: *|Disallow: /secret|Disallow: /hidden"

CASES = (
    Case(
        LOCATION,
        "What counts of a URL is its path and query: the file is the origin's own.",
        """
        User-agent: Mandelbot
        Disallow: /dogs
        """,
        forbidden=(
            "http://www.example.com/dogs/barking.html",
            "https://example.com:8080/dogs",
        ),
        allowed=("http://www.example.com/cats/", "http://www.example.com"),
    ),
    *(
        Case(
            FORMAT,
            f"Lines may be separated by {name}.",
            _FORMS.replace(b"|", end),
            forbidden=("/secret", "/hidden"),
            allowed=("/other",),
            lines=(("/secret", 2), ("/hidden", 3)),
        )
        for name, end in (("CR", b"\r"), ("LF", b"\n"), ("CR LF", b"\r\n"))
    ),
    Case(
        FORMAT,
        "Line ends of all kinds may be mixed in one file, and a CR LF is one line end.",
        b"User-agent: *\r\n\r\nDisallow: /a\rDisallow: /b\nDisallow: /c",
        forbidden=("/a", "/b", "/c"),
        lines=(("/a", 3), ("/b", 4), ("/c", 5)),
    ),
    Case(
        FORMAT,
        "The field is case-insensitive.",
        """
        USER-AGENT: *
        dIsAlLoW: /secret
        ALLOW: /secret/not
        """,
        forbidden=("/secret",),
        allowed=("/secret/not",),
    ),
    Case(
        FORMAT,
        "White space before and after any element is ignored.",
        b" \tUser-agent\t : \t* \t\n\t Disallow  :\t /secret \t # why\n",
        forbidden=("/secret",),
    ),
    Case(
        FORMAT,
        "Invalid lines and lines with an invalid field are ignored, the others count.",
        """
        User-agent: *
        Disallow /a
        Dissallow: /b
        : /c
        <html>
        Disallow: /d
        """,
        allowed=("/a", "/b", "/c"),
        forbidden=("/d",),
    ),
    Case(
        AGENTS,
        "The user agent's name is case-insensitive.",
        """
        User-agent: mANDELBOT
        Disallow: /private
        """,
        forbidden=("/private",),
    ),
    Case(
        AGENTS,
        "Mandelbot follows its specific group and ignores the default one.",
        """
        User-agent: Mandelbot
        Disallow: /private   # Mandelbot follows this directive

        User-agent: *
        Disallow: /secret    # Mandelbot ignores this directive
        """,
        forbidden=("/private",),
        allowed=("/secret",),
    ),
    Case(
        AGENTS,
        "Mandelbot falls back to the default group.",
        """
        User-agent: Anotherbot
        Disallow: /private   # Mandelbot ignores this directive

        User-agent: *
        Disallow: /secret    # Mandelbot follows this directive
        """,
        allowed=("/private",),
        forbidden=("/secret",),
    ),
    Case(
        AGENTS,
        "No group applies: everything is allowed.",
        """
        User-agent: Anotherbot
        Disallow: /private   # Mandelbot ignores this directive
        """,
        allowed=("/private",),
    ),
    Case(
        AGENTS,
        "Two user agents share a group.",
        """
        User-agent: Mandelbot
        User-agent: Anotherbot
        Disallow: /private   # Mandelbot follows this directive

        User-agent: *
        Disallow: /secret    # Mandelbot ignores this directive
        """,
        forbidden=("/private",),
        allowed=("/secret",),
    ),
    Case(
        AGENTS,
        "A blank line ends nothing.",
        """
        User-agent: Mandelbot

        Disallow: /private

        Disallow: /more
        """,
        forbidden=("/private", "/more"),
    ),
    Case(
        AGENTS,
        "An empty file allows everything.",
        b"",
        allowed=("/", "/private"),
        lines=(("/", None),),
    ),
    Case(
        DISALLOW,
        "Mandelbot and other robots are blocked from any URL.",
        """
        User-agent: *
        Disallow: /
        """,
        forbidden=("/", "/a", "http://example.com", "http://example.com/?q"),
    ),
    Case(
        DISALLOW,
        "Mandelbot is blocked from any URL.",
        """
        User-agent: Mandelbot
        Disallow: /
        """,
        forbidden=("/", "/a"),
    ),
    Case(
        DISALLOW,
        "Another robot is not blocked by Mandelbot's group.",
        """
        User-agent: Mandelbot
        Disallow: /
        """,
        agent="Anotherbot",
        allowed=("/", "/a"),
    ),
    Case(
        DISALLOW,
        "A path is a prefix of the URL's path, from its beginning.",
        """
        User-agent: *
        Disallow: /secret
        Disallow: /hidden
        """,
        forbidden=("/secret/doc.html", "/secret", "/secrets", "/hidden?x=1"),
        allowed=("/private/secret/doc.html", "/"),
    ),
    Case(
        DISALLOW,
        "The path is case sensitive.",
        """
        User-agent: *
        Disallow: /Secret
        """,
        forbidden=("/Secret",),
        allowed=("/secret",),
    ),
    Case(
        DISALLOW,
        "A directive without a path allows everything and overrides the default group.",
        """
        User-agent: Mandelbot
        Disallow:

        User-agent: *
        Disallow: /
        """,
        allowed=("/", "/a"),
    ),
    Case(
        DISALLOW,
        "The other robots stay blocked.",
        """
        User-agent: Mandelbot
        Disallow:

        User-agent: *
        Disallow: /
        """,
        agent="Anotherbot",
        forbidden=("/", "/a"),
    ),
    Case(
        ALLOW,
        "Allow reduces the scope of Disallow, to all that its path prefixes.",
        """
        User-agent: Mandelbot
        Disallow: /secret
        Allow: /secret/readme.txt
        """,
        forbidden=("/secret/doc.html", "/secret"),
        allowed=("/secret/readme.txt", "/secret/readme.txt?v=1", "/"),
        lines=(("/secret/doc.html", 2), ("/secret/readme.txt?v=1", 3), ("/", None)),
    ),
    Case(
        ALLOW,
        "By default all URLs are allowed.",
        """
        User-agent: Mandelbot
        Allow: /a
        """,
        allowed=("/a", "/b"),
    ),
    Case(
        WILDCARDS,
        "* is any characters: the contents of any folder named private.",
        """
        User-agent: Mandelbot
        Disallow: /*/private/
        """,
        forbidden=("/secret/private/doc.html", "/a/b/private/", "//private/"),
        allowed=("/secret/private-stuff/doc.html", "/private/doc.html"),
    ),
    Case(
        WILDCARDS,
        "$ at the end is the end of the URL.",
        """
        User-agent: Mandelbot
        Disallow: /*.pdf$
        """,
        forbidden=("/doc.pdf", "/a/b.pdf", "/a.pdf.pdf"),
        allowed=("/doc.pdf?load=1", "/doc.pdf/"),
    ),
    Case(
        WILDCARDS,
        "* may stand for no characters.",
        """
        User-agent: Mandelbot
        Disallow: /a*b*c$
        """,
        forbidden=("/abc", "/a1b2c", "/abcbc"),
        allowed=("/acb", "/abcd"),
    ),
    Case(
        PRECEDENCE,
        "The longest path decides, and Allow in a tie.",
        """
        User-agent: Mandelbot
        Disallow: /*.pdf
        Allow:    /files
        Allow:    /doc
        """,
        forbidden=("/doc.pdf",),
        allowed=("/files.pdf", "/doc", "/other"),
        lines=(("/doc.pdf", 2), ("/files.pdf", 3), ("/doc.html", 4), ("/other", None)),
    ),
    Case(
        PRECEDENCE,
        "A stronger wildcard rule decides within what a weaker one begins with.",
        """
        User-agent: Mandelbot
        Disallow: /*secret
        Allow: /a*b
        """,
        forbidden=("/asecret", "/absecret", "/secret"),
        allowed=("/ab", "/a"),
    ),
    Case(
        PRECEDENCE,
        "The order in the file does not matter.",
        """
        User-agent: Mandelbot
        Allow:    /doc
        Allow:    /files
        Disallow: /*.pdf
        """,
        forbidden=("/doc.pdf",),
        allowed=("/files.pdf",),
    ),
    Case(
        EXOTIC,
        "* at the end makes the dollar before it a regular character.",
        """
        User-agent: Mandelbot
        Disallow: /money$
        Disallow: /earn$*
        """,
        forbidden=("/money", "/earn$", "/earn$money"),
        allowed=("/money$", "/moneys", "/earn", "/earns"),
    ),
    Case(
        EXOTIC,
        "Extra * at the end change the length and so the precedence.",
        """
        User-agent: Mandelbot
        Disallow: /*.pdf*
        Allow:    /files
        Allow:    /doc****
        """,
        forbidden=("/files.pdf",),
        allowed=("/doc.pdf",),
    ),
    Case(
        COMMENTS,
        "Comments of all kinds are ignored: Mandelbot's group.",
        """
        # A standalone comment on its own line

        User-agent: Mandelbot
        # Whitespace is allowed but not required between elements
        Disallow: /secret# This is a comment

        User-agent: * # For other robots
        Disallow: /   # Block everything
        """,
        forbidden=("/secret", "/secrets"),
        allowed=("/other",),
        lines=(("/secret", 5),),
    ),
    Case(
        COMMENTS,
        "Comments of all kinds are ignored: the others' group.",
        """
        # A standalone comment on its own line

        User-agent: Mandelbot
        # Whitespace is allowed but not required between elements
        Disallow: /secret# This is a comment

        User-agent: * # For other robots
        Disallow: /   # Block everything
        """,
        agent="Anotherbot",
        forbidden=("/secret", "/"),
    ),
    Case(
        COMMENTS,
        "A directive in a comment is none.",
        """
        User-agent: *
        # Disallow: /a
        Disallow: /b # Disallow: /c
        """,
        allowed=("/a", "/c"),
        forbidden=("/b",),
    ),
    Case(
        SITEMAPS,
        "Sitemap lines are outside of groups: one within does not end the group.",
        """
        User-agent: *
        Disallow: /a
        Sitemap: http://www.example.com/sitemap.xml
        Disallow: /b
        """,
        forbidden=("/a", "/b"),
    ),
    Case(
        SITEMAPS,
        "A Sitemap line between User-agent lines does not end their run.",
        """
        User-agent: Mandelbot
        Sitemap: http://www.example.com/sitemap.xml
        User-agent: Anotherbot
        Disallow: /a
        """,
        forbidden=("/a",),
    ),
    Case(
        CRAWL_DELAY,
        "Crawl-delay changes nothing in what may be crawled.",
        """
        User-agent: Mandelbot
        Crawl-delay: 10
        Disallow: /a
        """,
        forbidden=("/a",),
        allowed=("/b",),
    ),
)
