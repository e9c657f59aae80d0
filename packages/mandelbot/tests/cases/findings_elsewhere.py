"""Good and bad examples of SearchTools' "About Robots.txt" (2008), and what others call
invalid.
"""

from __future__ import annotations

from cases.findings import Finds

SEARCHTOOLS = "SearchTools"
MANDELBOT = "Mandelbot"
EXTENDED = "Extended standard 2.0"

GOOD = "Examples of Robots.txt Entries"
BAD = "Bad Examples - Common Wrong Entries"


def _s(
    section: str,
    says: str,
    body: str,
    *codes: tuple[str, int | None],
    absent: tuple[str, ...] = (),
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
    _s(
        GOOD,
        "Everything is allowed for every robot.",
        "User-agent: *\nDisallow:\n",
        absent=_SOUND,
    ),
    _s(
        GOOD,
        "mybot may not index anything.",
        "User-agent: mybot\nDisallow: /\n",
        absent=_SOUND,
    ),
    _s(
        GOOD,
        "Allow everything.",
        "User-agent: *\nAllow: /\n",
        ("allow-all", 2),
        absent=_SOUND,
    ),
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
        "User-agent: WeirdBot\nDisallow: /links/listing.html\nDisallow:"
        " /tmp/\nDisallow: /private/\n\nUser-agent: *\nAllow: /\nDisallow:"
        " /temp*\nAllow: *temperature*\n\nDisallow: /private/\n",
        ("allow-all", 7),
        ("leading-star", 9),
        ("blank-line-in-group", 11),
        absent=_SOUND,
    ),
    _s(
        BAD,
        "The colon is missing.",
        "User-agent: googlebot\nDisallow /\n",
        ("missing-colon", 2),
    ),
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
    _s(
        BAD,
        "It should be sidewinder.",
        "User-agent: sidewinder\nDisallow: /tmp/\n",
        absent=_SOUND,
    ),
    _s(
        BAD,
        "Paths are case-sensitive.",
        "User-agent: MSNbot\nDisallow: /PRIVATE\n",
        ("capitals-in-path", 2),
    ),
    _s(
        BAD,
        "Weirdbot would probably stop at the first record.",
        "User-agent: *\nDisallow: /tmp/\n\nUser-agent: Weirdbot\nDisallow:"
        " /links/listing.html\nDisallow: /tmp/\n",
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
        "User-agent: a\nRobot-version: 2.0\nDisallow: *\nComment: please, disallow:"
        " nobody\n",
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
        "# A standalone comment on its own line\n\nUser-agent: Mandelbot\n# Whitespace"
        " is allowed\nDisallow: /secret# This is a comment\n\nUser-agent: * # For other"
        " robots\nDisallow: /   # Block everything\n",
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
        "Request-rate",
        "A rate that is read none the less: a number alone, a window that is none, full"
        " stops.",
        "User-agent: a\nRobot-version: 2.0\nRequest-rate: 10\nRequest-rate: 9216/4d"
        " 07-21\nRequest-rate: 1200/3h 09.00-15.00\nVisit-time: 12.00-17.00\n",
        (
            *(("bad-request-rate", line) for line in (3, 4, 5)),
            ("bad-visit-time", 6),
        ),
    ),
    Finds(
        EXTENDED,
        "Visit-time",
        "Two times of the day.",
        "User-agent: a\nRobot-version: 2.0\nVisit-time: 25:00-26:00\n",
        (("bad-visit-time", 3),),
    ),
)


def _differs(
    section: str, says: str, body: str, *codes: tuple[str, int | None]
) -> Finds:
    """Return a case about what some robots read otherwise."""
    return Finds("dialects", section, says, body, codes)


def _same(section: str, says: str, body: str, *absent: str) -> Finds:
    return Finds("dialects", section, says, body, absent=absent)


LINES = "Lines between"
ORDER = "Order"
NAMES = "Names within names"
LENGTH = "Length"
VERSION = "Version 2.0"
OWN = "Own groups"
_STAR = "User-agent: *\nDisallow: /a\nDisallow: /b\n"

READ_OTHERWISE = (
    _differs(
        LINES,
        "A blank line between two User-agent lines.",
        "User-agent: a\n\n# b\nUser-agent: b\nDisallow: /\n",
        ("blank-line-between-agents", 4),
    ),
    _same(
        LINES,
        "A comment is no blank line.",
        "User-agent: a\n#\nUser-agent: b\nDisallow: /\n",
        "blank-line-between-agents",
        "agents-apart",
    ),
    _same(
        LINES,
        "Groups apart.",
        "User-agent: a\nDisallow:\n\nUser-agent: b\nDisallow:\n",
        "blank-line-between-agents",
        "agents-apart",
    ),
    *(
        _differs(
            LINES,
            f"{line} between two User-agent lines.",
            f"User-agent: a\n{line}\n\nUser-agent: b\nDisallow: /\n",
            ("agents-apart", 4),
        )
        for line in (
            "Crawl-delay: 1",
            "Sitemap: https://example.com/s.xml",
            "Nonsense: x",
        )
    ),
    _differs(
        ORDER,
        "A broad Allow before a Disallow that it covers.",
        "User-agent: *\nAllow: /\nDisallow: /r/\n",
        ("allow-before-disallow", 3),
    ),
    _same(
        ORDER,
        "Behind it.",
        "User-agent: *\nDisallow: /r/\nAllow: /\n",
        "allow-before-disallow",
    ),
    _same(
        ORDER,
        "Apart.",
        "User-agent: *\nAllow: /a\nDisallow: /b\n",
        "allow-before-disallow",
    ),
    *(
        _differs(
            NAMES,
            f"{one} before {other}.",
            f"User-agent: {one}\nDisallow: /a\n\nUser-agent: {other}\nDisallow: /b\n",
            (code, line),
        )
        for one, other, code, line in (
            ("Yandex", "YandexImages", "wide-name-first", 1),
            ("YandexImages", "Yandex", "wide-name-last", 4),
            ("bot", "Examplebot", "wide-name-first", 1),
            ("Examplebot", "bot", "wide-name-last", 4),
            ("Googlebot-News", "Googlebot", "wide-name-last", 4),
            ("ample", "Examplebot", "wide-name-first", 1),
        )
    ),
    _same(
        NAMES,
        "Names that only begin alike.",
        "User-agent: Yandexa\nDisallow: /a\n\nUser-agent: Yandexb\nDisallow: /b\n",
        "wide-name-first",
        "wide-name-last",
    ),
    *(
        _differs(
            VERSION,
            "A path without a pattern character is one page.",
            f"User-agent: *\nRobot-version: {version}\nDisallow: /\n",
            ("explicit-match", 3),
        )
        for version in ("2.0", "2.0.0", "2.2")
    ),
    _same(
        VERSION,
        "In 1.0 it is a prefix.",
        "User-agent: *\nRobot-version: 1.0\nDisallow: /\n",
        "explicit-match",
    ),
    _same(
        VERSION,
        "So is it where the version does not follow at once.",
        "User-agent: *\nDisallow: /\nRobot-version: 2.0\n",
        "explicit-match",
    ),
    _differs(
        OWN,
        "What is closed to * is open to a robot with a group of its own.",
        f"{_STAR}\nUser-agent: one\nDisallow: /a\n\nUser-agent: two\nDisallow: /\n",
        ("own-group-drops-rules", 5),
    ),
    _same(
        OWN,
        "Not where it says that all is allowed.",
        f"{_STAR}\nUser-agent: one\nDisallow:\n",
        "own-group-drops-rules",
    ),
    _same(
        OWN,
        "Nor where all is repeated, in one group or two.",
        f"{_STAR}\nUser-agent: one\nDisallow: /a\n\nUser-agent: one\nDisallow: /b\n",
        "own-group-drops-rules",
    ),
    *(
        _differs(
            LENGTH,
            f"Allow: {path} is no longer than a Disallow with wildcards.",
            f"User-agent: *\nDisallow: /*.pdf\nAllow: {path}\n",
            ("allow-loses", 3),
        )
        for path in ("/files", "/doc")
    ),
    _same(
        LENGTH,
        "A longer Allow.",
        "User-agent: *\nDisallow: /*.pdf\nAllow: /a/docs\n",
        "allow-loses",
    ),
    _same(
        LENGTH,
        "One that it does not meet.",
        "User-agent: *\nDisallow: /a/*.pdf\nAllow: /b\n",
        "allow-loses",
    ),
    _differs(
        "Index pages",
        "Google's robots take it for its directory.",
        "User-agent: *\nDisallow: /a\nAllow: /a/index.html\n",
        ("index-page", 3),
    ),
    _differs(
        "The name to Google",
        "A name ends at a digit.",
        "User-agent: MJ12bot/v1.4.5\nDisallow: /\n",
        ("agent-with-version", 1),
        ("agent-characters", 1),
    ),
    _differs(
        "The end",
        "The file breaks off.",
        "User-agent: *\nDisallow: /a\nUser-ag",
        ("broken-off", 3),
    ),
    _same(
        "The end",
        "A last line without an end is whole.",
        "User-agent: *\nDisallow: /a",
        "broken-off",
    ),
)

STARS = "Several groups for *"
END = "The end of the last group"
SLASHES = "Slashes"
WORDS = "Words of names"
USE = "Use"
_WORDPRESS = "User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n"
_FOR_ALL = "User-agent: *\nDisallow: /cart\n\n"
_SIGNAL = "User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n\n"

MEANT_OTHERWISE = (
    _differs(
        STARS,
        "A plugin adds a group.",
        f"{_WORDPRESS}\nUser-agent: *\nDisallow: /wp-content/uploads/wpforms/\n",
        ("repeated-star", 5),
    ),
    _differs(
        STARS,
        "Another one closes nothing.",
        f"{_WORDPRESS}\nUser-agent: *\nDisallow:\n",
        ("repeated-star", 5),
    ),
    _differs(
        STARS,
        "A group opens what another one closes.",
        f"{_WORDPRESS}\nUser-agent: *\nAllow: /wp-admin/images/\n",
        ("repeated-agent", 5),
    ),
    _differs(
        STARS,
        "A group closes the site around what another one opens.",
        f"{_WORDPRESS}\nUser-agent: *\nDisallow: /\n",
        ("repeated-agent", 5),
    ),
    _differs(
        END,
        "Rules after a blank line, in the group of a robot that is let in.",
        f"{_FOR_ALL}User-agent: one\nAllow: /\n\n# Routes\nDisallow: /api/\n",
        ("last-lines-for-one", 8),
    ),
    _differs(
        END,
        "So with an empty Disallow.",
        f"{_FOR_ALL}User-agent: one\nDisallow:\n\nDisallow: /api/\n",
        ("last-lines-for-one", 7),
    ),
    _differs(
        END,
        "A statement about use after a comment.",
        f"{_FOR_ALL}User-agent: one\nDisallow: /a\n# Use\nContent-Usage: train-ai=n\n",
        ("last-lines-for-one", 7),
    ),
    *(
        _same(END, says, body, "last-lines-for-one")
        for says, body in (
            (
                "The robot has rules before the gap.",
                f"{_FOR_ALL}User-agent: one\nDisallow: /a\n\nDisallow: /api/\n",
            ),
            ("No group is for all.", "User-agent: one\nAllow: /\n\nDisallow: /b\n"),
            ("The last group is for all.", f"{_FOR_ALL}Disallow: /b\n"),
            (
                "What follows is said to all, too.",
                f"{_FOR_ALL}User-agent: one\nAllow: /\n\nDisallow: /cart\n",
            ),
            (
                "A statement is made to all, too.",
                f"{_SIGNAL}User-agent: one\nAllow: /\n\nContent-Signal: search=no\n",
            ),
            (
                "A comment within the rules of a robot.",
                f"{_FOR_ALL}User-agent: one\nAllow: /\n# but\nDisallow: /api/\n",
            ),
            (
                "A blank line after the names.",
                f"{_FOR_ALL}User-agent: one\n\nDisallow: /api/\n",
            ),
        )
    ),
    *(
        _differs(
            SLASHES,
            "One slash too many, which is no URL.",
            f"User-agent: *\nDisallow: {path}\n",
            (code, 2),
        )
        for path, code in (
            ("//search", "double-slash"),
            ("//www.example.com/a", "double-slash"),
            ("///", "only-slashes"),
            ("//", "only-slashes"),
            ("//*", "only-slashes"),
        )
    ),
    _same(SLASHES, "No URL.", "User-agent: *\nDisallow: //a.b/\n", "full-url"),
    *(
        _differs(
            WORDS,
            "A known name's words in another order, or with a bot too many.",
            f"User-agent: {name}\nDisallow: /\n",
            ("misspelt-agent", 1),
        )
        for name in (
            "GoogleBot-Extended",
            "Google-Extended-Bot",
            "Extended-Google",
            "Google-Mediapartners",
            "Google_ExtendedBot",
        )
    ),
    *(
        _same(
            WORDS,
            "Names that their operators document, or that may be another robot's.",
            f"User-agent: {name}\nDisallow: /\n",
            "misspelt-agent",
        )
        for name in (
            "Pinterest",
            "Pinterestbot",
            "Mail.Ru",
            "Google-Safety",
            "Examplebot",
        )
    ),
    *(
        _differs(
            USE,
            "A robot's own group says nothing of what is refused to all.",
            f"{_SIGNAL}User-agent: {name}\n{rule}\n",
            ("own-group-drops-usage", 5),
        )
        for name in ("GPTBot", "Googlebot")
        for rule in ("Disallow:", "Disallow: /a", "Disallow: /\nAllow: /a")
    ),
    *(
        _same(USE, says, f"{_SIGNAL}{body}\n", "own-group-drops-usage")
        for says, body in (
            ("The robot is shut out.", "User-agent: GPTBot\nDisallow: /"),
            (
                "Its group says so, too.",
                "User-agent: GPTBot\nContent-Signal: ai-train=no\nDisallow: /a",
            ),
            (
                "Its group allows it.",
                "User-agent: GPTBot\nContent-Usage: train-ai=y\nDisallow: /a",
            ),
            ("A preview trains nothing.", "User-agent: Twitterbot\nDisallow:"),
            ("A name that no request has.", "User-agent: Google-Extended\nAllow: /"),
        )
    ),
)

CASES = SEARCHTOOLS_EXAMPLES + OTHER_DOCUMENTS + READ_OTHERWISE + MEANT_OTHERWISE
