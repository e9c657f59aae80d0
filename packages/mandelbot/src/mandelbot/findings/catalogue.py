"""The findings about a robots.txt and its delivery: a table with one row for each.

``docs/findings.rst`` shows an example of each. The documents are Mandelbot's page
"Support for robots.txt", Moderatobot's "Checking robots.txt theory", SearchTools'
"About Robots.txt" (2008), "An Extended Standard for Robot Exclusion", RFC 9309, and
what Google's parser does.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple


class Severity(enum.IntEnum):
    """How bad a finding is, ascending.

    >>> from mandelbot import Severity
    >>> Severity.WARNING < Severity.ERROR, str(Severity.ERROR)
    (True, 'error')
    """

    NOTE = 1
    """Some robots read it differently, or it is redundant."""
    WARNING = 2
    """Robots differ, or the line does less than it seems to."""
    ERROR = 3
    """Robots do not do what the file seems to require."""

    def __str__(self) -> str:
        return self.name.lower()


class Consequence(enum.IntEnum):
    """What a finding does, in the order of the reports."""

    SHUTS_OUT = 0
    """Robots are kept out of what was probably meant to be open."""
    LETS_IN = 1
    """Robots fetch what was probably meant to be closed, or the whole site."""
    IS_UNREAD = 2
    """Some or all robots ignore it, or misread it."""
    IS_STYLE = 3
    """It changes nothing, or next to nothing."""

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")


class FindingKind(NamedTuple):
    """A row of the table."""

    code: str
    """Words joined by hyphens. A code keeps its meaning from release to release."""
    severity: Severity
    text: str
    """What is wrong."""
    why: str
    """Why it matters, and to which robots."""
    most: int = 50
    """How many are listed at most; the last one counts the others."""

    @property
    def consequence(self) -> Consequence:
        """What it does."""
        return _CONSEQUENCES.get(self.code, Consequence.IS_UNREAD)

    @property
    def rank(self) -> tuple[bool, Consequence, int]:
        """Its place in reports: by consequence, the worse first; notes last."""
        return self.severity is Severity.NOTE, self.consequence, -self.severity


@dataclass(frozen=True, slots=True)
class Finding:
    r"""A finding in a file or its delivery; as a string, one line.

    >>> from mandelbot import lint
    >>> print(lint(b"User-agent: *\nDisalow: /x\n")[-1])
    line 2: error: "Disalow" is not a field: did you mean Disallow? [misspelt-field]
    """

    code: str
    severity: Severity
    line: int | None
    """From 1; None: the whole file or its delivery."""
    message: str
    """A sentence: what is wrong here."""
    more: int = 0
    """How many more like this are not listed."""

    @property
    def why(self) -> str:
        """Why it matters, and to which robots."""
        return FINDINGS[self.code].why

    def __str__(self) -> str:
        where = "" if self.line is None else f"line {self.line}: "
        more = ""
        if self.more:
            more = f" (and {self.more} more like this)"
        return f"{where}{self.severity}: {self.message} [{self.code}]{more}"


_CODES_OF = {
    Consequence.SHUTS_OUT: """
        allow-after-disallow allow-loses closed-to-all closed-to-robot costly-wildcards
        empty-allow hash-without-space long-crawl-delay long-line merged-with-next
        read-as-rule robots-txt-in-rule status-forbids status-server-error
        status-too-many-requests too-slow
    """,
    Consequence.LETS_IN: """
        agents-apart allow-all allow-before-disallow binary-file
        blank-line-between-agents blank-line-in-group broken-off empty-disallow-first
        empty-file ends-with-punctuation explicit-match group-without-rules
        groups-contradict host-in-path html-page incomplete index-page
        invisible-character many-redirects name-for-all name-in-capitals not-encoded
        older-usage only-in-capitals own-group-drops-rules own-group-drops-usage
        parameter-as-path quoted-name last-lines-for-one double-slash
        repeated-agent repeated-star star-in-agent status-client-error status-not-found
        tie too-large too-many-redirects unfinished-redirect unknown-content-encoding
        utf-16 wrong-location
    """,
    Consequence.IS_STYLE: """
        agent-with-version capitals-in-path comment-after-directive dropped-field
        duplicate-rule group-without-disallow leading-star managed-block
        mixed-line-ends no-blank-line-before-group no-content-type nonstandard-for-all
        only-slashes redundant-star repeated-sitemap
        sitemap-extension sitemap-in-group space-before-colon
    """,
}
_CONSEQUENCES = {
    code: does for does, codes in _CODES_OF.items() for code in codes.split()
}

_ROWS = (
    # The delivery.
    FindingKind(
        "wrong-location",
        Severity.ERROR,
        "The file is not where robots look for it.",
        "Robots fetch only /robots.txt in the root directory of each scheme, host and "
        "port.",
    ),
    FindingKind(
        "name-in-capitals",
        Severity.WARNING,
        "The file's name is not in lower case.",
        "Robots fetch /robots.txt; a case-sensitive server answers 404.",
    ),
    FindingKind(
        "only-in-capitals",
        Severity.ERROR,
        "The file exists only under a name in capitals.",
        "Robots fetch /robots.txt, in lower case: to all of them there is no file.",
    ),
    FindingKind(
        "other-site",
        Severity.NOTE,
        "The file came from another site.",
        "Robots that obey RFC 9309 follow redirects to other sites, and apply the file "
        "to the site requested; some robots do not follow.",
    ),
    FindingKind(
        "many-redirects",
        Severity.WARNING,
        "There are five redirects or more.",
        "Some robots, Google's included, stop after five and assume that there is no "
        "file.",
    ),
    FindingKind(
        "too-many-redirects",
        Severity.ERROR,
        "There are more than ten redirects.",
        "Robots stop, and assume that there is no file: everything is allowed.",
    ),
    FindingKind(
        "unfinished-redirect",
        Severity.ERROR,
        "The last response is a redirect that leads nowhere.",
        "Robots assume that there is no file: everything is allowed.",
    ),
    FindingKind(
        "status-not-200",
        Severity.WARNING,
        "The status is a success, but not 200.",
        "Some robots read the file only at 200, and treat any other status as no file.",
    ),
    FindingKind(
        "status-forbids",
        Severity.WARNING,
        "The status is 401 or 403.",
        "Robots of the 1994 standard treat the whole site as forbidden; Mandelbot, "
        "Google and RFC 9309 treat all of it as allowed.",
    ),
    FindingKind(
        "status-not-found",
        Severity.NOTE,
        "There is no file.",
        "All robots treat the whole site as allowed; an empty file means the same "
        "without errors in logs.",
    ),
    FindingKind(
        "status-client-error",
        Severity.WARNING,
        "The status is a client error.",
        "Most robots treat it as no file and the whole site as allowed; some do not.",
    ),
    FindingKind(
        "status-too-many-requests",
        Severity.ERROR,
        "The status is 429.",
        "Some robots stay away for a while, others treat it as no file and the site as "
        "allowed.",
    ),
    FindingKind(
        "status-server-error",
        Severity.ERROR,
        "The status is a server error.",
        "Robots do not crawl the site until the file is available again, Google's for "
        "days; some crawl as if everything were allowed.",
    ),
    FindingKind(
        "status-unknown",
        Severity.ERROR,
        "The status is not one that robots know.",
        "No document says what a robot makes of it.",
    ),
    FindingKind(
        "slow",
        Severity.WARNING,
        "The file took 5 seconds or longer.",
        "Robots do not publish their timeouts; Moderatobot calls 5 seconds slow.",
    ),
    FindingKind(
        "too-slow",
        Severity.ERROR,
        "The file took 10 seconds or longer.",
        "Moderatobot waits for 10 seconds; a robot that times out treats the site as "
        "unavailable.",
    ),
    FindingKind(
        "incomplete",
        Severity.ERROR,
        "The download was truncated.",
        "Fewer bytes arrived than announced, or the end is missing. Mandelbot does not "
        "crawl the site until the whole file arrives; a robot that reads half of it "
        "ignores the other rules.",
    ),
    FindingKind(
        "no-content-type",
        Severity.NOTE,
        "There is no Content-Type.",
        "The standard requires text/plain; without a type, robots guess.",
    ),
    FindingKind(
        "not-text-plain",
        Severity.WARNING,
        "The Content-Type is not text/plain.",
        "Robots may ignore a file that is not plain text.",
    ),
    FindingKind(
        "charset-not-utf-8",
        Severity.WARNING,
        "The Content-Type names a character set other than UTF-8.",
        "Most robots read UTF-8, whatever the header says: paths outside ASCII match "
        "nothing.",
    ),
    FindingKind(
        "unknown-content-encoding",
        Severity.ERROR,
        "The Content-Encoding is not one of HTTP's usual ones.",
        "Robots that cannot decode the file read noise: no rule counts.",
    ),
    FindingKind(
        "not-encoded",
        Severity.ERROR,
        "The body is not encoded as the Content-Encoding says.",
        "Clients that decode the file find an error and no file: some robots stop "
        "crawling the site, others treat it as allowed.",
    ),
    # The whole file.
    FindingKind(
        "empty-file",
        Severity.NOTE,
        "The file has no directives.",
        "All robots treat the whole site as allowed.",
    ),
    FindingKind(
        "binary-file",
        Severity.ERROR,
        "The file is not text.",
        "Robots find no line that they can read: the whole site is allowed.",
    ),
    FindingKind(
        "broken-off",
        Severity.WARNING,
        "The file ends in the middle of a line.",
        "It was truncated in transit or when it was written: rules are missing.",
    ),
    FindingKind(
        "html-page",
        Severity.ERROR,
        "The file is a web page.",
        "Probably an error page with status 200. Robots ignore its lines: the whole "
        "site is allowed.",
    ),
    FindingKind(
        "too-large",
        Severity.ERROR,
        "The file is larger than robots read.",
        "Google reads 500 KiB, the least that RFC 9309 requires: what follows does not "
        "count.",
    ),
    FindingKind(
        "byte-order-mark",
        Severity.WARNING,
        "The file begins with a byte-order mark.",
        "Robots that do not know it do not recognise the first line, often a "
        "User-agent.",
    ),
    FindingKind(
        "utf-16",
        Severity.ERROR,
        "The file is UTF-16.",
        "Robots expect UTF-8; most find no line that they can read.",
    ),
    FindingKind(
        "not-utf-8",
        Severity.WARNING,
        "There are bytes that are not UTF-8.",
        "Robots drop, replace or escape them: the path that is matched differs between "
        "robots.",
    ),
    FindingKind(
        "control-character",
        Severity.WARNING,
        "There is a control character in a line.",
        "Google's robots end the line at a NUL, and many robots match nothing with a "
        "rule that ends with one; with any other, the value is not what it looks like.",
    ),
    FindingKind(
        "odd-line-end",
        Severity.WARNING,
        "There is a line separator that robots do not recognise.",
        "Lines end with CR, LF or both (RFC 9309): what follows belongs to the same "
        "line.",
    ),
    FindingKind(
        "carriage-returns",
        Severity.NOTE,
        "Lines end with a lone CR.",
        "The documents allow it, but simple robots know only LF and read the file as "
        "one line.",
    ),
    FindingKind(
        "mixed-line-ends",
        Severity.NOTE,
        "The file mixes line endings.",
        "Harmless to robots that follow the documents; often the mark of a file "
        "assembled by a program.",
    ),
    FindingKind(
        "long-line",
        Severity.ERROR,
        "A line is longer than 16,663 bytes.",
        "Google's robots cut it there: the shorter path that remains matches more.",
    ),
    # Lines.
    FindingKind(
        "missing-colon",
        Severity.ERROR,
        "There is no colon after the field.",
        "Google's robots and Protego, Scrapy's parser, read such a line; most others "
        "ignore it.",
    ),
    FindingKind(
        "semicolon-for-colon",
        Severity.ERROR,
        "There is a semicolon, or another sign, instead of the colon.",
        "Robots ignore such a line; Google's read it where white space follows the "
        "sign.",
    ),
    FindingKind(
        "not-a-directive",
        Severity.WARNING,
        "A line is neither a directive nor a comment.",
        "Robots skip it, but some end the group there; a comment begins with #.",
    ),
    FindingKind(
        "no-field",
        Severity.WARNING,
        "There is nothing before the colon.",
        "Robots skip the line.",
    ),
    FindingKind(
        "misspelt-field",
        Severity.ERROR,
        "A field is misspelt.",
        "Most robots skip the line; Google's and Protego, Scrapy's parser, know some "
        "misspellings.",
    ),
    FindingKind(
        "unknown-field",
        Severity.NOTE,
        "No known robot reads this field.",
        "Robots skip the line, and those of 2008 end a run of User-agent lines there.",
    ),
    FindingKind(
        "noindex",
        Severity.WARNING,
        "A field about indexing does not work in robots.txt.",
        "No search engine has read it since 2019 (Google): use a robots meta tag or "
        "X-Robots-Tag.",
    ),
    FindingKind(
        "no-value",
        Severity.WARNING,
        "The value is missing.",
        "Robots skip the line.",
    ),
    FindingKind(
        "several-directives",
        Severity.ERROR,
        "There are several directives in one line.",
        "Robots read all that follows the first colon as its value: the path matches "
        "nothing.",
    ),
    FindingKind(
        "invisible-character",
        Severity.ERROR,
        "A value holds a character that nobody sees.",
        "To Google and robots that follow RFC 9309 it is a part of the value, which is "
        "then another. Parsers in Python remove it if it is a kind of space.",
    ),
    FindingKind(
        "space-before-colon",
        Severity.NOTE,
        "There is white space before the colon.",
        "Robots that follow RFC 9309 ignore it; simple robots do not recognise the "
        "field.",
        most=1,
    ),
    FindingKind(
        "comment-after-directive",
        Severity.NOTE,
        "A comment follows a directive in the same line.",
        "The standard allows it, and Moderatobot moves it up: simple robots read it as "
        "part of the value.",
        most=1,
    ),
    FindingKind(
        "hash-without-space",
        Severity.WARNING,
        "A # follows the value without a space.",
        "To robots that follow RFC 9309 the value ends there (/#a is /, the whole "
        "site); to robots of the extended standard it continues.",
    ),
    # Who may fetch nothing.
    FindingKind(
        "closed-to-robot",
        Severity.ERROR,
        "A robot may fetch nothing, probably by mistake.",
        "Its own group has other lines, or none; Google and robots that follow RFC "
        "9309 merge it with the next group, and obey that group's Disallow.",
    ),
    FindingKind(
        "merged-with-next",
        Severity.WARNING,
        "A robot may share a group that closes everything.",
        "Robots that follow RFC 9309 merge the groups of a robot, and a group without "
        "rules with the next one; others may not, such as those that read Crawl-delay "
        "or end a group at a blank line.",
    ),
    FindingKind(
        "closed-to-all",
        Severity.WARNING,
        "No robot may fetch anything.",
        "Search engines, too, drop what they may not fetch. Google's robots for "
        "advertisements obey only groups that name them. If this is intended, add "
        '"# mandelbot: ignore closed-to-all".',
    ),
    # Groups.
    FindingKind(
        "directive-outside-group",
        Severity.ERROR,
        "A directive stands before any User-agent.",
        "It applies to no robot.",
    ),
    FindingKind(
        "blank-line-in-group",
        Severity.NOTE,
        "A directive follows a blank line within a group.",
        "Robots of the 1994 standard and Moderatobot end the group there, and ignore "
        "it; robots that follow RFC 9309 read on.",
    ),
    FindingKind(
        "blank-line-between-agents",
        Severity.WARNING,
        "There is a blank line between User-agent lines of a group.",
        "Robots of the 1994 and the extended standard end the group there: the robots "
        "named before the line have no rules.",
    ),
    FindingKind(
        "agents-apart",
        Severity.WARNING,
        "A directive stands between User-agent lines of a group.",
        "Robots that follow RFC 9309 apply the rules that follow to all of these "
        "robots; others end the group at the directive, and the robots named before it "
        "have no rules.",
    ),
    FindingKind(
        "no-blank-line-before-group",
        Severity.NOTE,
        "There is no blank line before a group.",
        "Robots of the 1994 standard may read both groups as one; robots that follow "
        "RFC 9309 do not.",
        most=1,
    ),
    FindingKind(
        "repeated-agent",
        Severity.WARNING,
        "A robot is named more than once.",
        "Robots that follow RFC 9309 merge the groups, those of the older standards "
        "obey only the first.",
    ),
    FindingKind(
        "repeated-star",
        Severity.NOTE,
        "There are several groups for *, and no rule of one meets one of another.",
        "Robots that follow RFC 9309, Google's and Protego among them, obey all of "
        "them; those of the older standards obey only the first.",
    ),
    FindingKind(
        "last-lines-for-one",
        Severity.WARNING,
        "The last lines belong to the last robot alone.",
        "By RFC 9309 neither a blank line nor a comment ends a group: what follows is "
        "not for the other robots. Robots of the 1994 standard ignore it all.",
    ),
    FindingKind(
        "star-before-robots",
        Severity.NOTE,
        "The group for * is not the last.",
        "Robots that stop at the first group that applies would not reach the others; "
        "no dialect of this package, Protego or urllib.robotparser does so.",
        most=1,
    ),
    FindingKind(
        "wide-name-first",
        Severity.NOTE,
        "A group's name is part of a later group's name.",
        "Robots that search for each name within their own obey the first group, not "
        "the more specific one. Robots that follow RFC 9309 compare whole names.",
        most=10,
    ),
    FindingKind(
        "wide-name-last",
        Severity.NOTE,
        "A group's name is part of an earlier group's name.",
        "Robots that search for the first value that contains their name obey the "
        "earlier group (Moderatobot). Robots that follow RFC 9309 compare whole names.",
        most=10,
    ),
    FindingKind(
        "own-group-drops-rules",
        Severity.WARNING,
        "A robot's own group allows what is disallowed for *.",
        "A robot with its own group ignores the group for *: repeat the rules that "
        "should apply to it (SearchTools).",
        most=10,
    ),
    FindingKind(
        "group-without-rules",
        Severity.WARNING,
        "A group has no rules.",
        "Robots that follow RFC 9309 read it as allowing everything; some robots merge "
        "it with the next group, or ignore it.",
    ),
    FindingKind(
        "group-without-disallow",
        Severity.NOTE,
        "A group has no Disallow.",
        "The standard requires at least one; robots that do not know Allow find an "
        "empty group.",
    ),
    FindingKind(
        "nonstandard-for-all",
        Severity.NOTE,
        "A nonstandard directive stands in the group for *.",
        "Robots differ in what they make of it: it is safer in the groups of robots "
        "that know it.",
        most=1,
    ),
    # User-agent.
    FindingKind(
        "empty-agent",
        Severity.ERROR,
        "A User-agent has no name.",
        "It applies to no robot, but to all in urllib.robotparser before 3.13.14.",
    ),
    FindingKind(
        "star-in-agent",
        Severity.WARNING,
        "A User-agent begins with * and goes on.",
        "The standard knows only a * by itself: Google's robots obey no such group. Of "
        "the other parsers compared, only Protego reads the name that follows.",
    ),
    FindingKind(
        "name-for-all",
        Severity.ERROR,
        "A User-agent is a word for all robots.",
        "All robots are * alone: no robot obeys this group.",
    ),
    FindingKind(
        "quoted-name",
        Severity.ERROR,
        "A User-agent is in quotes or brackets.",
        "They are a part of the name: no robot obeys this group.",
    ),
    FindingKind(
        "agent-is-header",
        Severity.WARNING,
        "A User-agent is a whole header.",
        "Robots look for their name: to robots that follow RFC 9309 it ends at the "
        "first slash or space.",
    ),
    FindingKind(
        "several-names",
        Severity.ERROR,
        "A User-agent names several robots.",
        "Write one line per name: robots that follow RFC 9309 read the first at most.",
    ),
    FindingKind(
        "space-in-agent",
        Severity.WARNING,
        "A User-agent's name contains a space.",
        "To robots that follow RFC 9309 the name ends at the space.",
    ),
    FindingKind(
        "agent-with-version",
        Severity.NOTE,
        "A User-agent's name has a version.",
        "Robots that follow RFC 9309 read up to the slash; others look for the whole "
        "value within their name.",
    ),
    FindingKind(
        "agent-characters",
        Severity.NOTE,
        "A User-agent's name contains more than letters, - and _.",
        "RFC 9309 allows no others: Google's parser reads the name up to there.",
        most=10,
    ),
    FindingKind(
        "misspelt-agent",
        Severity.WARNING,
        "A User-agent looks like the misspelt name of a known robot.",
        "Robots do not recognise misspelt names (SearchTools): the robot obeys another "
        "group.",
    ),
    # Allow and Disallow.
    FindingKind(
        "empty-allow",
        Severity.WARNING,
        "An Allow has no path.",
        "Robots that follow RFC 9309 ignore it; some read it as Disallow: /.",
    ),
    FindingKind(
        "empty-disallow-first",
        Severity.NOTE,
        "An empty Disallow stands before other rules.",
        "It allows everything: robots that obey the first matching rule, such as "
        "Python's urllib.robotparser before 3.13.14, never reach the rules after it. "
        "Robots that follow RFC 9309 ignore it.",
    ),
    FindingKind(
        "allow-all",
        Severity.NOTE,
        "An Allow matches everything.",
        "Everything is allowed by default; and robots that obey the first matching "
        "rule read no further.",
    ),
    FindingKind(
        "no-leading-slash",
        Severity.ERROR,
        "A path does not begin with a slash.",
        "Some robots ignore the rule; to others it matches nothing.",
    ),
    FindingKind(
        "host-in-path",
        Severity.WARNING,
        "A path begins with the host of the site.",
        "A path is relative to the site's root: it matches only URLs with the host "
        "twice.",
    ),
    FindingKind(
        "parameter-as-path",
        Severity.WARNING,
        "A path is a parameter of a query.",
        "A query begins with ? behind a path: without it, and without a wildcard, the "
        "rule matches no URL with this parameter.",
    ),
    FindingKind(
        "ends-with-punctuation",
        Severity.WARNING,
        "A path ends with a comma or a semicolon.",
        "It is a part of the path: the rule matches only URLs that have it, too.",
    ),
    FindingKind(
        "leading-star",
        Severity.NOTE,
        "A path begins with *.",
        "A path must begin with a slash (RFC 9309); Google and others read it "
        "nevertheless.",
    ),
    FindingKind(
        "double-slash",
        Severity.WARNING,
        "A path begins with two slashes.",
        "Robots match only URLs that have both: the page with one slash stays as it "
        "is.",
    ),
    FindingKind(
        "only-slashes",
        Severity.NOTE,
        "A path is made of slashes.",
        "Robots match only URLs whose path begins with as many slashes.",
    ),
    FindingKind(
        "full-url",
        Severity.ERROR,
        "A path is a whole URL.",
        "A path is relative to the site's root. Some robots apply the rule to the host "
        "that it names; to Google, Protego and robots that follow RFC 9309 it matches "
        "nothing.",
    ),
    FindingKind(
        "wildcard",
        Severity.NOTE,
        "A path contains * or ends with $.",
        "Robots of the 1994 standard compare the characters literally, so that the "
        "rule matches nothing.",
        most=1,
    ),
    FindingKind(
        "redundant-star",
        Severity.NOTE,
        "A path ends with a redundant *.",
        "A path matches whatever begins with it. The * changes the path's length, and "
        "so its precedence; to robots of the 1994 standard the rule matches nothing.",
        most=10,
    ),
    FindingKind(
        "dollar-inside",
        Severity.WARNING,
        "There is a $ that is not at the end.",
        "Only at the end does $ mean the end of the URL; elsewhere it is a dollar "
        "sign.",
    ),
    FindingKind(
        "regular-expression",
        Severity.WARNING,
        "A path looks like a regular expression.",
        "Robots know only * and $; they compare the rest literally.",
    ),
    FindingKind(
        "robots-txt-in-rule",
        Severity.WARNING,
        "A rule matches /robots.txt itself.",
        "The file is always allowed and must not appear in rules; Google's robots obey "
        "such a rule like any other.",
    ),
    FindingKind(
        "costly-wildcards",
        Severity.WARNING,
        "A robot has too many rules with wildcards for long URLs.",
        "Crawlers built with this package do not compare them: URLs whose path has "
        "more characters than 500,000 divided by the number of these rules are "
        "forbidden.",
        most=1,
    ),
    FindingKind(
        "index-page",
        Severity.NOTE,
        "An Allow names an index page.",
        "Google's robots apply it to the directory, too: /a/index.html allows /a/. To "
        "all others it is only the page.",
        most=10,
    ),
    FindingKind(
        "space-in-path",
        Severity.WARNING,
        "There is a space in a path.",
        "A URL has %20 instead: to many robots the path ends at the space or matches "
        "nothing.",
    ),
    FindingKind(
        "unescaped-character",
        Severity.NOTE,
        "A path contains characters that must be escaped.",
        "URLs are ASCII: robots that follow RFC 9309 escape the characters as UTF-8, "
        "to others they match nothing. Google recommends to write the escapes (its "
        "changelog of crawling, 23 October 2026).",
    ),
    FindingKind(
        "bad-escape",
        Severity.WARNING,
        "A percent sign begins no escape.",
        "A literal percent sign is written %25; robots differ in what they make of "
        "this one.",
    ),
    FindingKind(
        "capitals-in-path",
        Severity.NOTE,
        "A path is in capitals.",
        "Paths are case-sensitive (SearchTools): /PRIVATE does not match /private.",
        most=10,
    ),
    FindingKind(
        "duplicate-rule",
        Severity.NOTE,
        "A rule is repeated.",
        "The second changes nothing.",
    ),
    FindingKind(
        "tie",
        Severity.WARNING,
        "An Allow and a Disallow have the same path.",
        "Allow wins with robots that follow RFC 9309; with robots of the 1994 "
        "standard, the first.",
    ),
    FindingKind(
        "allow-loses",
        Severity.NOTE,
        "An Allow is no longer than an overlapping Disallow with wildcards.",
        "The longer matching rule decides, wildcards included (RFC 9309): the Allow "
        "loses, or wins only a tie; with robots that do not know wildcards it always "
        "holds.",
        most=10,
    ),
    FindingKind(
        "explicit-match",
        Severity.WARNING,
        "A path in a group of version 2.0 has no pattern character.",
        "To robots of the extended standard it is one page: Disallow: / closes only "
        "the root, Disallow: /* the site. To all others it closes whatever begins with "
        "it.",
        most=10,
    ),
    FindingKind(
        "unreachable-rule",
        Severity.NOTE,
        "A rule never decides.",
        "Another rule, at least as long, matches all that it matches (RFC 9309).",
    ),
    FindingKind(
        "closed-already",
        Severity.WARNING,
        "A rule is in a group that closes the whole site.",
        "It changes nothing there; it may be meant for another group.",
    ),
    FindingKind(
        "allow-after-disallow",
        Severity.NOTE,
        "An Allow follows a Disallow that covers it.",
        "Robots that obey the first matching rule never reach it. Moved to the front "
        "it works for all; only normalize --only moves it: that opens what those "
        "robots do not fetch.",
        most=10,
    ),
    FindingKind(
        "allow-before-disallow",
        Severity.NOTE,
        "An Allow covers a Disallow that follows it.",
        "Robots that obey the first matching rule never reach the Disallow: they fetch "
        "what it closes.",
        most=10,
    ),
    # Crawl-delay.
    FindingKind(
        "bad-crawl-delay",
        Severity.ERROR,
        "A Crawl-delay is not a number of seconds.",
        "Robots ignore it.",
    ),
    FindingKind(
        "crawl-delay-not-whole",
        Severity.NOTE,
        "A Crawl-delay is not a positive whole number.",
        "Most robots that read the field accept no other.",
    ),
    FindingKind(
        "long-crawl-delay",
        Severity.WARNING,
        "A Crawl-delay is longer than 30 seconds.",
        "Some robots accept 1 to 30; others hardly ever crawl the site.",
    ),
    FindingKind(
        "several-crawl-delays",
        Severity.WARNING,
        "A group has several Crawl-delays.",
        "Robots obey the first, the last or the longest.",
    ),
    # Sitemap.
    FindingKind(
        "relative-sitemap",
        Severity.ERROR,
        "A Sitemap is not an absolute URL.",
        "sitemaps.org requires the full URL: many robots ignore any other.",
    ),
    FindingKind(
        "sitemap-not-alone",
        Severity.ERROR,
        "A Sitemap has more than one URL, or signs around it.",
        "Robots take all of the value for the URL; some, this package among them, read "
        "the URLs in it.",
    ),
    FindingKind(
        "sitemap-extension",
        Severity.NOTE,
        "A Sitemap's name ends neither with .xml nor with .xml.gz.",
        "Moderatobot requires these; some robots read a text file or a feed.",
    ),
    FindingKind(
        "sitemap-is-directory",
        Severity.NOTE,
        "A Sitemap ends with a slash.",
        "A directory is not a file.",
    ),
    FindingKind(
        "sitemap-in-group",
        Severity.NOTE,
        "A Sitemap stands within a group.",
        "It applies to all robots wherever it stands, but some end the group there: "
        "write it after all groups.",
    ),
    FindingKind(
        "repeated-sitemap",
        Severity.NOTE,
        "A Sitemap is repeated.",
        "The second changes nothing.",
    ),
    # Host and Clean-param.
    FindingKind(
        "several-hosts",
        Severity.WARNING,
        "There are several Hosts.",
        "Yandex reads the first one.",
    ),
    FindingKind(
        "host-not-a-name",
        Severity.NOTE,
        "A Host is more than a host name.",
        "Yandex expects a name, optionally with a port, without scheme and path.",
    ),
    FindingKind(
        "host-not-for-yandex",
        Severity.NOTE,
        "A Host stands outside Yandex's group.",
        "Only Yandex reads it; robots that do not know it may stumble.",
        most=10,
    ),
    FindingKind(
        "clean-param-not-for-yandex",
        Severity.NOTE,
        "A Clean-param stands outside Yandex's group.",
        "Only Yandex reads it; robots that do not know it may stumble.",
        most=10,
    ),
    FindingKind(
        "yandex-field-not-last",
        Severity.NOTE,
        "A Host or Clean-param is not at the end of Yandex's group.",
        "Robots that end the group there miss what follows: write it after the rules.",
        most=10,
    ),
    FindingKind(
        "space-in-clean-param",
        Severity.WARNING,
        "The parameters of a Clean-param are separated by a space.",
        "Yandex reads parameters separated by &, and behind a space the path that they "
        "are for.",
    ),
    FindingKind(
        "long-clean-param",
        Severity.ERROR,
        "A Clean-param is longer than 500 characters.",
        "Yandex ignores it.",
    ),
    FindingKind(
        "dropped-field",
        Severity.NOTE,
        "The robot that this field was for no longer reads it.",
        "Yandex stopped reading Crawl-delay in February 2018 and Host in March 2018; "
        "Google's robots read no Crawl-delay. Others may still read it.",
    ),
    # The extended standard 2.0.
    FindingKind(
        "misplaced-robot-version",
        Severity.WARNING,
        "Robot-version does not follow the User-agent lines directly.",
        "Robots of the extended standard then read the group as 1.0.",
    ),
    FindingKind(
        "bad-robot-version",
        Severity.ERROR,
        "Robot-version is neither 1.0 nor 2.0.",
        "Robots of the extended standard skip the group, or read it as 1.0.",
    ),
    FindingKind(
        "repeated-robot-version",
        Severity.WARNING,
        "A group has several Robot-versions.",
        "Only one is allowed; the first counts.",
    ),
    FindingKind(
        "version-2-undeclared",
        Severity.NOTE,
        "A version 2.0 directive stands in a group of version 1.0.",
        "Robots of the extended standard ignore it there; some others read it.",
    ),
    FindingKind(
        "bad-request-rate",
        Severity.ERROR,
        "A Request-rate is not as documented.",
        "Most robots ignore it. Write documents/seconds, optionally with a unit and "
        "times: 10/60, 1/10m 1300-1659.",
    ),
    FindingKind(
        "bad-visit-time",
        Severity.ERROR,
        "A Visit-time is not as documented.",
        "Most robots ignore it. Write two times of day in UTC: 0600-0845.",
    ),
    # Of the use of pages.
    FindingKind(
        "bad-content-usage",
        Severity.ERROR,
        "A Content-Usage cannot be read.",
        "Write a Dictionary such as train-ai=n, search=y, optionally after a path; "
        "robots ignore values other than y and n.",
    ),
    FindingKind(
        "bad-content-signal",
        Severity.ERROR,
        "A Content-Signal cannot be read.",
        "search, ai-input and ai-train are yes or no, use is immediate, reference or "
        "full; robots ignore anything else.",
    ),
    FindingKind(
        "older-usage",
        Severity.WARNING,
        "A refusal is in the form of an older draft.",
        "Robots that follow the documents in force skip it: write their form, too.",
    ),
    FindingKind(
        "read-as-rule",
        Severity.ERROR,
        "Google takes a field for Allow or Disallow.",
        "Google's parser reads a field that begins with Allow or Disallow as Allow or "
        "Disallow, so that its robots fetch more or less than the file means.",
    ),
    FindingKind(
        "unknown-usage",
        Severity.WARNING,
        "No document in force defines this use.",
        "Robots skip it. A permission counts only in a form that is in force, and a "
        "name of an older draft (ai, bots) allows nothing.",
    ),
    FindingKind(
        "usage-contradiction",
        Severity.WARNING,
        "A use is both allowed and refused.",
        "For robots that read both, the refusal wins (draft-ietf-aipref-vocab); those "
        "that read one field obey that field.",
    ),
    FindingKind(
        "own-group-drops-usage",
        Severity.WARNING,
        "A use is refused to all robots, but not to one with its own group.",
        "A robot with its own group ignores the group for *, and what it says of the "
        "use of pages: repeat the statement.",
        most=10,
    ),
    FindingKind(
        "groups-contradict",
        Severity.WARNING,
        "Two groups for a robot allow and disallow the same path.",
        "Robots that follow RFC 9309 merge the groups, and Allow wins; those of the "
        "older standards read only the first group.",
    ),
    FindingKind(
        "relative-license",
        Severity.ERROR,
        "A License is not an absolute URL.",
        "RSL requires the full URL, with scheme and host: robots ignore any other.",
    ),
    FindingKind(
        "managed-block",
        Severity.NOTE,
        "The file contains Cloudflare's managed block.",
        "Robots that follow RFC 9309 merge its groups with the owner's; those of the "
        "older standards read only the first group with their name, the block's.",
    ),
)

#: Every finding there is, by its code.
FINDINGS: Mapping[str, FindingKind] = MappingProxyType(
    {kind.code: kind for kind in _ROWS}
)
