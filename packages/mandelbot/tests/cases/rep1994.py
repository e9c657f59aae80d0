"""A Standard for Robot Exclusion (1994), as the article "Robots exclusion standard"
retells it.

The examples of the article are here, those of the 1994 document, and the table of
matching paths of the 1996 draft ("A Method for Web Robots Control", section 3.2.2),
which explains its escapes.
"""

from __future__ import annotations

from cases import Case

DIALECT = "rep1994"

ARTICLE = "Robots exclusion standard, Examples"
ALLOW = "Robots exclusion standard, Allow directive"
FORMAT = "A Standard for Robot Exclusion, The Format"
EXAMPLES = "A Standard for Robot Exclusion, Examples"
DRAFT = "A Method for Web Robots Control, 3.2.2"

CASES = (
    Case(
        ARTICLE,
        "All robots may visit all files.",
        "User-agent: *\nAllow: /\n",
        allowed=("/", "/a"),
    ),
    Case(ARTICLE, "An empty file allows the same.", "", allowed=("/", "/a")),
    Case(
        ARTICLE,
        "An empty value allows the same.",
        "User-agent: *\nDisallow:\n",
        allowed=("/",),
    ),
    Case(
        ARTICLE,
        "All robots stay out.",
        "User-agent: *\nDisallow: /\n",
        forbidden=("/", "/a"),
    ),
    Case(
        ARTICLE,
        "Three directories are closed.",
        """
        User-agent: *
        Disallow: /cgi-bin/
        Disallow: /tmp/
        Disallow: /junk/
        """,
        forbidden=("/cgi-bin/a", "/tmp/", "/junk/b/c"),
        allowed=("/", "/tmp", "/cgi-bin"),
    ),
    Case(
        ARTICLE,
        "One file is closed, the others in its directory are not.",
        """
        User-agent: *
        Disallow: /directory/file.html
        """,
        forbidden=("/directory/file.html",),
        allowed=("/directory/", "/directory/other.html"),
    ),
    *(
        Case(
            ARTICLE,
            f"A robot is named and closed out: asked by {agent}.",
            """
            User-agent: BadBot # replace 'BadBot' with the actual user-agent of the bot
            Disallow: /
            """,
            agent=agent,
            forbidden=("/",) if agent == "BadBot" else (),
            allowed=() if agent == "BadBot" else ("/",),
        )
        for agent in ("BadBot", "GoodDog")
    ),
    *(
        Case(
            ARTICLE,
            f"Two robots are kept out of one directory: asked by {agent}.",
            """
            User-agent: BadBot # replace 'BadBot' with the actual user-agent of the bot
            User-agent: Googlebot
            Disallow: /private/
            """,
            agent=agent,
            forbidden=("/private/a",),
            allowed=("/",),
        )
        for agent in ("BadBot", "Googlebot")
    ),
    Case(
        ARTICLE,
        "Comments stand at the beginning of a line or after a directive.",
        """
        # Comments appear after the "#" symbol at the start of a line, or a directive
        User-agent: * # match all bots
        Disallow: / # keep them out
        """,
        forbidden=("/",),
        lines=(("/", 3),),
    ),
    Case(
        ARTICLE,
        "Only the news service: the longest name that is a part of the robot's is its"
        " group's.",
        """
        User-agent: googlebot        # all Google services
        Disallow: /private/          # disallow this directory

        User-agent: googlebot-news   # only the news service
        Disallow: /                  # disallow everything

        User-agent: *                # any robot
        Disallow: /something/        # disallow this directory
        """,
        agent="Googlebot-News",
        forbidden=("/private/", "/", "/something/"),
    ),
    Case(
        "Robots exclusion standard, Crawl-delay directive",
        "White space may stand before the colon, and Crawl-delay closes nothing.",
        """
        User-agent: bingbot
        Allow : /
        Crawl-delay: 10
        """,
        agent="bingbot",
        allowed=("/",),
        lines=(("/", 2),),
    ),
    Case(
        ALLOW,
        "The first matching pattern wins: Allow before Disallow opens a file.",
        """
        User-agent: *
        Allow: /directory1/myfile.html
        Disallow: /directory1/
        """,
        allowed=("/directory1/myfile.html",),
        forbidden=("/directory1/", "/directory1/other"),
    ),
    Case(
        ALLOW,
        "The first matching pattern wins: Allow after Disallow opens nothing.",
        """
        User-agent: *
        Disallow: /directory1/
        Allow: /directory1/myfile.html
        """,
        forbidden=("/directory1/myfile.html", "/directory1/"),
        lines=(("/directory1/myfile.html", 2),),
    ),
    Case(
        FORMAT,
        "A blank line ends a record: what follows it without a User-agent says"
        " nothing.",
        """
        User-agent: *
        Disallow: /a

        Disallow: /b
        """,
        forbidden=("/a",),
        allowed=("/b",),
    ),
    Case(
        FORMAT,
        "A blank line after the User-agent ends its record as well.",
        """
        User-agent: *

        Disallow: /a
        """,
        allowed=("/a",),
    ),
    Case(
        FORMAT,
        "A blank line between two User-agent lines makes two records, the first without"
        " rules.",
        """
        User-agent: Mandelbot

        User-agent: other
        Disallow: /a
        """,
        allowed=("/a",),
    ),
    Case(
        FORMAT,
        "A line that is only a comment is discarded whole and so is no record"
        " boundary.",
        """
        User-agent: *
        Disallow: /a
          # between
        Disallow: /b
        """,
        forbidden=("/a", "/b"),
    ),
    *(
        Case(
            FORMAT,
            "The value is found within the robot's name, in any case, without a"
            f" version: {value}.",
            f"User-agent: {value}\nDisallow: /\n",
            agent="WebCrawler/3.0 Robot libwww/5.0a",
            forbidden=("/",),
        )
        for value in ("webcrawler", "WEBCRAWLER/3.0", "Crawl", "robot")
    ),
    Case(
        FORMAT,
        "A robot's name within the value is not a match.",
        "User-agent: webcrawler-images\nDisallow: /\n",
        agent="webcrawler",
        allowed=("/",),
    ),
    Case(
        FORMAT,
        "* is for robots that match no other record, wherever it stands.",
        """
        User-agent: *
        Disallow: /a

        User-agent: mandel
        Disallow: /b
        """,
        allowed=("/a",),
        forbidden=("/b",),
    ),
    Case(
        FORMAT,
        "Only the first of two records for * counts.",
        """
        User-agent: *
        Disallow: /a

        User-agent: *
        Disallow: /b
        """,
        forbidden=("/a",),
        allowed=("/b",),
    ),
    Case(
        FORMAT,
        "Unrecognised headers are ignored.",
        """
        User-agent: *
        Noindex: /b
        Disallow: /a
        """,
        forbidden=("/a",),
        allowed=("/b",),
    ),
    Case(
        FORMAT,
        "/help closes /help.html and /help/index.html; /help/ leaves /help.html open.",
        """
        User-agent: *
        Disallow: /help
        """,
        forbidden=("/help.html", "/help/index.html"),
    ),
    Case(
        FORMAT,
        "/help closes /help.html and /help/index.html; /help/ leaves /help.html open.",
        """
        User-agent: *
        Disallow: /help/
        """,
        forbidden=("/help/index.html",),
        allowed=("/help.html",),
    ),
    Case(
        FORMAT,
        "Patterns are not supported: * and $ in a path are themselves.",
        """
        User-agent: *
        Disallow: /tmp/*
        Disallow: /a$
        """,
        forbidden=("/tmp/*", "/tmp/*x", "/a$", "/a$b"),
        allowed=("/tmp/x", "/a"),
    ),
    Case(
        EXAMPLES,
        "No robots visit the map, /tmp/ or /foo.html.",
        """
        # robots.txt for http://www.example.com/

        User-agent: *
        Disallow: /cyberworld/map/ # This is an infinite virtual URL space
        Disallow: /tmp/ # these will soon disappear
        Disallow: /foo.html
        """,
        forbidden=("/cyberworld/map/a", "/tmp/", "/foo.html"),
        allowed=("/cyberworld/", "/foo"),
    ),
    *(
        Case(
            EXAMPLES,
            f"Only cybermapper knows where to go: asked by {agent}.",
            """
            # robots.txt for http://www.example.com/

            User-agent: *
            Disallow: /cyberworld/map/ # This is an infinite virtual URL space

            # Cybermapper knows where to go.
            User-agent: cybermapper
            Disallow:
            """,
            agent=agent,
            forbidden=() if agent == "cybermapper" else ("/cyberworld/map/a",),
            allowed=("/", *(["/cyberworld/map/a"] if agent == "cybermapper" else [])),
        )
        for agent in ("cybermapper", "other")
    ),
    Case(
        EXAMPLES,
        "Go away.",
        "# go away\nUser-agent: *\nDisallow: /\n",
        forbidden=("/", "/a"),
    ),
    *(
        Case(
            DRAFT,
            f"{path} {'matches' if matches else 'does not match'} {url}.",
            f"User-agent: *\nDisallow: {path}\n",
            dialect=dialect,
            forbidden=(url,) if matches else (),
            allowed=() if matches else (url,),
        )
        for dialect in ("rep1994", "mandelbot", "rfc9309")
        for path, url, matches in (
            ("/tmp", "/tmp", True),
            ("/tmp", "/tmp.html", True),
            ("/tmp", "/tmp/a.html", True),
            ("/tmp/", "/tmp", False),
            ("/tmp/", "/tmp/", True),
            ("/tmp/", "/tmp/a.html", True),
            ("/a%3cd.html", "/a%3cd.html", True),
            ("/a%3Cd.html", "/a%3cd.html", True),
            ("/a%3cd.html", "/a%3Cd.html", True),
            ("/a%3Cd.html", "/a%3Cd.html", True),
            ("/a%2fb.html", "/a%2fb.html", True),
            ("/a%2fb.html", "/a/b.html", False),
            ("/a/b.html", "/a%2fb.html", False),
            ("/a/b.html", "/a/b.html", True),
            ("/%7ejoe/index.html", "/~joe/index.html", True),
            ("/~joe/index.html", "/%7Ejoe/index.html", True),
        )
    ),
)
