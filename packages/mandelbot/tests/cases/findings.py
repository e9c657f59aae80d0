"""What "Checking robots.txt theory" (Moderatobot) calls wrong: by what a checker says
of it.
"""

from __future__ import annotations

from dataclasses import dataclass

MODERATOBOT = "Moderatobot"


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


FORMAT = "File format"
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


CASES = (
    _m(
        FORMAT,
        "The signature of UTF-8.",
        b"\xef\xbb\xbf" + A.encode(),
        ("byte-order-mark", 1),
    ),
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
        A
        + "\nDisallow: /b\n\nDisallow: /c\n\n"
        + A.replace("a\n", "b\n")
        + "\nDisallow: /d\n",
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
    _m(
        GROUP_DIRECTIVES,
        "Before any group a blank line closes none.",
        "\nDisallow: /a\n\nAllow: /b\n",
        ("directive-outside-group", 2),
        ("directive-outside-group", 4),
        absent=("blank-line-in-group",),
    ),
    _m(
        AGENT,
        "One name a directive.",
        "User-agent: a, b\nDisallow:\n",
        ("several-names", 1),
    ),
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
    _m(
        AGENT,
        "The * with other symbols.",
        "User-agent: *bot\nDisallow:\n",
        ("star-in-agent", 1),
    ),
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
        ALLOW,
        "An Allow without a value.",
        "User-agent: a\nAllow:\nDisallow:\n",
        ("empty-allow", 2),
    ),
    _m(
        ALLOW,
        "Allow: / has no sense.",
        "User-agent: a\nAllow: /\nDisallow:\n",
        ("allow-all", 2),
    ),
    _m(
        ALLOW,
        "The * is not standard.",
        "User-agent: a\nDisallow: /*b\n",
        ("wildcard", 2),
    ),
    _m(
        ALLOW,
        "The $ is not standard.",
        "User-agent: a\nDisallow: /b$\n",
        ("wildcard", 2),
    ),
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
        for rule in (
            "Allow: /robots.txt",
            "Disallow: /robots.txt",
            "Disallow: /robots.txt$",
        )
    ),
    _m(
        RULES,
        "The order matters to some robots.",
        A + "Allow: /a/b\n",
        ("allow-after-disallow", 3),
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
            (
                "30",
                (),
                ("crawl-delay-not-whole", "long-crawl-delay", "bad-crawl-delay"),
            ),
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
    _m(
        SITEMAP, "Not closed with /.", f"Sitemap: {URL}/\n", ("sitemap-is-directory", 1)
    ),
    _m(
        SITEMAP,
        "With a protocol.",
        "Sitemap: example.com/sitemap.xml\n",
        ("relative-sitemap", 1),
    ),
    _m(
        SITEMAP,
        "With a domain name.",
        "Sitemap: /sitemap.xml\n",
        ("relative-sitemap", 1),
    ),
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
