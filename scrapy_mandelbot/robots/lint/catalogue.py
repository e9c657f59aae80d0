"""What can be found in a robots.txt and its delivery: one table, a row a finding.

``docs/findings.rst`` shows an example of each. The documents are Mandelbot's page "Support for
robots.txt", Moderatobot's "Checking robots.txt theory", SearchTools' "About Robots.txt" (2008), "An
Extended Standard for Robot Exclusion", RFC 9309, and what Google's parser does.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple


class Severity(enum.IntEnum):
    """How bad it is; the worse is the greater."""

    NOTE = 1
    """Some robots read it otherwise, or it is not needed."""
    WARNING = 2
    """Robots differ in what they do, or it does less than it seems to."""
    ERROR = 3
    """Robots do not do what the file seems to ask for."""

    def __str__(self) -> str:
        return self.name.lower()


class Consequence(enum.IntEnum):
    """What it does, in the order in which findings are told."""

    SHUTS_OUT = 0
    """Robots are kept out of what seems to be meant to be open."""
    LETS_IN = 1
    """Robots come to what seems to be meant to be closed, or to all of the site."""
    IS_UNREAD = 2
    """Some or all robots do not read it, or read another thing."""
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
    """So many are listed one by one; the last of them tells how many more there are."""

    @property
    def consequence(self) -> Consequence:
        """What it does."""
        return _CONSEQUENCES.get(self.code, Consequence.IS_UNREAD)

    @property
    def rank(self) -> tuple[bool, Consequence, int]:
        """Where it is told: notes last, by what it does, the worse first."""
        return self.severity is Severity.NOTE, self.consequence, -self.severity


@dataclass(frozen=True, slots=True)
class Finding:
    """Something found in a file or its delivery. Its text is a line for a terminal."""

    code: str
    severity: Severity
    line: int | None
    """From 1; None: it is about the whole file or its delivery."""
    message: str
    """A sentence: what is wrong here."""
    more: int = 0
    """As many more like this follow, which are not listed."""

    @property
    def why(self) -> str:
        """Why it matters, and to which robots."""
        return FINDINGS[self.code].why

    def __str__(self) -> str:
        where = "" if self.line is None else f"line {self.line}: "
        more = f" (and {self.more} more like this)" if self.more else ""
        return f"{where}{self.severity}: {self.message} [{self.code}]{more}"


_WHAT_THEY_DO = {
    Consequence.SHUTS_OUT: """
        allow-after-disallow allow-loses closed-to-all closed-to-robot empty-allow
        hash-without-space long-crawl-delay long-line robots-txt-in-rule status-forbids
        status-server-error status-too-many-requests too-slow
    """,
    Consequence.LETS_IN: """
        agents-apart allow-all allow-before-disallow binary-file blank-line-between-agents
        blank-line-in-group broken-off empty-disallow-first empty-file explicit-match
        group-without-rules groups-contradict html-page incomplete index-page many-redirects
        name-in-capitals not-encoded only-in-capitals own-group-drops-rules repeated-agent
        status-client-error status-not-found tie too-large too-many-redirects unfinished-redirect
        unknown-content-encoding utf-16 wrong-location
    """,
    Consequence.IS_STYLE: """
        agent-with-version capitals-in-path comment-after-directive dropped-field duplicate-rule
        group-without-disallow leading-star managed-block mixed-line-ends
        no-blank-line-before-group no-content-type nonstandard-for-all redundant-star
        repeated-sitemap sitemap-extension sitemap-in-group space-before-colon
    """,
}
_CONSEQUENCES = {code: does for does, codes in _WHAT_THEY_DO.items() for code in codes.split()}

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

_ROWS: tuple[tuple[str, Severity, str, str] | tuple[str, Severity, str, str, int], ...] = (
    # The delivery.
    ("wrong-location", _E, "The file is not where robots look for it.",
     ("Every robot asks for /robots.txt in the root directory of each scheme, host and port, and "
      "nowhere else.")),
    ("name-in-capitals", _W, "The file's name is not in lower case.",
     "Robots ask for /robots.txt; a server that tells capitals apart answers 404."),
    ("only-in-capitals", _E, "The file is there under a name in capitals alone.",
     "Every robot asks for /robots.txt, in lower case: to all of them there is no file."),
    ("other-site", _N, "The file came from another site.",
     ("Mandelbot and RFC 9309 follow redirects to other sites, and the file is about the site "
      "that was asked; some robots do not follow.")),
    ("many-redirects", _W, "There are five redirects or more.",
     "Some robots, Google's too, give up after five and take it that there is no file."),
    ("too-many-redirects", _E, "There are more than ten redirects.",
     ("Robots give up, Mandelbot too, which follows ten, and take it that there is no file: "
      "everything is allowed.")),
    ("unfinished-redirect", _E, "The last answer is a redirect that leads nowhere.",
     "Robots take it that there is no file: everything is allowed."),
    ("status-not-200", _W, "The status is a success, but not 200.",
     "Some robots read the file at 200 only, and take any other status for no file at all."),
    ("status-forbids", _W, "The status is 401 or 403.",
     ("To robots of the 1994 standard the whole site is forbidden; to Mandelbot, Google and RFC "
      "9309 all of it is allowed.")),
    ("status-not-found", _N, "There is no file.",
     ("To all robots the whole site is allowed; an empty file says the same without errors in "
      "logs.")),
    ("status-client-error", _W, "The status is a client error.",
     "Most robots take it for no file and the whole site for allowed; some do not."),
    ("status-too-many-requests", _E, "The status is 429.",
     "Some robots stay away for a while, others take it for no file and the site for allowed."),
    ("status-server-error", _E, "The status is a server error.",
     ("Robots leave the site alone until the file can be had again; Google's for days, and some "
      "crawl as if everything were allowed.")),
    ("status-unknown", _E, "The status is none that robots know.",
     "No document says what a robot makes of it."),
    ("slow", _W, "The file took 5 seconds or longer.",
     "Robots wait for a time that they do not tell; Moderatobot calls 5 seconds slow."),
    ("too-slow", _E, "The file took 10 seconds or longer.",
     "Moderatobot waits for 10 seconds; robots that give up take the site for unavailable."),
    ("incomplete", _E, "The file broke off on its way.",
     ("Fewer bytes came than were announced, or the last of them never did. Mandelbot leaves the "
      "site alone until all of it comes; a robot that reads the half does what the rest forbids.")),
    ("no-content-type", _N, "There is no Content-Type.",
     "The standard asks for text/plain; a robot that is told nothing has to guess."),
    ("not-text-plain", _W, "The Content-Type is not text/plain.",
     "Robots may ignore a file that is no plain text."),
    ("charset-not-utf-8", _W, "The Content-Type names a character set that is not UTF-8.",
     "Most robots read UTF-8, whatever the header says: paths outside ASCII match nothing."),
    ("unknown-content-encoding", _E, "The Content-Encoding is not one of HTTP's usual ones.",
     "Robots that cannot decode the file read noise: no rule counts."),
    ("not-encoded", _E, "The Content-Encoding names what the file is not.",
     ("Clients that decode the file find an error and no file: some robots then leave the site "
      "alone, others take all of it for allowed.")),
    # The whole file.
    ("empty-file", _N, "The file says nothing.",
     "To all robots the whole site is allowed."),
    ("binary-file", _E, "The file is no text.",
     "Robots find no line in it that they can read: the whole site is allowed."),
    ("broken-off", _W, "The file breaks off in the middle of a line.",
     "It was cut on the way, or when it was written: rules are missing."),
    ("html-page", _E, "The file is a web page.",
     ("An error page with status 200, most likely. Robots ignore its lines: the whole site is "
      "allowed.")),
    ("too-large", _E, "The file is larger than what is read.",
     ("Google reads 500 KiB, and RFC 9309 asks robots for no more: what comes later does not "
      "count.")),
    ("byte-order-mark", _W, "The file begins with a byte-order mark.",
     "Robots that do not know it do not recognise the first line, often a User-agent."),
    ("utf-16", _E, "The file is UTF-16.",
     "Robots expect UTF-8; most find no line in it that they can read."),
    ("not-utf-8", _W, "There are octets that are not UTF-8.",
     "Robots drop, replace or escape them: the path that is matched differs from robot to robot."),
    ("control-character", _W, "There is a control character in a line.",
     "Google's robots end the line at a NUL; with any other the value is not what it looks like."),
    ("odd-line-end", _W, "There is a line separator that robots do not take for one.",
     "Lines end with CR, LF or both (Mandelbot, RFC 9309): what follows belongs to the same line."),
    ("carriage-returns", _N, "Lines end with a lone CR.",
     "The documents allow it, but simple robots know LF alone and read the file as one line."),
    ("mixed-line-ends", _N, "Lines do not all end alike.",
     "Harmless to robots of the documents; often a sign of a file put together by a program."),
    ("long-line", _E, "A line is longer than 16,663 bytes.",
     "Google's robots cut it there: what is left is a shorter path, which matches more."),
    # Lines.
    ("missing-colon", _E, "There is no colon after the field.",
     "Only Google's robots read such a line; to all others it does not exist."),
    ("semicolon-for-colon", _E, "There is a semicolon, or another sign, where the colon belongs.",
     "No robot reads such a line."),
    ("not-a-directive", _W, "A line is neither a directive nor a comment.",
     "Robots skip it, but some take it for the end of a group; a comment begins with #."),
    ("no-field", _W, "There is nothing before the colon.",
     "Robots skip the line."),
    ("misspelt-field", _E, "A field is misspelt.",
     "Robots skip the line; only Google's know a few of the misspellings."),
    ("unknown-field", _N, "No robot known here reads this field.",
     "Robots skip the line, and those of 2008 take it for the end of a run of User-agent lines."),
    ("noindex", _W, "A field that tells what to index does not work in robots.txt.",
     ("No search engine reads it any more (Google until 2019): use a robots meta tag or "
      "X-Robots-Tag.")),
    ("no-value", _W, "The value is missing.",
     "Robots skip the line."),
    ("several-directives", _E, "There are several directives in one line.",
     "Robots take all that follows the first colon for its value; the path matches nothing."),
    ("space-before-colon", _N, "There is white space before the colon.",
     "Mandelbot and Google ignore it; simple robots do not recognise the field.", 1),
    ("comment-after-directive", _N, "A comment follows a directive in the same line.",
     "The standard allows it and Moderatobot moves it up: simple robots read it as the value.", 1),
    ("hash-without-space", _W, "A # follows the value without a space.",
     ("To Mandelbot and Google the value ends there (/#a is /, the whole site); to robots of the "
      "extended standard it goes on.")),
    # Who may fetch nothing.
    ("closed-to-robot", _E, "A robot may fetch nothing, and was hardly meant.",
     ("Its own lines say another thing, or none: it reads the Disallow of another robot's group, "
      "as most robots of today read the file.")),
    ("closed-to-all", _W, "No robot may fetch anything.",
     ("Search engines, too, drop what they may not fetch in time. Where that is meant, "
      '"# robots: ignore closed-to-all" says so.')),
    # Groups.
    ("directive-outside-group", _E, "A directive stands before any User-agent.",
     "It is about no robot: all robots ignore it."),
    ("blank-line-in-group", _W, "A directive follows a blank line within a group.",
     ("To robots of the 1994 standard and Moderatobot the group ended there, and they ignore it; "
      "Mandelbot and Google read on.")),
    ("blank-line-between-agents", _W, "There is a blank line between User-agent lines of a group.",
     ("To robots of the 1994 and the extended standard the group ended there: the robots named "
      "before the line have no rules.")),
    ("agents-apart", _W, "A directive stands between User-agent lines of a group.",
     ("To Mandelbot and Google the rules that follow are for all of these robots; to others the "
      "group ended at the directive, and the robots named before it have no rules.")),
    ("no-blank-line-before-group", _N, "There is no blank line before a group.",
     "Robots of the 1994 standard may read both groups as one; Mandelbot and Google do not.", 1),
    ("repeated-agent", _W, "A robot is named more than once.",
     ("Invalid (Mandelbot's page). Most robots of today merge the groups, those of the older "
      "standards take the first one only.")),
    ("star-before-robots", _W, "The group for * is not the last.",
     "Robots that read from the top stop at the first group that applies, and * always does."),
    ("wide-name-first", _N, "A group's name is a part of a later group's name.",
     ("Robots that look for the first name inside their own take the first group, not the more "
      "specific one; those of the older standards take it where no name is theirs. Mandelbot and "
      "Google compare whole names."), 10),
    ("wide-name-last", _N, "A group's name is a part of an earlier group's name.",
     ("Robots that look for the first value that holds their own name take the earlier group "
      "(Moderatobot); robots of the older standards take this one where no name is theirs. "
      "Mandelbot and Google compare whole names."), 10),
    ("own-group-drops-rules", _N, "A robot's own group leaves open what is closed to *.",
     ("A robot with a group of its own does not read the one for *: what is to hold for it must "
      "be repeated (SearchTools)."), 10),
    ("group-without-rules", _W, "A group has no rules.",
     ("To Mandelbot and Google it allows everything; some robots take it for part of the next "
      "group, or ignore it.")),
    ("group-without-disallow", _N, "A group has no Disallow.",
     "The standard asks for one at least; robots that do not know Allow find an empty group."),
    ("nonstandard-for-all", _N, "A directive that is no standard stands in the group for *.",
     "Robots differ in what they make of it: safer in the groups of robots that know it.", 1),
    # User-agent.
    ("empty-agent", _E, "A User-agent has no name.",
     "The group is about no robot."),
    ("star-in-agent", _W, "A User-agent mixes * with other signs.",
     ("The standard knows * alone; to Mandelbot and Google a name ends there, and where nothing "
      "is before the sign, no robot is meant.")),
    ("agent-is-header", _W, "A User-agent holds a whole header.",
     "Robots look for their name: to Mandelbot and Google it ends at the first slash or space."),
    ("several-names", _E, "A User-agent names several robots.",
     "One name a line: Mandelbot and Google read the first at most."),
    ("space-in-agent", _W, "A User-agent's name has a space in it.",
     "To Mandelbot and Google the name ends at the space."),
    ("agent-with-version", _N, "A User-agent's name has a version.",
     "Mandelbot and Google read up to the slash; others look for the whole inside their name."),
    ("agent-characters", _N, "A User-agent's name holds more than letters, - and _.",
     "RFC 9309 allows no other: Google's parser reads the name up to there.", 10),
    ("misspelt-agent", _W, "A User-agent looks like the name of a known robot, misspelt.",
     "Robots do not recognise misspelt names (SearchTools): the robot meant takes another group."),
    # Allow and Disallow.
    ("empty-allow", _W, "An Allow has no path.",
     "Mandelbot and most robots ignore it; some take it for Disallow: /."),
    ("empty-disallow-first", _W, "An empty Disallow stands before other rules.",
     ("It allows everything: Python's urllib.robotparser and others that take the first rule that "
      "matches never come to the rules after it. To Mandelbot and Google it says nothing.")),
    ("allow-all", _N, "An Allow is about everything.",
     ("Everything is allowed by default; and robots that take the first rule that matches read "
      "no further.")),
    ("no-leading-slash", _E, "A path does not begin with a slash.",
     "Mandelbot ignores the rule; to other robots it matches nothing."),
    ("leading-star", _N, "A path begins with *.",
     ("A path must start with a slash (Mandelbot's page); Mandelbot and Google read it all the "
      "same.")),
    ("full-url", _E, "A path is a whole URL.",
     ("A path is relative to the site's root. Mandelbot reads the URL's path; to Google and "
      "others the rule matches nothing.")),
    ("wildcard", _N, "A path holds * or a final $.",
     ("No part of the 1994 standard: its robots compare the signs as they are, so that the rule "
      "matches nothing."), 1),
    ("redundant-star", _N, "A path ends with * though it need not.",
     ("Every path matches what begins with it. The sign changes the path's length, and so its "
      "precedence; to robots of the 1994 standard the rule matches nothing."), 10),
    ("dollar-inside", _W, "There is a $ that is not at the end.",
     "Only at the end it means the end of the URL; elsewhere it is a dollar."),
    ("regular-expression", _W, "A path looks like a regular expression.",
     "Robots know * and $ alone; all else is compared as it is."),
    ("robots-txt-in-rule", _W, "A rule is about /robots.txt itself.",
     ("The file is always allowed and must not appear in rules; Google's robots read what is "
      "forbidden here as a rule like any other.")),
    ("index-page", _N, "An Allow is about an index page.",
     ("Google's robots take it for the directory, too: /a/index.html allows /a/. To all others it "
      "is the page."), 10),
    ("space-in-path", _W, "There is a space in a path.",
     "A URL has %20 instead: to many robots the path ends at the space or matches nothing."),
    ("unescaped-character", _N, "A path holds characters that must be escaped.",
     "URLs are ASCII: Mandelbot and Google escape the characters as UTF-8, others match nothing."),
    ("bad-escape", _W, "A percent sign begins no escape.",
     "A plain percent sign is written %25; robots differ in what they make of this one."),
    ("capitals-in-path", _N, "A path is in capitals.",
     "Paths are case-sensitive (SearchTools): /PRIVATE does not match /private.", 10),
    ("duplicate-rule", _N, "A rule is there twice.",
     "The second changes nothing."),
    ("tie", _W, "An Allow and a Disallow have the same path.",
     "Allow wins with Mandelbot and Google; with robots of the 1994 standard, the first."),
    ("allow-loses", _N, "An Allow is no longer than a Disallow with wildcards that it may meet.",
     ("Of two rules that match, the longer decides, and wildcards count (Mandelbot, Google): the "
      "Allow loses, or wins a tie by its kind alone; with robots that do not know wildcards it "
      "always holds."), 10),
    ("explicit-match", _W, "A path in a group of version 2.0 has no pattern character.",
     ("To robots of the extended standard it is one page: Disallow: / closes the root alone, "
      "Disallow: /* the site. To all others it closes what begins with it."), 10),
    ("unreachable-rule", _N, "A rule never decides.",
     "Another, which is longer or as long, matches all that it matches (Mandelbot, Google)."),
    ("allow-after-disallow", _N, "An Allow follows a Disallow that covers it.",
     ("Robots that take the first rule that matches never reach it. In front it serves all; "
      "fix moves it with --only alone, as it opens what those robots keep out of."), 10),
    ("allow-before-disallow", _W, "An Allow covers a Disallow that comes after it.",
     ("Robots that take the first rule that matches never come to the Disallow: what it closes is "
      "open to them."), 10),
    # Crawl-delay.
    ("bad-crawl-delay", _E, "A Crawl-delay is no number of seconds.",
     "Robots ignore it."),
    ("crawl-delay-not-whole", _N, "A Crawl-delay is not a positive whole number.",
     "Most robots that read the field accept no other."),
    ("long-crawl-delay", _W, "A Crawl-delay is longer than 30 seconds.",
     "Some robots accept 1 to 30; with others the site is hardly ever read."),
    ("several-crawl-delays", _W, "A group has several Crawl-delays.",
     "Robots take the first, the last or the longest."),
    # Sitemap.
    ("relative-sitemap", _E, "A Sitemap is not an absolute URL.",
     "sitemaps.org asks for the full URL: robots ignore any other."),
    ("sitemap-extension", _N, "A Sitemap's name ends neither with .xml nor with .xml.gz.",
     "Moderatobot asks for these; a text file or feed is read by some robots."),
    ("sitemap-is-directory", _W, "A Sitemap ends with a slash.",
     "That names no file."),
    ("sitemap-in-group", _N, "A Sitemap stands within a group.",
     ("It is about all robots wherever it stands, but some take it for the end of the group: "
      "best after all groups.")),
    ("repeated-sitemap", _N, "A Sitemap is there twice.",
     "The second changes nothing."),
    # Host and Clean-param.
    ("several-hosts", _W, "There are several Hosts.",
     "Yandex reads the first one."),
    ("host-not-a-name", _W, "A Host is more than a host name.",
     "Yandex expects a name, with a port if need be, without scheme and path."),
    ("host-not-for-yandex", _N, "A Host stands outside of Yandex's group.",
     "Only Yandex reads it; robots that do not know it may stumble.", 10),
    ("clean-param-not-for-yandex", _N, "A Clean-param stands outside of Yandex's group.",
     "Only Yandex reads it; robots that do not know it may stumble.", 10),
    ("yandex-field-not-last", _N, "A Host or Clean-param is not at the end of Yandex's group.",
     "Robots that take it for the end of a group miss what follows; best after the rules.", 10),
    ("long-clean-param", _E, "A Clean-param is longer than 500 characters.",
     "Yandex ignores it."),
    ("dropped-field", _N, "A field is read no longer by the robot that it was for.",
     ("Yandex reads Crawl-delay until February 2018 and Host until March 2018; Google's robots "
      "read no Crawl-delay. Others may read it still.")),
    # The extended standard 2.0.
    ("misplaced-robot-version", _W, "Robot-version does not follow the User-agent lines at once.",
     "To robots of the extended standard the group is then 1.0."),
    ("bad-robot-version", _E, "Robot-version is neither 1.0 nor 2.0.",
     "Robots of the extended standard pass the group over, or read it as 1.0."),
    ("repeated-robot-version", _W, "A group has several Robot-versions.",
     "Only one is allowed; the first counts."),
    ("version-2-undeclared", _N, "A version 2.0 directive stands in a group that does not say so.",
     "Robots of the extended standard ignore it without Robot-version: 2.0; some others read it."),
    ("bad-request-rate", _E, "A Request-rate cannot be read.",
     "Robots ignore it. It is documents/seconds, or with a unit: 10/60, 1/10m 1300-1659."),
    ("bad-visit-time", _E, "A Visit-time cannot be read.",
     "Robots ignore it. It is two times of the day, UTC: 0600-0845."),
    # Of the use of pages.
    ("bad-content-usage", _E, "A Content-Usage cannot be read.",
     ("It is a Dictionary such as train-ai=n, search=y, after a path if need be, and only y and n "
      "count: any other says nothing to robots that read it.")),
    ("bad-content-signal", _E, "A Content-Signal cannot be read.",
     ("Its signals are search, ai-input and ai-train, which are yes or no, and use, which is "
      "immediate, reference or full: any other says nothing.")),
    ("unknown-usage", _W, "A use is named that no document has.",
     ("Robots pass over what they do not know; names of older drafts (bots, ai, train-genai) are "
      "none any more.")),
    ("usage-contradiction", _W, "A use is allowed and refused.",
     ("Any refusal wins for robots that read all of it (draft-ietf-aipref-vocab); those that read "
      "one field only do as that one says.")),
    ("groups-contradict", _W, "Two groups for a robot allow and disallow the same path.",
     ("Robots of today merge the groups, and Allow wins; those of the older standards read the "
      "first group only.")),
    ("relative-license", _E, "A License is not an absolute URL.",
     "RSL asks for the full URL, with scheme and host: robots ignore any other."),
    ("managed-block", _N, "Cloudflare's managed block stands in the file.",
     ("Robots of today merge its groups with the owner's; those of the older standards read the "
      "first group with their name only, which is the block's.")),
)  # fmt: skip

#: Every finding there is, by its code.
FINDINGS: Mapping[str, FindingKind] = MappingProxyType({row[0]: FindingKind(*row) for row in _ROWS})
