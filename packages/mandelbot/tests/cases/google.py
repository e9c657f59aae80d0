"""How Google's open-source parser reads a file (google/robotstxt), and its
documentation.

Section names are those of the behaviours that its own tests and "How Google interprets
the robots.txt specification" describe.
"""

from __future__ import annotations

from cases import Case

DIALECT = "google"

SYNTAX = "Line syntax"
GROUPS = "Groups"
AGENTS = "User-agent values"
VALUES = "Values of Allow and Disallow"
PATHS = "URL matching based on path values"
ORDER = "Order of precedence"
LIMITS = "Limits"
URLS = "Path of a URL"

_ROOM = 16_663
_LONG = "/x/" + "a" * (_ROOM - len("disallow: /x/"))

_THREE_GROUPS = """
allow: /before/

user-agent: FooBot
disallow: /
allow: /x/
user-agent: BarBot
disallow: /
allow: /y/


allow: /w/
user-agent: BazBot

user-agent: FooBot
allow: /z/
disallow: /
"""


def _fish(rule: str, allowed: tuple[str, ...], forbidden: tuple[str, ...]) -> Case:
    body = f"user-agent: FooBot\ndisallow: /\nallow: {rule}\n"
    says = f"{rule} matches some and not others."
    return Case(PATHS, says, body, allowed=allowed, forbidden=forbidden, agent="FooBot")


CASES = (
    Case(
        SYNTAX,
        "Unknown fields say nothing.",
        "foo: FooBot\nbar: /\n",
        agent="FooBot",
        allowed=("/x",),
    ),
    Case(
        SYNTAX,
        "White space stands for a missing colon between two words.",
        "user-agent FooBot\ndisallow\t/a\ndisallow  /b # c: d\ndisallow /c d\n",
        agent="FooBot",
        forbidden=("/a", "/b"),
        allowed=("/c",),
    ),
    *(
        Case(
            SYNTAX,
            f"{name} is read as Disallow.",
            f"user-agent: *\n{name}: /a\n",
            forbidden=("/a",),
        )
        for name in (
            *("dissallow", "dissalow", "disalow", "diasllow", "disallaw"),
            *("DISALOW", "Disallowing", "disallows"),
        )
    ),
    *(
        Case(
            SYNTAX,
            f"{name} is read as User-agent.",
            f"{name}: FooBot\ndisallow: /a\n",
            agent="FooBot",
            forbidden=("/a",),
        )
        for name in ("useragent", "user agent", "USER-AGENTS", "user-agent of")
    ),
    Case(
        SYNTAX,
        "A field counts by its beginning, and all before the first colon is the field.",
        "user-agent: *\nallowed: /a\ndisallow this: /\n",
        allowed=("/a",),
        forbidden=("/b",),
    ),
    Case(
        SYNTAX,
        "Fields are matched in any case.",
        "USER-AGENT: FooBot\nALLOW: /x/\nDISALLOW: /\n",
        agent="FooBot",
        allowed=("/x/y",),
        forbidden=("/a/b",),
    ),
    Case(
        SYNTAX,
        "Lines are counted alike whatever ends them.",
        b"user-agent: foo\nallow: /some\r\nuser-agent: bar\n\r\n\ndisallow: /",
        agent="bar",
        forbidden=("/x",),
        lines=(("/x", 6),),
    ),
    *(
        Case(
            SYNTAX,
            f"A byte-order mark, {size} octets of it, is skipped.",
            b"\xef\xbb\xbf"[:size] + b"user-agent: foo\ndisallow: /\n",
            agent="foo",
            forbidden=("/x",),
            lines=(("/x", 2),),
        )
        for size in (1, 2, 3)
    ),
    Case(
        SYNTAX,
        "A mark that is not whole and right is no mark.",
        b"\xef\x11\xbfuser-agent: foo\ndisallow: /\n",
        agent="foo",
        allowed=("/x",),
    ),
    Case(
        SYNTAX,
        "A NUL ends its line.",
        b"user-agent: *\ndisallow: /a\0b\n\0disallow: /c\n",
        forbidden=("/a", "/ax"),
        allowed=("/c",),
    ),
    Case(
        GROUPS,
        "Groups of one agent are merged; blank lines end nothing.",
        _THREE_GROUPS,
        agent="FooBot",
        allowed=("/x/b", "/z/d"),
        forbidden=("/y/c", "/before/"),
    ),
    Case(
        GROUPS,
        "A group ends with the next User-agent line after a rule.",
        _THREE_GROUPS,
        agent="BarBot",
        allowed=("/y/c", "/w/a"),
        forbidden=("/z/d", "/before/"),
    ),
    Case(
        GROUPS,
        "User-agent lines without rules between them share what follows.",
        _THREE_GROUPS,
        agent="BazBot",
        allowed=("/z/d",),
        forbidden=("/before/", "/x/b"),
    ),
    Case(
        GROUPS,
        "Other fields end neither a group nor a run of User-agent lines.",
        """
        User-agent: BarBot
        Sitemap: https://foo.bar/sitemap
        Unknown: x
        User-agent: *
        Disallow: /
        """,
        agent="BarBot",
        forbidden=("/x",),
    ),
    Case(
        GROUPS,
        "Without a group of its own, a robot obeys *.",
        "user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /\n",
        agent="BarBot",
        allowed=("/x",),
    ),
    Case(
        GROUPS,
        "Without any group that is about it, all is allowed.",
        "user-agent: FooBot\nallow: /\nuser-agent: BarBot\ndisallow: /\n",
        agent="QuxBot",
        allowed=("/x",),
    ),
    Case(
        AGENTS,
        "Nobody in particular is allowed.",
        "user-agent: FooBot\ndisallow: /\n",
        agent="",
        allowed=("", "/x"),
    ),
    Case(
        AGENTS,
        "A value is read up to the first character that is no letter, - or _.",
        "User-Agent: *\nDisallow: /\nUser-Agent: Foo Bar\nAllow: /x/\nDisallow: /\n",
        agent="Foo",
        allowed=("/x/y",),
        forbidden=("/a",),
    ),
    Case(
        AGENTS,
        "Version and digits are no part of a name.",
        "User-Agent: Foo/2.1\nDisallow: /a\nUser-Agent: Bar9x\nDisallow: /b\n",
        agent=("Foo", "Bar"),
        forbidden=("/a",),
        allowed=("/b",),
    ),
    *(
        Case(
            AGENTS,
            f"{star!r} is everyone.",
            f"User-Agent: {star}\nDisallow: /\n",
            forbidden=("/x",),
        )
        for star in ("*", "* baz", "*\tbaz", "*#baz")
    ),
    Case(AGENTS, "*baz is nobody.", "User-Agent: *baz\nDisallow: /\n", allowed=("/x",)),
    Case(
        VALUES,
        "Values are case sensitive.",
        "user-agent: FooBot\ndisallow: /X/\n",
        agent="FooBot",
        allowed=("/x/y",),
        forbidden=("/X/y",),
    ),
    Case(
        VALUES,
        "Empty rules allow, and decide where nothing else does.",
        "user-agent: FooBot\ndisallow:\nallow:\n",
        agent="FooBot",
        allowed=("/x",),
        lines=(("/x", 3),),
    ),
    Case(
        VALUES,
        "An empty Disallow is a match of length 0: any other rule goes before it.",
        "user-agent: FooBot\ndisallow:\ndisallow: /a\n",
        agent="FooBot",
        allowed=("/x",),
        forbidden=("/a",),
        lines=(("/x", 2), ("/a", 3)),
    ),
    Case(
        VALUES,
        "A value that is no path is compared all the same, and matches nothing.",
        "user-agent: *\ndisallow: https://foo.bar/\ndisallow: private\ndisallow:"
        " *.gif\n",
        allowed=("https://foo.bar/", "/private"),
        forbidden=("/a.gif",),
    ),
    Case(
        VALUES,
        "An unescaped URL in a query stays as it is.",
        "User-agent: *\nDisallow: /\nAllow:"
        " /foo/bar?qux=taz&baz=http://foo.bar?tar&par\n",
        allowed=("http://foo.bar/foo/bar?qux=taz&baz=http://foo.bar?tar&par",),
    ),
    *(
        Case(
            VALUES,
            "Values are escaped, URLs are not.",
            f"User-agent: FooBot\nDisallow: /\nAllow: /foo/bar/{value}\n",
            agent="FooBot",
            allowed=("http://foo.bar/foo/bar/%E3%83%84",),
            forbidden=("http://foo.bar/foo/bar/ツ", "http://foo.bar/foo/bar/%e3%83%84"),
        )
        for value in ("ツ", "%E3%83%84", "%e3%83%84")
    ),
    Case(
        VALUES,
        "Nothing is unescaped.",
        "User-agent: FooBot\nDisallow: /\nAllow: /foo/bar/%62%61%7A\nAllow: /a%2A\n",
        agent="FooBot",
        allowed=("http://foo.bar/foo/bar/%62%61%7A", "/a%2A"),
        forbidden=("http://foo.bar/foo/bar/baz", "/a*", "/ab"),
    ),
    Case(
        VALUES,
        "* is any characters, none too.",
        "User-agent: FooBot\nDisallow: /foo/bar/quz\nAllow: /foo/*/qux\n",
        agent="FooBot",
        forbidden=("/foo/bar/quz",),
        allowed=("/foo/quz", "/foo//quz", "/foo/bax/quz"),
    ),
    Case(
        VALUES,
        "$ is the end only at the end.",
        "User-agent: *\nDisallow: /foo/bar$\nDisallow: /a$b\nDisallow: /$x$\n",
        forbidden=("/foo/bar", "/a$bc", "/$x"),
        allowed=("/foo/bar/", "/foo/bar/baz", "/a", "/$xy"),
    ),
    Case(
        VALUES,
        "A lone $ is the end of an empty path, which no URL has.",
        "User-agent: *\nDisallow: $\n",
        allowed=("/", "/$", "http://foo.bar"),
    ),
    Case(
        VALUES,
        "# begins a comment anywhere.",
        "User-agent: FooBot\n# Disallow: /\nDisallow: /foo/quz#qux\nAllow: /\n",
        agent="FooBot",
        allowed=("/foo/bar",),
        forbidden=("/foo/quz",),
    ),
    Case(
        VALUES,
        "Allow of an index page allows its directory, and that only.",
        "User-Agent: *\nAllow: /allowed-slash/index.html\nDisallow: /\n",
        agent="foobot",
        allowed=(
            "http://foo.com/allowed-slash/",
            "http://foo.com/allowed-slash/index.html",
        ),
        forbidden=(
            "http://foo.com/allowed-slash/index.htm",
            "http://foo.com/anyother-url",
        ),
        lines=(("http://foo.com/allowed-slash/", 2),),
    ),
    Case(
        VALUES,
        "Allow of an index page at the root allows the root.",
        "User-Agent: *\nAllow: /index.htm\nDisallow: /\n",
        allowed=("http://foo.com/", "http://foo.com", "http://foo.com/index.html"),
        forbidden=("http://foo.com/a",),
    ),
    Case(
        VALUES,
        "/robots.txt is nothing special.",
        "User-agent: *\nDisallow: /\n",
        forbidden=("/robots.txt",),
    ),
    _fish(
        "/fish",
        (
            "/fish",
            "/fish.html",
            "/fish/salmon.html",
            "/fishheads",
            "/fish.html?id=anything",
        ),
        ("/bar", "/Fish.asp", "/catfish", "/?id=fish"),
    ),
    _fish(
        "/fish*",
        ("/fish", "/fish.html", "/fish/salmon.html", "/fishheads/yummy.html"),
        ("/Fish.bar", "/catfish", "/?id=fish"),
    ),
    _fish(
        "/fish/",
        ("/fish/", "/fish/salmon", "/fish/?salmon", "/fish/?id=anything"),
        ("/fish", "/fish.html", "/Fish/Salmon.html"),
    ),
    _fish(
        "/*.php",
        (
            "/filename.php",
            "/folder/filename.php?parameters",
            "//folder/any.php.file.html",
        ),
        ("/php/", "/index?php", "/windows.PHP"),
    ),
    _fish(
        "/*.php$",
        ("/filename.php", "/folder/filename.php"),
        (
            "/filename.php?parameters",
            "/filename.php/",
            "/filename.php5",
            "/windows.PHP",
        ),
    ),
    _fish(
        "/fish*.php",
        ("/fish.php", "/fishheads/catfish.php?parameters"),
        ("/Fish.PHP", "/bar"),
    ),
    Case(
        ORDER,
        "The longest match decides.",
        "user-agent: FooBot\nallow: /p\ndisallow: /\n",
        agent="FooBot",
        allowed=("http://example.com/page",),
    ),
    Case(
        ORDER,
        "Allow decides a tie.",
        "user-agent: FooBot\nallow: /folder\ndisallow: /folder\n",
        agent="FooBot",
        allowed=("http://example.com/folder/page",),
    ),
    Case(
        ORDER,
        "Wildcards count in the length.",
        "user-agent: FooBot\nallow: /page\ndisallow: /*.htm\n",
        agent="FooBot",
        forbidden=("http://example.com/page.htm",),
        allowed=("http://example.com/page",),
    ),
    Case(
        ORDER,
        "The homepage alone is allowed.",
        "user-agent: FooBot\nallow: /$\ndisallow: /\n",
        agent="FooBot",
        allowed=("http://example.com/",),
        forbidden=("http://example.com/page.html",),
    ),
    Case(
        ORDER,
        "Of equal rules the first decides.",
        "user-agent: *\ndisallow: /a\ndisallow: /a\n",
        forbidden=("/a",),
        lines=(("/a", 2),),
    ),
    Case(
        LIMITS,
        "What is cut off a long line does not count.",
        f"user-agent: FooBot\ndisallow: {_LONG}/qux\n",
        agent="FooBot",
        forbidden=(f"http://foo.bar{_LONG}/fux",),
        allowed=("http://foo.bar/fux",),
    ),
    Case(
        LIMITS,
        "A line of the longest length is whole.",
        f"user-agent: FooBot\ndisallow: {_LONG[:-1]}b\n",
        agent="FooBot",
        forbidden=(f"http://foo.bar{_LONG[:-1]}b",),
        allowed=(f"http://foo.bar{_LONG}",),
    ),
    *(
        Case(
            LIMITS,
            f"A line of {_ROOM + more} bytes is one line, whatever ends it.",
            b"user-agent: FooBot"
            + end
            + b"#"
            + b"a" * (_ROOM + more - 1)
            + end
            + b"disallow: /",
            agent="FooBot",
            lines=(("http://foo.bar/", 3),),
        )
        for more in (-2, -1, 0, 1, 2)
        for end in (b"\n", b"\r\n", b"\r")
    ),
    *(
        Case(
            LIMITS,
            "A line of which nothing is read is a line all the same.",
            b"user-agent: FooBot" + before + b"\0x" + after + b"disallow: /",
            agent="FooBot",
            lines=(("http://foo.bar/", 3),),
        )
        for before in (b"\n", b"\r\n", b"\r")
        for after in (b"\n", b"\r\n", b"\r")
    ),
    Case(
        SYNTAX,
        "Octets are read as they come: in UTF-16 there is no field.",
        "\ufeffuser-agent: *\ndisallow: /\n".encode("utf-16-le"),
        allowed=("/", "/x"),
    ),
    *(
        Case(
            PATHS,
            f"{path} allows the directory too, however it is written.",
            f"user-agent: FooBot\ndisallow: /\nallow: {path}\n",
            agent="FooBot",
            allowed=(f"http://foo.bar{escaped}", f"http://foo.bar{escaped}index.html"),
            forbidden=("http://foo.bar/", f"http://foo.bar{escaped}x"),
        )
        for path, escaped in (
            ("/日本/index.html", "/%E6%97%A5%E6%9C%AC/"),
            ("/café/index.html", "/caf%C3%A9/"),
            ("/caf%c3%a9/index.htm", "/caf%C3%A9/"),
        )
    ),
    *(
        Case(
            URLS,
            f"{url!r} has the path {path!r}.",
            f"user-agent: *\ndisallow: /\nallow: {path}$\n",
            allowed=(url,),
        )
        for url, path in (
            ("", "/"),
            ("http://www.example.com", "/"),
            ("http://www.example.com/", "/"),
            ("http://www.example.com/a", "/a"),
            ("http://www.example.com/a/b?c=http://d.e/", "/a/b?c=http://d.e/"),
            ("http://www.example.com/a/b?c=d&e=f#fragment", "/a/b?c=d&e=f"),
            ("example.com", "/"),
            ("example.com/", "/"),
            ("example.com/a", "/a"),
            ("example.com/a?b", "/a?b"),
            ("example.com/a;b", "/a;b"),
            ("//a/b/c", "/b/c"),
            ("//a?b", "/?b"),
            ("a", "/"),
            ("/a", "/a"),
            ("/", "/"),
            ("?a", "/?a"),
            ("http://example.com;a", "/;a"),
            ("http://example.com#a/b", "/"),
            ("/a://b/c", "/a://b/c"),
        )
    ),
)
