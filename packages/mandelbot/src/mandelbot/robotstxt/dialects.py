"""How each family of robots reads a file: a row each, a field for each difference.

A new robot is a new row::

    from dataclasses import replace
    from mandelbot.robotstxt.dialects import DIALECTS
    from mandelbot.robotstxt.robots_txt import RobotsTxt

    mine = replace(DIALECTS["mandelbot"], name="mine", precedence="first")
    robots = RobotsTxt.parse(body, dialect=mine)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from mandelbot.robotstxt.agents import GOOGLES_CRAWLERS

#: Fields for usage preferences and terms; search engines' parsers do not know them.
FIELDS_OF_USE = ("content-usage", "content-signal", "disallowaitraining", "license")
#: The fields that some robot reads, as their documents spell them.
FIELDS = (
    "user-agent",
    "allow",
    "disallow",
    "sitemap",
    "crawl-delay",
    "request-rate",
    "visit-time",
    "robot-version",
    "comment",
    "host",
    "clean-param",
    *FIELDS_OF_USE,
)

#: Fields of a group that apply only to the agents in the lines right before.
OWN_FIELDS = ("crawl-delay", "request-rate", "visit-time", "comment")
#: Fields that only groups of the extended standard 2.0 have.
VERSION_2_FIELDS = frozenset({"request-rate", "visit-time", "comment"})
#: Fields that apply to the agents of a group, and so end a run of User-agent lines for
#: them.
GROUP_FIELDS = ("allow", "disallow", "robot-version", *OWN_FIELDS)


def documented(field: str) -> str:
    """Return the documented spelling of a lower-case field.

    Crawl-delay, Content-Usage.
    """
    if field == "disallowaitraining":
        return "DisallowAITraining"
    if field.startswith("content-"):
        return field.title()
    return field.capitalize()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    r"""How one family of robots reads a file. The defaults are Mandelbot's.

    >>> from dataclasses import replace
    >>> from mandelbot import DIALECTS, RobotsTxt
    >>> mine = replace(DIALECTS["mandelbot"], name="mine", precedence="first")
    >>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /\nAllow: /a", dialect=mine)
    >>> robots.allowed("/a", "Examplebot")
    False
    """

    name: str

    # Lines.
    spellings: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Other accepted spellings of a field: ``(("user-agent", ("useragent",)),)``."""
    field_by_prefix: bool = False
    """A field need only begin with the name (``Disallowing:``)."""
    colon_optional: bool = False
    """White space may replace the colon in a line of two words (``Disallow /``)."""
    comment_needs_space: bool = False
    """``#`` begins a comment only after white space or at the start of a line."""
    utf16: bool = True
    """A UTF-16 byte-order mark sets the encoding; False: it has no meaning."""
    nul_ends_line: bool = False
    """A NUL and the rest of its line are ignored."""
    line_limit: int | None = None
    """Bytes of a line that are read; None: all."""

    # Groups.
    agent_match: Literal["token", "google", "inside", "inside-first", "contains"] = (
        "token"
    )
    """When the name in a User-agent line matches the robot's, ignoring case: they are
    equal; equal up to the first character other than a letter, ``-`` or ``_``; the name
    is part of the robot's, and the longest wins, or the first in the file; the name
    contains the robot's. A name ends at white space and at each of ``/ * + , ;``. A
    lone ``*`` means all robots.
    """
    fallbacks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names to try for robots without a group of that name, in lower case:
    ``(("googlebot-news", ("googlebot",)),)``."""
    repeated_agent: Literal["merged", "first"] = "merged"
    """Of several groups for one agent, all count, or only the first."""
    star_stops: bool = False
    """The first group that applies wins, even if it is ``*`` (SearchTools, 2008)."""
    run_ends_at: Literal["rule", "directive"] = "rule"
    """What ends a run of User-agent lines: Allow and Disallow, or any directive."""
    blank_line_ends_group: bool = False
    """A blank line ends a group; a line that is only a comment is not blank."""
    robot_version: bool = False
    """Robot-version sets how a group is read; see `extended2` below."""

    # Rules.
    honours_allow: bool = True
    """False: Allow is an unknown field."""
    patterns: Literal["wildcards", "none", "globs"] = "wildcards"
    """``*`` and a final ``$``; none: values are prefixes; sh globs (in groups of
    version 2).
    """
    precedence: Literal["longest", "first", "kind"] = "longest"
    """The matching rule that decides: the longest, Allow in a tie; the first in the
    file; explicit Allow before Disallow before pattern Allow (the older text of the
    extended standard).
    """
    escapes: Literal["rfc3986", "google"] = "rfc3986"
    """Escapes are compared as RFC 3986 defines; or URLs stay as they are, and values
    only get escapes for non-ASCII characters and upper-case hexadecimal digits.
    """
    paths_as_written: bool = False
    """Values that are no path (``https://…``, ``private``) are compared too."""
    full_urls: bool = True
    """A rule with a whole URL counts for URLs of the host that it names; False: it
    matches nothing.
    """
    empty_rules_decide: bool = False
    """A rule without a path matches with length 0 and allows; False: it is no rule."""
    index_htm_is_directory: bool = False
    """``Allow: /a/index.htm…`` allows ``/a/`` too."""
    robots_txt_allowed: bool = True
    """/robots.txt itself is always allowed."""

    # Fetching: for callers that fetch the file; nothing here reads them.
    fresh_for: int = 172_800
    """Seconds for which a cached file is fresh."""
    forbidding_statuses: frozenset[int] = frozenset()
    """Statuses of /robots.txt that forbid the whole site."""
    only_status_200: bool = False
    """Every status but 200 means that there are no rules."""

    def __hash__(self) -> int:
        return hash(self.name)  # hashing all fields for each file would be slow


_ROWS = (
    Dialect(name="mandelbot"),
    Dialect(name="rfc9309", full_urls=False, fresh_for=86_400),
    Dialect(
        name="google",
        spellings=(
            ("user-agent", ("useragent", "user agent")),
            ("disallow", ("dissallow", "dissalow", "disalow", "diasllow", "disallaw")),
            ("sitemap", ("site-map",)),
        ),
        field_by_prefix=True,
        colon_optional=True,
        utf16=False,
        nul_ends_line=True,
        line_limit=16_663,
        agent_match="google",
        fallbacks=GOOGLES_CRAWLERS,
        escapes="google",
        paths_as_written=True,
        full_urls=False,
        empty_rules_decide=True,
        index_htm_is_directory=True,
        robots_txt_allowed=False,
        fresh_for=86_400,
    ),
    Dialect(
        name="rep1994",
        agent_match="inside",
        repeated_agent="first",
        blank_line_ends_group=True,
        patterns="none",
        precedence="first",
        forbidding_statuses=frozenset({401, 403}),
    ),
    Dialect(
        name="rep2008",
        agent_match="inside",
        repeated_agent="first",
        run_ends_at="directive",
    ),
    Dialect(
        name="extended2",
        comment_needs_space=True,
        agent_match="inside",
        repeated_agent="first",
        run_ends_at="directive",
        blank_line_ends_group=True,
        robot_version=True,
        patterns="globs",
        precedence="first",
    ),
)

DIALECTS: Mapping[str, Dialect] = MappingProxyType({row.name: row for row in _ROWS})
