"""Robot tags where the documents are silent, or differ: what was decided."""

from __future__ import annotations

from cases.robot_tags import NOFOLLOW, NOINDEX, NONE, NOSNIPPET, TagCase, meta, utc

NOAI = "DeviantArt, 'Tell AI datasets they can't use your content' (2022)"
NOML = "noml.info"
REPEXT = "draft-illyes-repext-03, 'HTTP Response Header'"
DECIDED = "decided here"

CASES = (
    TagCase(
        DECIDED,
        "What allows does not win over what forbids (with Yandex it does, with Google"
        " not).",
        page=meta("all") + meta("index, follow, archive"),
        headers=("noindex, nofollow, noarchive",),
        means={**NONE, "noarchive": True},
    ),
    TagCase(
        DECIDED,
        "'robots:' and '*:' in a header are everyone.",
        headers=("otherbot: noindex, robots: nofollow", "*: noarchive"),
        means={"nofollow": True, "noarchive": True},
    ),
    TagCase(
        DECIDED,
        "A directive with a number that nobody knows is no robot: what follows is for"
        " all.",
        headers=("max-audio-preview:30, nofollow", "priority: 7, noindex"),
        means=NONE,
        unknown=("max-audio-preview:30", "priority: 7"),
    ),
    TagCase(
        DECIDED,
        "A robot may have a name like that all the same.",
        headers=("max-bot: noindex, nofollow",),
        agent="Max-Bot",
        means=NONE,
    ),
    *(
        TagCase(
            DECIDED,
            "Quotes around a value, as slips of a server's configuration leave them.",
            headers=(text,),
            means=NONE,
        )
        for text in (
            '"noindex, nofollow"',
            "'noindex, nofollow'",
            '"noindex", "nofollow"',
            'examplebot: "noindex, nofollow"',
            '"examplebot: noindex, nofollow"',
        )
    ),
    TagCase(
        DECIDED,
        "A date in quotes is a date.",
        headers=('unavailable_after: "25 Jun 2010 15:00:00 PST"',),
        means={"unavailable_after": utc(2010, 6, 25, 23)},
    ),
    TagCase(
        DECIDED,
        "A robot's name may have a version.",
        headers=("Examplebot/2.1: noindex",),
        means=NOINDEX,
    ),
    TagCase(
        DECIDED,
        "A robot is known by the names in its User-Agent header.",
        page=meta("noindex", "Examplebot"),
        agent="Mozilla/5.0 (compatible; Examplebot/1.0; +https://example.com/bot)",
        means=NOINDEX,
    ),
    TagCase(
        DECIDED,
        "The description of a page says nothing to a robot whose header has that word.",
        page=meta("noindex", "description") + meta("nofollow", "viewport"),
        agent="Description Viewport Robot/1.0 (my crawler)",
    ),
    *(
        TagCase(
            DECIDED,
            "Other separators, as pages have them.",
            page=meta(text),
            means=NONE,
        )
        for text in (
            "noindex nofollow",
            "noindex; nofollow",
            "noindex|nofollow",
            ",noindex,,none",
        )
    ),
    TagCase(
        DECIDED,
        "Words that are not all known are one unknown directive.",
        page=meta("please noindex this, nofollow"),
        means=NOFOLLOW,
        unknown=("please noindex this",),
    ),
    TagCase(
        DECIDED,
        "A hyphen does for an underscore.",
        headers=("unavailable-after: 2027-06-25, max_snippet: 3",),
        means={"unavailable_after": utc(2027, 6, 25), "max_snippet": 3},
    ),
    TagCase(
        DECIDED,
        "A date that is none costs only itself.",
        headers=("unavailable_after: Tue, 99 Jun 2027 15:00:00 PST, noindex",),
        means=NOINDEX,
        unknown=("unavailable_after: Tue", "99 Jun 2027 15:00:00 PST"),
    ),
    TagCase(
        DECIDED,
        "A word that could be a zone's is none behind a comma.",
        headers=("unavailable_after: 25 Jun 2027 15:00:00, none",),
        means={**NONE, "unavailable_after": utc(2027, 6, 25, 15)},
    ),
    *(
        TagCase(
            DECIDED,
            "Of a header or a tag 4,096 characters are read, of a directive 200.",
            headers=(text,) if where == "header" else (),
            page=meta(text) if where == "page" else "",
            means=NOFOLLOW,
            unknown=("x" * 200,),
        )
        for where in ("header", "page")
        for text in (f"nofollow, {'x' * 300}, {'all, ' * 800}noindex",)
    ),
    TagCase(
        DECIDED,
        "An agent's name in a page's tag stands in its name, not in its content.",
        page=meta("examplebot: noindex"),
        unknown=("examplebot: noindex",),
    ),
    TagCase(
        NOAI,
        "Not for training: the page, its images, in a header or the head, in any case.",
        headers=("noai",),
        page=meta("NoImageAI"),
        means={"noai": True, "noimageai": True},
    ),
    TagCase(NOML, "The same by another name.", page=meta("noml"), means={"noml": True}),
    TagCase(
        REPEXT,
        "The example: a list of tokens with their rules; what is said to all holds for"
        " each.",
        others=(("Robots-Tag", "*;nosnippet, ExampleBot;noindex"),),
        means={**NOSNIPPET, **NOINDEX},
    ),
    TagCase(
        REPEXT,
        "Another robot hears what is said to all.",
        others=(("Robots-Tag", "*;nosnippet, ExampleBot;noindex"),),
        agent="Otherbot",
        means=NOSNIPPET,
    ),
    TagCase(
        REPEXT,
        "The old name is still read, and the union of both counts.",
        headers=("nofollow",),
        others=(
            ("robots-tag", "*;NOINDEX"),
            ("Robots-Tag", "examplebot;max-snippet=3"),
        ),
        means={**NOFOLLOW, "max_snippet": 3},
    ),
    TagCase(
        REPEXT,
        "What is no list of RFC 9651 says nothing.",
        others=(("Robots-Tag", "*;;"),),
    ),
    TagCase(
        REPEXT,
        "Of a field past 8 KiB the members that are whole count.",
        others=(("Robots-Tag", "*;noindex, " + "a;b, " * 1_700 + "*;nofollow"),),
        means=NOINDEX,
    ),
)
