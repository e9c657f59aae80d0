"""RFC 9309, Robots Exclusion Protocol, with erratum 7124, section by section."""

from __future__ import annotations

from cases import Case

DIALECT = "rfc9309"

_SIMPLE = """
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot

EOF
"""

_BROWSER_LIKE = (
    "Mozilla/5.0 (compatible; ExampleBot/0.1; https://www.example.com/bot.html)"
)

CASES = (
    Case(
        "2.1 Protocol Definition",
        "The last group may have no rules, which allows everything.",
        """
        User-agent: *
        Disallow: /

        User-agent: ExampleBot
        """,
        agent="ExampleBot",
        allowed=("/", "/a"),
    ),
    Case(
        "2.1 Protocol Definition",
        "A group is ended by a User-agent line, not by a blank line.",
        """
        User-agent: ExampleBot
        Disallow: /a

        Disallow: /b
        User-agent: *
        Disallow: /c
        """,
        agent="ExampleBot",
        forbidden=("/a", "/b"),
        allowed=("/c",),
    ),
    Case(
        "2.2 Formal Syntax",
        "White space may stand around every element, or nowhere; a comment may end any"
        " line.",
        b" user-agent\t:\tExampleBot\t# me\n\tdisallow:/a#b\n",
        agent="ExampleBot",
        forbidden=("/a", "/ab"),
        allowed=("/b",),
    ),
    Case(
        "2.2 Formal Syntax",
        "A pattern may be empty.",
        """
        user-agent: ExampleBot
        disallow:
        allow:
        """,
        agent="ExampleBot",
        allowed=("/",),
    ),
    Case(
        "2.2 Formal Syntax",
        "Empty lines may stand between User-agent lines.",
        """
        user-agent: ExampleBot

        # and
        user-agent: Other
        disallow: /
        """,
        agent="ExampleBot",
        forbidden=("/",),
    ),
    Case(
        "2.2.1 The User-Agent Line",
        "The product token is found in the User-Agent header.",
        """
        user-agent: ExampleBot
        disallow: /
        """,
        agent=_BROWSER_LIKE,
        forbidden=("/",),
    ),
    Case(
        "2.2.1 The User-Agent Line",
        "The product token is matched in any case.",
        """
        user-agent: EXAMPLEBOT
        disallow: /
        """,
        agent="examplebot",
        forbidden=("/",),
    ),
    Case(
        "2.2.1 The User-Agent Line, Table 2",
        "Groups that match the same product token are merged.",
        """
        user-agent: ExampleBot
        disallow: /foo
        disallow: /bar

        user-agent: ExampleBot
        disallow: /baz
        """,
        agent="ExampleBot",
        forbidden=("/foo", "/bar", "/baz"),
        allowed=("/qux",),
        lines=(("/baz", 6),),
    ),
    Case(
        "2.2.1 The User-Agent Line, Table 3",
        "Without a group of its own a robot obeys the group of *.",
        """
        user-agent: *
        disallow: /foo
        disallow: /bar

        user-agent: BazBot
        disallow: /baz
        """,
        agent="ExampleBot",
        forbidden=("/foo", "/bar"),
        allowed=("/baz",),
    ),
    Case(
        "2.2.1 The User-Agent Line",
        "Without any group no rules apply.",
        """
        user-agent: BazBot
        disallow: /
        """,
        agent="ExampleBot",
        allowed=("/", "/baz"),
    ),
    Case(
        "2.2.2 The Allow and Disallow Lines",
        "Matching begins with the first octet of the path and is case sensitive.",
        """
        user-agent: *
        disallow: /a
        """,
        forbidden=("/a", "/abc"),
        allowed=("/A", "/b/a", "/"),
    ),
    Case(
        "2.2.2 The Allow and Disallow Lines",
        "The match with the most octets is used, whatever the order.",
        """
        user-agent: *
        allow: /a/b
        disallow: /a/b/c
        disallow: /
        """,
        allowed=("/a/b", "/a/b/d"),
        forbidden=("/a/b/c", "/a/c"),
    ),
    Case(
        "2.2.2 The Allow and Disallow Lines",
        "Of equivalent rules Allow is used.",
        """
        user-agent: *
        disallow: /a
        allow: /a
        """,
        allowed=("/a",),
        lines=(("/a", 3),),
    ),
    Case(
        "2.2.2 The Allow and Disallow Lines",
        "What no rule matches is allowed.",
        """
        user-agent: *
        disallow: /a
        """,
        allowed=("/b",),
        lines=(("/b", None),),
    ),
    Case(
        "2.2.2 The Allow and Disallow Lines",
        "/robots.txt is implicitly allowed.",
        """
        user-agent: *
        disallow: /
        """,
        allowed=("/robots.txt", "https://example.com/robots.txt"),
        forbidden=("/robots.txt?a", "/robots.txt/", "/a/robots.txt"),
        lines=(("/robots.txt", None),),
    ),
    Case(
        "2.2.2, Table 4, row 1",
        "A query is compared as it stands.",
        """
        user-agent: *
        disallow: /foo/bar?baz=quz
        """,
        forbidden=("/foo/bar?baz=quz",),
        allowed=("/foo/bar%3Fbaz=quz", "/foo/bar?baz=qux"),
    ),
    Case(
        "2.2.2, Table 4, row 2",
        "A reserved character equals itself.",
        """
        user-agent: *
        disallow: /foo/bar?baz=https://foo.bar
        """,
        forbidden=("/foo/bar?baz=https://foo.bar",),
    ),
    Case(
        "2.2.2, Table 4, row 2",
        "A reserved character equals its escape.",
        """
        user-agent: *
        disallow: /foo/bar?baz=https://foo.bar
        """,
        forbidden=("/foo/bar?baz=https%3A%2F%2Ffoo.bar",),
        gap=(
            "a reserved character and its escape are different URLs by RFC 3986,"
            " section 2.2, and the paragraph above the table leaves reserved escapes"
            " alone"
        ),
    ),
    Case(
        "2.2.2, Table 4, row 3",
        "A character outside ASCII equals its octets escaped.",
        """
        user-agent: *
        disallow: /foo/bar/ツ
        """,
        forbidden=("/foo/bar/ツ", "/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"),
        allowed=("/foo/bar/", "/foo/bar/%E3%83%85"),
    ),
    Case(
        "2.2.2, Table 4, row 4",
        "Escaped octets outside ASCII stay escaped.",
        """
        user-agent: *
        disallow: /foo/bar/%E3%83%84
        """,
        forbidden=("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
        allowed=("/foo/bar/",),
    ),
    Case(
        "2.2.2, Table 4, row 5",
        "Escaped unreserved characters equal the characters.",
        """
        user-agent: *
        disallow: /foo/bar/%62%61%7A
        """,
        forbidden=("/foo/bar/baz", "/foo/bar/%62az"),
        allowed=("/foo/bar/bax",),
    ),
    Case(
        "2.2.2 The Allow and Disallow Lines",
        "Rules that are in no group are ignored.",
        """
        disallow: /a
        user-agent: *
        disallow: /b
        """,
        allowed=("/a",),
        forbidden=("/b",),
    ),
    Case(
        "2.2.3 Special Characters, Table 5",
        "$ designates the end of the pattern.",
        """
        user-agent: *
        allow: /this/path/exactly$
        disallow: /
        """,
        allowed=("/this/path/exactly",),
        forbidden=("/this/path/exactly/not", "/this/path/exactly?a"),
    ),
    Case(
        "2.2.3 Special Characters, Table 5",
        "* designates any characters, none too.",
        """
        user-agent: *
        allow: /this/*/exactly
        disallow: /
        """,
        allowed=("/this/path/exactly", "/this//exactly", "/this/a/b/exactly/more"),
        forbidden=("/this/exactly",),
    ),
    Case(
        "2.2.3 Special Characters, Table 6",
        "An escaped * matches the character.",
        """
        user-agent: *
        disallow: /path/file-with-a-%2A.html
        """,
        forbidden=(
            "https://www.example.com/path/file-with-a-*.html",
            "https://www.example.com/path/file-with-a-%2A.html",
            "https://www.example.com/path/file-with-a-%2a.html",
        ),
        allowed=("https://www.example.com/path/file-with-a-b.html",),
    ),
    Case(
        "2.2.3 Special Characters, Table 6",
        "An escaped $ matches the character.",
        """
        user-agent: *
        disallow: /path/foo-%24
        """,
        forbidden=(
            "https://www.example.com/path/foo-$",
            "https://www.example.com/path/foo-%24x",
        ),
        allowed=("https://www.example.com/path/foo-",),
    ),
    Case(
        "2.2.4 Other Records",
        "Other records do not end a group.",
        """
        user-agent: *
        disallow: /a
        sitemap: https://example.com/sitemap.xml
        disallow: /b
        """,
        forbidden=("/a", "/b"),
    ),
    Case(
        "2.2.4 Other Records",
        "Other records do not end a run of User-agent lines.",
        """
        user-agent: ExampleBot
        crawl-delay: 1
        user-agent: Other
        disallow: /a
        """,
        agent="ExampleBot",
        forbidden=("/a",),
    ),
    Case(
        "2.3.1.5 Parsing Errors",
        "The lines that can be parsed are used.",
        b"<!DOCTYPE html>\nuser-agent: *\n\xff\xfe\x00 what: is\ndisallow:"
        b" /a\n</html>\n",
        forbidden=("/a",),
        allowed=("/b",),
    ),
    Case(
        "5.1 Simple Example",
        "The group of *: no .gif, no /example/, but /publications/.",
        _SIMPLE,
        agent="otherbot",
        forbidden=("/a.gif", "/example/", "/example/page.html"),
        allowed=("/publications/", "/publications/a.pdf", "/a.gif?x"),
    ),
    Case(
        "5.1 Simple Example",
        "foobot has access to two prefixes only.",
        _SIMPLE,
        agent="foobot",
        allowed=("/example/page.html", "/example/allowed.gif"),
        forbidden=("/", "/publications/", "/example/other.html"),
    ),
    *(
        Case(
            "5.1 Simple Example",
            f"{bot} shares a group.",
            _SIMPLE,
            agent=bot,
            forbidden=("/example/page.html",),
            allowed=("/", "/example/allowed.gif", "/a.gif"),
        )
        for bot in ("barbot", "bazbot")
    ),
    Case(
        "5.1 Simple Example",
        "quxbot has an empty group: all is allowed.",
        _SIMPLE,
        agent="quxbot",
        allowed=("/", "/example/page.html", "/a.gif"),
    ),
    Case(
        "5.2 Longest Match (erratum 7124)",
        "The longest match is used.",
        """
        User-Agent: foobot
        Allow: /example/page/
        Disallow: /example/page/disallowed.gif
        """,
        agent="foobot",
        forbidden=("https://example.com/example/page/disallowed.gif",),
        allowed=("https://example.com/example/page/disallow.gif",),
        lines=(("/example/page/disallowed.gif", 3),),
    ),
)
