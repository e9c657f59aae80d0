"""What the documents call wrong, and what they show as right: by what a checker says of it.

Moderatobot's "Checking robots.txt theory", the good and bad examples of SearchTools' "About
Robots.txt" (2008), and what the other documents call invalid.
"""

from __future__ import annotations

from dataclasses import dataclass

MODERATOBOT = "Moderatobot"
SEARCHTOOLS = "SearchTools"
MANDELBOT = "Mandelbot"
EXTENDED = "Extended standard 2.0"


@dataclass(frozen=True)
class Finds:
    """A file, and what must be found in it: codes with lines."""

    document: str
    section: str
    says: str
    body: str | bytes
    codes: tuple[tuple[str, int | None], ...] = ()
    absent: tuple[str, ...] = ()
    """Codes that must not be found."""

    @property
    def octets(self) -> bytes:
        """The file as it is fetched."""
        return self.body if isinstance(self.body, bytes) else self.body.encode()


@dataclass(frozen=True)
class Comes:
    """How a file comes, and what must be found."""

    section: str
    says: str
    delivery: tuple[tuple[str, object], ...]
    codes: tuple[str, ...] = ()


PLACE = "File name and location"
ACCESS = "File access"
TIMEOUT = "Robots.txt timeout"
FORMAT = "File format"
ROOT = "https://example.com/robots.txt"

DELIVERIES = (
    Comes(PLACE, "Names in lower case are processed.", (("url", ROOT),)),
    Comes(
        PLACE,
        "Names in upper case are processed, with a warning.",
        (("url", "https://example.com/ROBOTS.TXT"),),
        ("name-in-capitals",),
    ),
    Comes(
        PLACE,
        "The file must be in the root directory.",
        (("url", "https://example.com/a/robots.txt"),),
        ("wrong-location",),
    ),
    Comes(
        PLACE,
        "It must be named robots.txt.",
        (("url", "https://example.com/robot.txt"),),
        ("wrong-location",),
    ),
    Comes(PLACE, "A file on disk may be anywhere.", (("url", "/srv/www/robots.txt"),)),
    Comes(
        PLACE,
        "Each subdomain has its own: the file of another site is no finding but a note.",
        (("url", ROOT), ("final_url", "https://www.example.com/robots.txt")),
        ("other-site",),
    ),
    Comes(
        PLACE,
        "Different protocols have different files.",
        (("url", ROOT), ("final_url", "http://example.com/robots.txt")),
        ("other-site",),
    ),
    Comes(
        PLACE,
        "Different ports have different files.",
        (("url", ROOT), ("final_url", "https://example.com:8443/robots.txt")),
        ("other-site",),
    ),
    Comes(
        PLACE,
        "What is no URL is not where robots look.",
        (("url", "http://[x/robots.txt"),),
        ("wrong-location",),
    ),
    *(
        Comes(ACCESS, f"{count} redirects.", (("redirects", count),), codes)
        for count, codes in (
            (0, ()),
            (4, ()),
            (5, ("many-redirects",)),
            (9, ("many-redirects",)),
            (10, ("too-many-redirects",)),
            (25, ("too-many-redirects",)),
        )
    ),
    *(
        Comes(ACCESS, f"Status {status}.", (("status", status),), codes)
        for status, codes in (
            (200, ()),
            (201, ("status-not-200",)),
            (204, ("status-not-200",)),
            (301, ("unfinished-redirect",)),
            (401, ("status-forbids",)),
            (403, ("status-forbids",)),
            (404, ("status-not-found",)),
            (410, ("status-not-found",)),
            (400, ("status-client-error",)),
            (429, ("status-too-many-requests",)),
            (500, ("status-server-error",)),
            (503, ("status-server-error",)),
            (599, ("status-server-error",)),
            (100, ("status-unknown",)),
            (-1, ("status-unknown",)),
        )
    ),
    *(
        Comes(TIMEOUT, f"{seconds} seconds.", (("seconds", seconds),), codes)
        for seconds, codes in (
            (0.0, ()),
            (4.99, ()),
            (5.0, ("slow",)),
            (9.9, ("slow",)),
            (10.0, ("too-slow",)),
        )
    ),
    *(
        Comes(FORMAT, f"Content-Type {header!r}.", (("content_type", header),), codes)
        for header, codes in (
            ("text/plain", ()),
            ("Text/Plain; Charset=UTF-8", ()),
            ('text/plain;charset="utf-8"', ()),
            ("", ("no-content-type",)),
            ("text/html", ("not-text-plain",)),
            ("text/plain; charset=windows-1251", ("charset-not-utf-8",)),
        )
    ),
    *(
        Comes(FORMAT, f"Content-Encoding {header!r}.", (("content_encoding", header),), codes)
        for header, codes in (
            ("", ()),
            ("gzip", ()),
            ("gzip, br", ()),
            ("compressed", ("unknown-content-encoding",)),
        )
    ),
)

STRUCTURE = "File structure"
GROUPS = "Groups"
GROUP_DIRECTIVES = "Group directives"
AGENT = "User-agent directive"
DISALLOW = "Disallow directive"
ALLOW = "Allow directive"
RULES = "Disallow vs. Allow"
DELAY = "Crawl-delay directive"
OTHERS = "Non-group directives"
SITEMAP = "Sitemap directive"
HOST = "Host directive"
CLEAN = "Clean-param directive"
VERSION = "An Extended Standard for Robot Exclusion"

A = "User-agent: a\nDisallow: /a\n"
YANDEX = "User-agent: Yandex\nDisallow: /a\n"
URL = "https://example.com/sitemap.xml"


def _m(
    section: str,
    says: str,
    body: str | bytes,
    *codes: tuple[str, int | None],
    absent: tuple[str, ...] = (),
) -> Finds:
    return Finds(MODERATOBOT, section, says, body, codes, absent)


MODERATOBOTS = (
    _m(FORMAT, "The signature of UTF-8.", b"\xef\xbb\xbf" + A.encode(), ("byte-order-mark", 1)),
    _m(FORMAT, "The signature of UTF-16.", A.encode("utf-16"), ("utf-16", 1)),
    _m(
        FORMAT,
        "Not a text file.",
        "<html>\n<body>No such page: sorry</body>\n",
        ("html-page", 1),
        absent=("unknown-field", "not-a-directive"),
    ),
    _m(
        STRUCTURE,
        "A comment after a directive is moved.",
        "User-agent: a # b\nDisallow:\n",
        ("comment-after-directive", 1),
    ),
    _m(
        STRUCTURE,
        "A comment of its own line stays, and is no blank line.",
        "User-agent: a\n# b\nDisallow: /c\n#d\nDisallow: /d\n",
        absent=("comment-after-directive", "blank-line-in-group"),
    ),
    _m(
        STRUCTURE,
        "The format is name: value.",
        "User-agent: a\nDisallow /b\n",
        ("missing-colon", 2),
    ),
    _m(
        "Standard and non-standard directives",
        "An unknown directive is skipped.",
        A + "Foo: bar\n",
        ("unknown-field", 3),
    ),
    _m(
        GROUPS,
        "Groups must be separated by blank lines.",
        A + A.replace("a\n", "b\n"),
        ("no-blank-line-before-group", 3),
    ),
    _m(
        GROUPS,
        "The very first needs none, and a comment in between is not blank.",
        "# x\n" + A + "# y\nUser-agent: b\nDisallow:\n",
        ("no-blank-line-before-group", 5),
    ),
    _m(
        GROUPS,
        "Several User-agents open one group.",
        "User-agent: a\nUser-agent: b\nDisallow:\n",
        absent=("no-blank-line-before-group", "group-without-rules"),
    ),
    _m(
        GROUPS,
        "A blank line inside a group closes it.",
        A + "\nDisallow: /b\nAllow: /c\n",
        ("blank-line-in-group", 4),
    ),
    _m(
        GROUPS,
        "A blank line between the agents and the rules closes it too.",
        "User-agent: a\n\nDisallow: /b\n",
        ("blank-line-in-group", 3),
    ),
    _m(
        GROUPS,
        "White space alone is a blank line.",
        A + " \t\nDisallow: /b\n",
        ("blank-line-in-group", 4),
    ),
    _m(
        GROUPS,
        "Each blank line with directives after it is told once.",
        A + "\nDisallow: /b\n\nDisallow: /c\n\n" + A.replace("a\n", "b\n") + "\nDisallow: /d\n",
        ("blank-line-in-group", 4),
        ("blank-line-in-group", 11),
    ),
    _m(GROUPS, "One group a robot.", A + "\n" + A.upper(), ("repeated-agent", 4)),
    _m(
        GROUPS,
        "One User-agent line a robot.",
        "User-agent: a\nUser-agent: A\nDisallow:\n",
        ("repeated-agent", 2),
    ),
    _m(
        GROUP_DIRECTIVES,
        "Allow, Disallow and Crawl-delay are to be used within groups.",
        "Disallow: /a\nAllow: /b\nCrawl-delay: 1\n\n" + A,
        ("directive-outside-group", 1),
        ("directive-outside-group", 2),
        ("directive-outside-group", 3),
    ),
    _m(AGENT, "One name a directive.", "User-agent: a, b\nDisallow:\n", ("several-names", 1)),
    _m(
        AGENT,
        "Two known robots in one directive.",
        "User-agent: Googlebot bingbot\nDisallow:\n",
        ("several-names", 1),
    ),
    _m(AGENT, "A name there must be.", "User-agent:\nDisallow:\n", ("empty-agent", 1)),
    _m(
        AGENT,
        "Groups in the order of their robots' specificity.",
        "User-agent: Googlebot\nDisallow:\n\nUser-agent: Googlebot-News\nDisallow:\n",
        ("wide-name-first", 1),
    ),
    _m(
        AGENT,
        "The most specific first is right.",
        "User-agent: Googlebot-News\nDisallow:\n\nUser-agent: Googlebot\nDisallow:\n",
        absent=("wide-name-first",),
    ),
    _m(
        AGENT,
        "The group for * goes last.",
        "User-agent: *\nDisallow:\n\n" + A,
        ("star-before-robots", 1),
    ),
    _m(
        AGENT,
        "The group for * is last.",
        A + "\nUser-agent: *\nDisallow:\n",
        absent=("star-before-robots",),
    ),
    _m(AGENT, "The * with other symbols.", "User-agent: *bot\nDisallow:\n", ("star-in-agent", 1)),
    _m(
        AGENT,
        "No non-standard directives in the group for *.",
        "User-agent: *\nDisallow:\nCrawl-delay: 1\n",
        ("nonstandard-for-all", 3),
    ),
    _m(
        DISALLOW,
        "Each group ought to have a Disallow.",
        "User-agent: a\nAllow: /b\n",
        ("group-without-disallow", 1),
    ),
    _m(
        DISALLOW,
        "A group with nothing has none either.",
        "User-agent: a\nCrawl-delay: 1\n",
        ("group-without-rules", 1),
    ),
    _m(
        ALLOW, "An Allow without a value.", "User-agent: a\nAllow:\nDisallow:\n", ("empty-allow", 2)
    ),
    _m(ALLOW, "Allow: / has no sense.", "User-agent: a\nAllow: /\nDisallow:\n", ("allow-all", 2)),
    _m(ALLOW, "The * is not standard.", "User-agent: a\nDisallow: /*b\n", ("wildcard", 2)),
    _m(ALLOW, "The $ is not standard.", "User-agent: a\nDisallow: /b$\n", ("wildcard", 2)),
    _m(
        ALLOW,
        "Other regular expressions are not known to anyone.",
        "User-agent: a\nDisallow: /[a-z]b\n",
        ("regular-expression", 2),
    ),
    *(
        _m(
            ALLOW,
            "/robots.txt must not appear in a rule.",
            f"User-agent: a\nDisallow:\n{rule}\n",
            ("robots-txt-in-rule", 3),
        )
        for rule in ("Allow: /robots.txt", "Disallow: /robots.txt", "Disallow: /robots.txt$")
    ),
    _m(
        RULES, "The order matters to some robots.", A + "Allow: /a/b\n", ("allow-after-disallow", 3)
    ),
    _m(
        RULES,
        "All Allow directives first.",
        "User-agent: a\nAllow: /a/b\nDisallow: /a\n",
        absent=("allow-after-disallow",),
    ),
    _m(RULES, "Allow and Disallow have the same value.", A + "Allow: /a\n", ("tie", 2)),
    *(
        _m(
            DELAY,
            f"Positive whole numbers from 1 to 30: {value}.",
            A + f"Crawl-delay: {value}\n",
            *codes,
            absent=absent,
        )
        for value, codes, absent in (
            ("1", (), ("crawl-delay-not-whole", "long-crawl-delay", "bad-crawl-delay")),
            ("30", (), ("crawl-delay-not-whole", "long-crawl-delay", "bad-crawl-delay")),
            ("0", (("crawl-delay-not-whole", 3),), ()),
            ("0.5", (("crawl-delay-not-whole", 3),), ()),
            ("31", (("long-crawl-delay", 3),), ()),
            ("-1", (("bad-crawl-delay", 3),), ()),
            ("ten", (("bad-crawl-delay", 3),), ()),
            ("", (("no-value", 3),), ("bad-crawl-delay",)),
        )
    ),
    _m(
        OTHERS,
        "Host is best in Yandex's group.",
        A + "Host: example.com\n",
        ("host-not-for-yandex", 3),
    ),
    _m(
        OTHERS,
        "Clean-param is best in Yandex's group.",
        A + "Clean-param: s /a\n",
        ("clean-param-not-for-yandex", 3),
    ),
    _m(
        SITEMAP,
        "Not inside a group.",
        f"User-agent: a\nSitemap: {URL}\nDisallow: /a\n",
        ("sitemap-in-group", 2),
    ),
    _m(
        SITEMAP,
        "At the end of the file.",
        A + f"\nSitemap: {URL}\n",
        absent=("sitemap-in-group", "sitemap-extension", "relative-sitemap"),
    ),
    _m(SITEMAP, "Not closed with /.", f"Sitemap: {URL}/\n", ("sitemap-is-directory", 1)),
    _m(SITEMAP, "With a protocol.", "Sitemap: example.com/sitemap.xml\n", ("relative-sitemap", 1)),
    _m(SITEMAP, "With a domain name.", "Sitemap: /sitemap.xml\n", ("relative-sitemap", 1)),
    _m(
        SITEMAP,
        "With the extension .xml.gz.",
        f"Sitemap: {URL}.gz\n",
        absent=("sitemap-extension",),
    ),
    _m(
        SITEMAP,
        "Not with another extension.",
        f"Sitemap: {URL[:-3]}txt\n",
        ("sitemap-extension", 1),
    ),
    _m(
        HOST,
        "No protocol in the value.",
        YANDEX + "Host: http://example.com\n",
        ("host-not-a-name", 3),
    ),
    _m(
        HOST,
        "Only one.",
        YANDEX + "Host: a.example\nHost: b.example\n",
        ("several-hosts", 4),
        absent=("host-not-for-yandex",),
    ),
    _m(
        HOST,
        "At the end of Yandex's group.",
        "User-agent: Yandex\nHost: example.com\nDisallow: /a\nClean-param: s /a\n",
        ("yandex-field-not-last", 2),
        absent=("host-not-for-yandex",),
    ),
    _m(
        CLEAN,
        "Not more than 500 characters.",
        YANDEX + f"Clean-param: {'a' * 501}\n",
        ("long-clean-param", 3),
    ),
    _m(
        CLEAN,
        "500 characters are fine.",
        YANDEX + f"Clean-param: {'a' * 500}\n",
        absent=("long-clean-param", "clean-param-not-for-yandex"),
    ),
    _m(
        VERSION,
        "Robot-version goes just after the User-agents.",
        A + "Robot-version: 2.0\n",
        ("misplaced-robot-version", 3),
    ),
    _m(
        VERSION,
        "After the last of them.",
        "User-agent: a\nRobot-version: 2.0\nUser-agent: b\nDisallow:\n",
        ("misplaced-robot-version", 2),
    ),
    _m(
        VERSION,
        "Robot-version in its place.",
        "User-agent: a\nRobot-version: 2.0\nDisallow:\n",
        absent=("misplaced-robot-version", "bad-robot-version"),
    ),
    _m(
        "Robot-version directive",
        "1.0 and 2.0.",
        "User-agent: a\nRobot-version: 1.0\nDisallow:\n",
        absent=("bad-robot-version",),
    ),
    _m(
        "Robot-version directive",
        "Nothing else.",
        "User-agent: a\nRobot-version: 3.0\nDisallow:\n",
        ("bad-robot-version", 2),
    ),
    *(
        _m(
            "Request-rate, Visit-time, Comment directives",
            f"{line} without version 2.0.",
            A + line + "\n",
            ("version-2-undeclared", 3),
        )
        for line in ("Request-rate: 1/10", "Visit-time: 0600-0845", "Comment: hello")
    ),
)


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

FILES = MODERATOBOTS + SEARCHTOOLS_EXAMPLES + OTHER_DOCUMENTS
