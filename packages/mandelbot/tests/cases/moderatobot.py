"""Checking robots.txt theory (Moderatobot): what it says of how robots differ.

Most of it is advice to owners; here is what it says that robots do.
"""

from __future__ import annotations

from cases import Case

DIALECT = "rep1994"

STRUCTURE = "File structure"
GROUPS = "Groups"
AGENTS = "User-agent directive"
ALLOW = "Allow directive"
RULES = "Disallow vs. Allow"
OTHERS = "Non-group directives"

_GOOGLES = """
User-agent: Googlebot-News
Disallow: /news

User-agent: Googlebot
Disallow: /main

User-agent: *
Disallow: /any
"""

_SPECIFIC = """
User-agent: *
Disallow: /a
Allow: /a/b
"""

CASES = (
    Case(
        STRUCTURE,
        "Records consisting entirely of comments cannot be considered as blank lines.",
        "User-agent: *\n# comment\nDisallow: /a\n#\nDisallow: /b\n",
        forbidden=("/a", "/b"),
    ),
    Case(
        STRUCTURE,
        "A name is case-insensitive, a path is not.",
        "USER-AGENT: *\nDISALLOW: /A\n",
        forbidden=("/A",),
        allowed=("/a",),
    ),
    Case(
        "Standard and non-standard directives",
        "Robots that encounter an unknown directive skip the record.",
        "User-agent: *\nNoindex: /x\nDisallow: /a\n",
        forbidden=("/a",),
        allowed=("/x",),
    ),
    Case(
        GROUPS,
        "Blank lines inside a group are prohibited: one closes it.",
        "User-agent: *\nDisallow: /a\n\nDisallow: /b\n",
        forbidden=("/a",),
        allowed=("/b",),
    ),
    Case(
        GROUPS,
        "Without a blank line before User-agent a new group begins all the same.",
        "User-agent: x\nDisallow: /\nUser-agent: *\nDisallow: /a\n",
        forbidden=("/a",),
        allowed=("/b",),
    ),
    Case(
        GROUPS,
        "Of several groups for one robot only the first is taken into account.",
        "User-agent: Mandelbot\nDisallow: /a\n\nUser-agent: Mandelbot\nDisallow: /b\n",
        forbidden=("/a",),
        allowed=("/b",),
    ),
    Case(
        "Group directives",
        "Directives where no group is open are ignored.",
        "Disallow: /a\nAllow: /a/b\n\nUser-agent: *\nDisallow: /c\n",
        allowed=("/a", "/a/b"),
        forbidden=("/c",),
    ),
    *(
        Case(
            AGENTS,
            "Google's robots search the most specific name, then a wider one, then *:"
            f" {agent}.",
            _GOOGLES,
            agent=agent,
            forbidden=(forbidden,),
            allowed=tuple(sorted({"/news", "/main", "/any"} - {forbidden})),
            dialect="mandelbot",
        )
        for agent, forbidden in (
            (("Googlebot-News", "Googlebot"), "/news"),
            (("Googlebot-Image", "Googlebot"), "/main"),
            (("Mandelbot-Image", "Mandelbot"), "/any"),
        )
    ),
    Case(
        AGENTS,
        "Other robots take the first User-agent whose value contains their name.",
        _GOOGLES,
        agent="Googlebot",
        dialect="contains",
        forbidden=("/news",),
        allowed=("/main", "/any"),
    ),
    Case(
        ALLOW,
        "Some robots ignore Allow without a value.",
        "User-agent: *\nAllow:\nDisallow: /a\n",
        forbidden=("/a",),
        allowed=("/b",),
    ),
    Case(
        ALLOW,
        "Some robots know * and $, some do not: not these.",
        "User-agent: *\nDisallow: /*.gif$\n",
        allowed=("/a.gif",),
        forbidden=("/*.gif$",),
    ),
    Case(
        ALLOW,
        "Some robots know * and $, some do not: these do.",
        "User-agent: *\nDisallow: /*.gif$\n",
        dialect="mandelbot",
        forbidden=("/a.gif",),
        allowed=("/*.gif$x",),
    ),
    *(
        Case(
            ALLOW,
            "The /robots.txt URL is always allowed.",
            "User-agent: *\nDisallow: /\n",
            dialect=dialect,
            allowed=("/robots.txt",),
        )
        for dialect in ("mandelbot", "rep1994", "rep2008", "extended2")
    ),
    Case(
        RULES,
        "Robots that strictly follow the standard ignore Allow.",
        _SPECIFIC,
        dialect="no allow",
        forbidden=("/a", "/a/b"),
    ),
    Case(
        RULES,
        "Some use the first directive with a matching value.",
        _SPECIFIC,
        dialect="rep1994",
        forbidden=("/a", "/a/b"),
    ),
    Case(
        RULES,
        "Some take the most specific value, whatever the order.",
        _SPECIFIC,
        dialect="rep2008",
        forbidden=("/a",),
        allowed=("/a/b",),
    ),
    Case(
        RULES,
        "Where Allow and Disallow have the same value, Allow wins.",
        "User-agent: *\nDisallow: /a\nAllow: /a\n",
        dialect="rep2008",
        allowed=("/a",),
    ),
    Case(
        OTHERS,
        "Sitemap, Host and Clean-param are read regardless of their position and close"
        " nothing.",
        "User-agent: *\nSitemap: http://a/\nHost: a\nDisallow: /a\nClean-param:"
        " x\nDisallow: /b\n",
        forbidden=("/a", "/b"),
    ),
)
