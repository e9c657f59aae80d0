"""What the documents leave open or call undefined, and the package decides
(docs/dialects.rst).
"""

from __future__ import annotations

from cases import Case

DIALECT = "mandelbot"

CASES = (
    Case(
        "Groups",
        "A repeated agent is merged, also from groups that it shares with others.",
        """
        User-agent: Mandelbot
        User-agent: Other
        Disallow: /a

        User-agent: *
        Disallow: /b

        User-agent: mandelbot
        Disallow: /c
        """,
        forbidden=("/a", "/c"),
        allowed=("/b",),
        lines=(("/c", 9),),
    ),
    Case(
        "Groups",
        "An agent's name may hold letters outside ASCII, in any case.",
        "User-agent: UnicödeBöt\nDisallow: /a\n",
        agent="unicÖdebÖt",
        forbidden=("/a",),
        allowed=("/b",),
    ),
    Case(
        "Groups",
        "A repeated * is merged as well.",
        "User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /b\nUser-agent:"
        " *\nDisallow: /c\n",
        forbidden=("/a", "/c"),
        allowed=("/b",),
    ),
    Case(
        "Groups",
        "A group without rules applies, and allows.",
        """
        User-agent: Mandelbot
        Crawl-delay: 5
        # the end
        """,
        allowed=("/",),
    ),
    Case(
        "Groups",
        "A group without rules applies, and allows what is closed to others.",
        """
        User-agent: *
        Disallow: /

        User-agent: Mandelbot
        """,
        allowed=("/", "/a"),
    ),
    *(
        Case(
            "Groups",
            f"{value!r} names Mandelbot.",
            f"User-agent: {value}\nDisallow: /a\n",
            forbidden=("/a",),
        )
        for value in (
            *("Mandelbot/2.1", "Mandelbot 2.1", "mandelbot\tor so", "Mandelbot/"),
            *("Mandelbot*", "Mandelbot+", "Mandelbot+(+https://example.com/bot)"),
            *("Mandelbot,Other", "Mandelbot, Other", "Mandelbot;", "mandelbot *"),
        )
    ),
    *(
        Case(
            "Groups",
            f"{value!r} does not name Mandelbot.",
            f"User-agent: {value}\nDisallow: /a\n",
            allowed=("/a",),
        )
        for value in (
            *("Mandelbots", "Mandel", "x Mandelbot", "", "Other,Mandelbot", "Mandel*"),
            *("*Mandelbot", "+Mandelbot", "*bot"),
        )
    ),
    *(
        Case(
            "Groups",
            f"{value!r} names everyone.",
            f"User-agent: {value}\nDisallow: /a\n",
            forbidden=("/a",),
        )
        for value in ("* x", "*, Other", "*/1", "**", "*;")
    ),
    *(
        Case(
            "Groups",
            "A name that ends at a sign is found inside the robot's as well.",
            f"User-agent: mandel{sign}x\nDisallow: /a\n",
            forbidden=("/a",),
            dialect=dialect,
        )
        for sign in "*+,; /"
        for dialect in ("rep1994", "rep2008", "extended2")
    ),
    *(
        Case(
            "Groups",
            f"{dialect}: of names inside the robot's the exact one wins, else the"
            " longest.",
            """
            User-agent: bot
            Disallow: /a

            User-agent: examplebot
            Disallow: /b

            User-agent: examplebot-news
            Disallow: /c
            """,
            agent=agent,
            forbidden=(closed,),
            allowed=tuple(sorted({"/a", "/b", "/c"} - {closed})),
            dialect=dialect,
        )
        for agent, closed in (
            *(("Examplebot", "/b"), ("Examplebot-News", "/c")),
            *(("Examplebot-Images", "/b"), ("Otherbot", "/a")),
        )
        for dialect in ("rep1994", "rep2008", "extended2")
    ),
    Case(
        "Groups",
        "Of names inside the robot's that are as long, the first in the file wins.",
        "User-agent: xyz\nDisallow: /a\n\nUser-agent: abc\nDisallow: /b\n",
        agent="abcxyz",
        forbidden=("/a",),
        allowed=("/b",),
        dialect="rep2008",
    ),
    Case(
        "Groups",
        "A field: of names inside the robot's the first in the file wins.",
        "User-agent: bot\nDisallow: /a\n\nUser-agent: examplebot\nDisallow: /b\n",
        agent="Examplebot",
        forbidden=("/a",),
        allowed=("/b",),
        dialect="inside first",
    ),
    *(
        Case(
            "Agents",
            f"A field: {agent} is looked for as {other} where no group is about it.",
            f"""
            User-agent: {other}
            Disallow: /a

            User-agent: *
            Disallow: /b
            """,
            agent=agent,
            forbidden=("/a",),
            allowed=("/b",),
            dialect="google",
        )
        for agent, other in (
            *(("Googlebot-Image", "Googlebot"), ("googlebot-news", "googlebot")),
            *(
                ("Google-InspectionTool/1.0", "Googlebot"),
                ("GoogleOther-Image", "GoogleOther"),
            ),
        )
    ),
    Case(
        "Agents",
        "A group of its own goes before that of the robot that it is looked for as.",
        """
        User-agent: Googlebot
        Disallow: /a

        User-agent: Googlebot-Image
        Disallow: /b
        """,
        agent="Googlebot-Image",
        forbidden=("/b",),
        allowed=("/a",),
        dialect="google",
    ),
    *(
        Case(
            "Agents",
            f"{dialect}: {agent} is nobody else.",
            "User-agent: Googlebot\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n",
            agent=agent,
            forbidden=("/b",),
            allowed=("/a",),
            dialect=dialect,
        )
        for agent, dialect in (
            *(("Googlebot-Image", "mandelbot"), ("Googlebot-Image", "rfc9309")),
            *(("Storebot-Google", "google"), ("Google-Extended", "google")),
            *(("AdsBot-Google", "google"), ("GoogleOther", "google")),
        )
    ),
    Case(
        "Groups",
        "Any field but Allow and Disallow leaves a run of User-agent lines open.",
        """
        User-agent: Mandelbot
        Crawl-delay: 5
        Sitemap: https://example.com/sitemap.xml
        Nonsense: x

        User-agent: Other
        Disallow: /a
        """,
        forbidden=("/a",),
    ),
    Case(
        "Groups",
        "Rules before any agent are ignored.",
        "Disallow: /\nUser-agent: *\nDisallow: /a\n",
        forbidden=("/a",),
        allowed=("/b",),
    ),
    *(
        Case(
            "Agents",
            f"{agent!r} is Mandelbot.",
            "User-agent: Mandelbot\nDisallow: /a\nUser-agent: *\nDisallow: /b\n",
            agent=agent,
            forbidden=("/a",),
            allowed=("/b",),
        )
        for agent in (
            "MANDELBOT",
            "Mandelbot/1.0",
            "Mandelbot/1.0 (+https://example.com/bot)",
            "Mozilla/5.0 (compatible; Mandelbot/1.0; +https://example.com/bot)",
            (
                "Mozilla/5.0 (X11; Linux) AppleWebKit/537 (KHTML, like Gecko;"
                " Mandelbot) Chrome/1"
            ),
            ("Mandelbot-News", "Mandelbot"),
            ("Unknown/1.0", "Mozilla/5.0 (Mandelbot)"),
        )
    ),
    *(
        Case(
            "Agents",
            f"{agent!r} is nobody in particular.",
            "User-agent: Mandelbot\nDisallow: /a\nUser-agent: *\nDisallow: /b\n",
            agent=agent,
            forbidden=("/b",),
            allowed=("/a",),
        )
        for agent in (
            "",
            "Mozilla/5.0 (X11; Linux) Gecko/1 Firefox/1",
            (),
            "Mandelbots",
            "x/Mandelbot",
        )
    ),
    Case(
        "Agents",
        "What every browser says names no robot.",
        "User-agent: Mozilla\nUser-agent: Chrome\nUser-agent:"
        " compatible\nDisallow: /\n",
        agent=(
            "Mozilla/5.0 (compatible; Mandelbot/1.0) AppleWebKit/1 (KHTML, like Gecko)"
            " Chrome/1"
        ),
        allowed=("/",),
    ),
    Case(
        "Agents",
        "A token stands for itself, even Mozilla.",
        "User-agent: Mozilla\nDisallow: /\n",
        agent="Mozilla",
        forbidden=("/",),
    ),
    Case(
        "Agents",
        "Of the tokens in a header the longest that has a group wins.",
        """
        User-agent: Example
        Disallow: /a

        User-agent: Examplebot
        Disallow: /b
        """,
        agent="Examplebot-News/1 Example Examplebot",
        forbidden=("/b",),
        allowed=("/a",),
    ),
    Case(
        "Agents",
        "A sequence is tried in order, whatever the order in the file.",
        """
        User-agent: Examplebot
        Disallow: /a

        User-agent: Examplebot-News
        Disallow: /b
        """,
        agent=("Examplebot-News", "Examplebot"),
        forbidden=("/b",),
        allowed=("/a",),
    ),
    Case(
        "Groups",
        "A field: the first group that applies is taken, even that of *.",
        """
        User-agent: *
        Disallow: /a

        User-agent: Mandelbot
        Disallow: /b
        """,
        dialect="star stops",
        forbidden=("/a",),
        allowed=("/b",),
    ),
    Case(
        "Groups",
        "A field: the value of User-agent contains the robot's name.",
        """
        User-agent: Mandelbot-Images
        Disallow: /a

        User-agent: Mandelbot
        Disallow: /b
        """,
        dialect="contains",
        forbidden=("/a",),
        allowed=("/b",),
    ),
    Case(
        "Paths",
        "Empty Allow is ignored, as empty Disallow is.",
        "User-agent: *\nDisallow: /\nAllow:\nDisallow:\n",
        forbidden=("/", "/a"),
    ),
    Case(
        "Paths",
        "Without a leading slash a path counts when it begins with *, else it is"
        " ignored.",
        "User-agent: *\nDisallow: private\nDisallow: *.gif\nDisallow:"
        " ?x\nDisallow: $\n",
        forbidden=("/a.gif",),
        allowed=("/private", "/?x", "/"),
    ),
    Case(
        "Paths",
        "A full URL counts for its host, however that is written, and for a path.",
        """
        User-agent: *
        Disallow: https://example.com/a*b$
        Disallow: http://www.Example.com:80?c
        Disallow: https://[x/d
        """,
        forbidden=(
            *("/a1b", "/?c", "https://example.com/a1b", "http://EXAMPLE.com/?c"),
            *("http://www.example.com:80/a1b", "https://user@example.com.:443/a1b"),
        ),
        allowed=(
            *("/a1bc", "/d", "/", "https://other.example/a1b"),
            *("https://example.com:8443/a1b", "https://api.example.com/?c"),
        ),
        lines=(
            ("/a1b", 2),
            ("https://example.com/a1b", 2),
            ("https://x.example/", None),
        ),
    ),
    Case(
        "Paths",
        "A full URL without a path is the root of its host, and of no other.",
        "User-agent: *\nAllow: https://example.com\nDisallow: /a\n"
        "Disallow: http://other.example\n",
        allowed=("https://example.com/", "https://www.example.com/b", "http://x/"),
        forbidden=("/a", "https://example.com/a", "https://other.example:443/b"),
        lines=(("https://example.com/b", 2), ("https://x.example/b", None)),
    ),
    Case(
        "Paths",
        "A full URL without a host matches nothing.",
        "User-agent: *\nDisallow: http://\nDisallow: http:///a\nDisallow: https://:80/",
        allowed=("/", "/a", "https://example.com/a", "http:///a"),
    ),
    *(
        Case(
            "Paths",
            "RFC 9309's path-pattern begins with a slash: a full URL matches nothing.",
            "User-agent: *\nDisallow: https://example.com/\nAllow: https://a.example\n",
            allowed=("/", "/a", "https://example.com/", "https://a.example/"),
            dialect=dialect,
        )
        for dialect in ("rfc9309", "google")
    ),
    *(
        Case(
            "Paths",
            "In the dialects of older documents a full URL counts for its host.",
            "User-agent: *\nDisallow: https://example.com/\n",
            allowed=("https://a.example/", "http://example.com:8080/"),
            forbidden=("/", "/a", "https://example.com/", "http://www.example.com/b"),
            lines=(("https://example.com/", 2), ("https://a.example/", None)),
            dialect=dialect,
        )
        for dialect in ("rep1994", "rep2008", "extended2")
    ),
    Case(
        "Paths",
        "White space within a path belongs to it, and a space equals %20.",
        "User-agent: *\nDisallow: /a b \n",
        forbidden=("/a b", "/a%20bc"),
        allowed=("/a", "/ab"),
    ),
    Case(
        "Lines",
        "CR, LF and CR LF end lines; \\v, NEL and U+2028 do not.",
        "User-agent: *\nDisallow: /a\x0bDisallow: /b\u2028Disallow: /c\x85Disallow:"
        " /d\n".encode(),
        allowed=("/b", "/c", "/d", "/a"),
    ),
    Case(
        "Lines",
        "A no-break space is no white space.",
        "User-agent: *\nDisallow: /a\u00a0\n\u00a0Disallow: /b\n".encode(),
        forbidden=("/a\u00a0", "/a%C2%A0b"),
        allowed=("/a", "/b"),
    ),
    Case(
        "Lines",
        "NUL octets at the ends of an element are white space: padding after a power"
        " cut.",
        b"\0User-agent\0: *\0\nDisallow: /private\0\0\0\nDisallow:\0/x"
        b" \0#\n\0Disallow: /y" + b"\0" * 480,
        forbidden=("/private/1", "/x", "/y"),
        allowed=("/",),
        lines=(("/private/1", 2), ("/x", 3), ("/y", 4)),
    ),
    Case(
        "Lines",
        "A NUL within a path belongs to it.",
        b"User-agent: *\nDisallow: /a\0b\n",
        forbidden=("/a%00b",),
        allowed=("/a", "/ab"),
    ),
    *(
        Case(
            "Bytes",
            f"A byte-order mark of {encoding} is understood.",
            "\ufeffUser-agent: *\nDisallow: /é\n".encode(encoding),
            forbidden=("/é", "/%C3%A9"),
            allowed=("/e",),
            lines=(("/é", 2),),
        )
        for encoding in ("utf-8", "utf-16-le", "utf-16-be")
    ),
    Case(
        "Bytes",
        "Octets that are not UTF-8 become their escapes: the site is not closed by"
        " them.",
        b"User-agent: *\nDisallow: /\xe9\n",
        forbidden=("/%E9", "/%e9t%e9"),
        allowed=("/", "/e", "/é", "/%C3%A9"),
    ),
    Case(
        "Bytes",
        "HTML where rules should be: the valid lines count.",
        b"<html><body><pre>\nUser-agent: *\nDisallow: /a<br>\nDisallow:"
        b" /b\n</pre></html>",
        forbidden=("/a<br>", "/b"),
        allowed=("/a",),
    ),
    Case(
        "Escapes",
        "Unreserved characters equal their escapes, on either side.",
        "User-agent: *\nDisallow: /%7Ea-%62\nDisallow: /~c\n",
        forbidden=("/~a-b", "/%7ea%2Db", "/%7Ec", "/~%63"),
        allowed=("/a",),
    ),
    Case(
        "Escapes",
        "Hexadecimal digits are equal in any case.",
        "User-agent: *\nDisallow: /%c3%A9%2f\n",
        forbidden=("/%C3%a9%2F", "/é%2f"),
        allowed=("/é/",),
    ),
    *(
        Case(
            "Escapes",
            f"{character} and its escape are not equal: it is reserved.",
            f"User-agent: *\nDisallow: /a{character}b\nDisallow:"
            f" /c%{ord(character):02X}d\n",
            forbidden=(f"/a{character}b", f"/c%{ord(character):02x}d"),
            allowed=(f"/a%{ord(character):02X}b", f"/c{character}d"),
        )
        for character in "/?=&+:,@;!'()[]"
    ),
    *(
        Case(
            "Escapes",
            f"{character!r} and its escape are equal: a URL has no other meaning"
            " for it.",
            f"User-agent: *\nDisallow: /a{character}b\nDisallow:"
            f" /c%{ord(character):02X}d\n",
            forbidden=(
                f"/a{character}b",
                f"/c%{ord(character):02x}d",
                f"/a%{ord(character):02X}b",
                f"/c{character}d",
            ),
        )
        for character in ' "<>\\^`{|}~'
    ),
    Case(
        "Escapes",
        "%2A and %24 are the characters themselves, never wildcards.",
        "User-agent: *\nDisallow: /a%2Ab\nDisallow: /c%24\n",
        forbidden=("/a*b", "/a%2ab", "/c$", "/c%24d"),
        allowed=("/axb", "/c"),
    ),
    Case(
        "Escapes",
        "A percent sign that begins no escape stands for itself, and nothing is decoded"
        " twice.",
        "User-agent: *\nDisallow: /100%\nDisallow: /a%2541\n",
        forbidden=("/100%", "/100%25", "/100%zz", "/a%2541"),
        allowed=("/100", "/aA", "/a%41"),
    ),
    Case(
        "Escapes",
        "A lone surrogate in a URL is compared as its octets.",
        "User-agent: *\nDisallow: /%ED%A0%80\n",
        forbidden=("/\ud800",),
        allowed=("/\ud801",),
    ),
    Case(
        "Length",
        "A path counts its octets as written, a character outside ASCII those of its"
        " escapes.",
        "User-agent: *\nDisallow: /é\nAllow: /*****\n",  # 7 and 6
        forbidden=("/é",),
        allowed=("/c",),
        lines=(("/é", 2), ("/c", 3)),
    ),
    Case(
        "Length",
        "Escapes count as they are written: /%7Ea is longer than /~a*.",
        "User-agent: *\nDisallow: /%7Ea\nAllow: /~a*\n",
        forbidden=("/~a", "/~ab"),
    ),
    *(
        Case(
            "URLs",
            f"{url!r} cannot be read and is allowed.",
            "User-agent: *\nDisallow: /\n",
            (url,),
        )
        for url in (
            "",
            "a/b",
            "?a",
            "#a",
            "http:/a/b",
            "http://[x/y",
            "http://x]/y",
            "http://example.com:abc/y",
            "http://a:b:c/y",
            "data:,hello",
            "mailto:a@example.com",
            "1http://example.com/",
            " http://example.com/",
        )
    ),
    Case(
        "URLs",
        "Whatever can be read is decided by path and query alone.",
        "User-agent: *\nDisallow: /a\nDisallow: /?b\n",
        forbidden=(
            "HTTP://EXAMPLE.COM/a",
            "http://user:p@ss@example.com:8080/a#b",
            "http://[::1]:80/a",
            "ftp://example.com/a",
            "http://example.com?b",
            "/a#/b",
        ),
        allowed=(
            "http://a/b",
            "http://example.com/#/a",
            "http://example.com/b?/a",
            "//a",
        ),
    ),
    Case(
        "/robots.txt",
        "/robots.txt is allowed, whatever the rules say.",
        "User-agent: *\nDisallow: /robots.txt\nDisallow: /*\n",
        allowed=(
            "/robots.txt",
            "http://example.com/robots.txt",
            "/%72obots.txt",
            "/robots.txt#a",
        ),
        forbidden=("/robots.txt.bak", "/robots.txt?", "/ROBOTS.TXT"),
    ),
    Case(
        "Fields",
        "Misspelt fields are ignored.",
        """
        Useragent: Mandelbot
        Disallow: /a
        User-agent: *
        Dissallow: /b
        Disalow: /c
        Disallow /d
        """,
        allowed=("/a", "/b", "/c", "/d"),
    ),
    Case(
        "Rules",
        "rep1994: a lone * closes everything, though other patterns are unknown to it.",
        "User-agent: *\nDisallow: *\n",
        forbidden=("/",),
        dialect="rep1994",
    ),
)
