"""Good and bad examples of SearchTools' "About Robots.txt" (2008), and what others call invalid."""

from __future__ import annotations

from cases.findings import Finds

SEARCHTOOLS = "SearchTools"
MANDELBOT = "Mandelbot"
EXTENDED = "Extended standard 2.0"

GOOD = "Examples of Robots.txt Entries"
BAD = "Bad Examples - Common Wrong Entries"


def _s(
    section: str, says: str, body: str, *codes: tuple[str, int | None], absent: tuple[str, ...] = ()
) -> Finds:
    return Finds(SEARCHTOOLS, section, says, body, codes, absent)


_SOUND = (
    "missing-colon",
    "misspelt-agent",
    "misspelt-field",
    "capitals-in-path",
    "star-before-robots",
    "several-directives",
    "directive-outside-group",
    "no-leading-slash",
    "repeated-agent",
)

SEARCHTOOLS_EXAMPLES = (
    _s(GOOD, "Everything is allowed for every robot.", "User-agent: *\nDisallow:\n", absent=_SOUND),
    _s(GOOD, "mybot may not index anything.", "User-agent: mybot\nDisallow: /\n", absent=_SOUND),
    _s(GOOD, "Allow everything.", "User-agent: *\nAllow: /\n", ("allow-all", 2), absent=_SOUND),
    _s(
        GOOD,
        "The page shows two directives in one line.",
        "User-agent: BadBot\nAllow: /About/robot-policy.html Disallow: /\n",
        ("several-directives", 2),
    ),
    _s(
        GOOD,
        "They are meant as two lines.",
        "User-agent: BadBot\nAllow: /About/robot-policy.html\nDisallow: /\n",
        absent=_SOUND,
    ),
    _s(
        GOOD,
        "Three paths.",
        "User-agent: *\nDisallow: /cgi-bin/\nDisallow: /tmp/\nDisallow: /private\n",
        absent=_SOUND,
    ),
    _s(
        GOOD,
        "A blank line indicates a new record; a wildcard.",
        "User-agent: BadBot\nDisallow: /\n\nUser-agent: *\nDisallow: /*/private/*\n",
        ("wildcard", 5),
        ("redundant-star", 5),
        absent=_SOUND,
    ),
    _s(
        GOOD,
        "All others: a path begins with *, a blank line is in a group.",
        "User-agent: WeirdBot\nDisallow: /links/listing.html\nDisallow: /tmp/\n"
        "Disallow: /private/\n\n"
        "User-agent: *\nAllow: /\nDisallow: /temp*\nAllow: *temperature*\n\nDisallow: /private/\n",
        ("allow-all", 7),
        ("leading-star", 9),
        ("blank-line-in-group", 11),
        absent=_SOUND,
    ),
    _s(BAD, "The colon is missing.", "User-agent: googlebot\nDisallow /\n", ("missing-colon", 2)),
    _s(
        "Robots.txt syntax checkers",
        "A semicolon instead of a colon.",
        "User-agent: googlebot\nDisallow; /\n",
        ("semicolon-for-colon", 2),
        absent=("missing-colon",),
    ),
    _s(
        "Robots.txt syntax checkers",
        "A directive with no user agent.",
        "Disallow: /\n",
        ("directive-outside-group", 1),
    ),
    _s(
        BAD,
        "Robots do not recognise misspelt names.",
        "User-agent: sidewiner\nDisallow: /tmp/\n",
        ("misspelt-agent", 1),
    ),
    _s(BAD, "It should be sidewinder.", "User-agent: sidewinder\nDisallow: /tmp/\n", absent=_SOUND),
    _s(
        BAD,
        "Paths are case-sensitive.",
        "User-agent: MSNbot\nDisallow: /PRIVATE\n",
        ("capitals-in-path", 2),
    ),
    _s(
        BAD,
        "Weirdbot would probably stop at the first record.",
        "User-agent: *\nDisallow: /tmp/\n\nUser-agent: Weirdbot\nDisallow: /links/listing.html\n"
        "Disallow: /tmp/\n",
        ("star-before-robots", 1),
    ),
    _s(
        "Listings of Robot User-agent Names",
        "Better webcrawler than a whole header.",
        "User-agent: WebCrawler/3.0 Robot libwww/5.0a\nDisallow: /\n",
        ("agent-with-version", 1),
    ),
)

OTHER_DOCUMENTS = (
    Finds(
        EXTENDED,
        "Comment",
        "A comment may speak of directives.",
        "User-agent: a\nRobot-version: 2.0\nDisallow: *\nComment: please, disallow: nobody\n",
        absent=("several-directives",),
    ),
    Finds(
        MANDELBOT,
        "User Agents and Directive Groups",
        "The same user agent twice is invalid.",
        "User-agent: a\nDisallow: /\n\nUser-agent: A\nDisallow: /b\n",
        (("repeated-agent", 4),),
    ),
    Finds(
        MANDELBOT,
        "Disallow Directive",
        "The path must start with a forward slash.",
        "User-agent: a\nDisallow: private\n",
        (("no-leading-slash", 2),),
    ),
    Finds(
        MANDELBOT,
        "Disallow Directive",
        "Special characters must be percent encoded.",
        "User-agent: a\nDisallow: /é ü\n",
        (("unescaped-character", 2), ("space-in-path", 2)),
    ),
    Finds(
        MANDELBOT,
        "Exotic Usage of Wildcards",
        "A * at the end is usually redundant.",
        "User-agent: a\nDisallow: /a*\n",
        (("redundant-star", 2),),
    ),
    Finds(
        MANDELBOT,
        "Exotic Usage of Wildcards",
        "Not where it makes a $ a regular character.",
        "User-agent: a\nDisallow: /earn$*\n",
        absent=("redundant-star", "dollar-inside"),
    ),
    Finds(
        MANDELBOT,
        "Sitemaps",
        "The value is an absolute URL.",
        "Sitemap: sitemap.xml\n",
        (("relative-sitemap", 1),),
    ),
    Finds(
        MANDELBOT,
        "Comments",
        "Its own example of comments is sound but for their places.",
        "# A standalone comment on its own line\n\nUser-agent: Mandelbot\n# Whitespace is allowed\n"
        "Disallow: /secret# This is a comment\n\nUser-agent: * # For other robots\n"
        "Disallow: /   # Block everything\n",
        (("hash-without-space", 5), ("comment-after-directive", 7)),
        absent=_SOUND,
    ),
    Finds(
        EXTENDED,
        "Robot-version",
        "Only one header per rule set is allowed.",
        "User-agent: a\nRobot-version: 2.0\nRobot-version: 2.0\nDisallow: *\n",
        (("repeated-robot-version", 3),),
    ),
    Finds(
        EXTENDED,
        "Robot-version",
        "Higher even versions are as good.",
        "User-agent: a\nRobot-version: 2.2\nDisallow: *\n",
        absent=("bad-robot-version",),
    ),
    Finds(
        EXTENDED,
        "Request-rate",
        "Documents, a slash, a time.",
        "User-agent: a\nRobot-version: 2.0\nRequest-rate: fast\n",
        (("bad-request-rate", 3),),
    ),
    Finds(
        EXTENDED,
        "Visit-time",
        "Two times of the day.",
        "User-agent: a\nRobot-version: 2.0\nVisit-time: 25:00-26:00\n",
        (("bad-visit-time", 3),),
    ),
)

CASES = SEARCHTOOLS_EXAMPLES + OTHER_DOCUMENTS
