"""How each family of robots reads a file: one row per family, every difference a named field.

A new robot is a new row::

    from dataclasses import replace
    from scrapy_mandelbot.robots.robotstxt import DIALECTS, RobotsTxt

    mine = replace(DIALECTS["mandelbot"], name="mine", precedence="first")
    robots = RobotsTxt.parse(body, dialect=mine)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from scrapy_mandelbot.robots.robotstxt.agents import GOOGLES_CRAWLERS

#: Those about the use of pages, and its terms: no search engine's parser knows them.
FIELDS_OF_USE = ("content-usage", "content-signal", "license")
#: The fields that mean something to some robot, as their documents spell them.
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

#: Those of a group besides its rules: they are about the agents whose lines stand right before.
OWN_FIELDS = ("crawl-delay", "request-rate", "visit-time", "comment")
#: Those that are about the agents of a group, and so end a run of their lines for what follows.
GROUP_FIELDS = ("allow", "disallow", "robot-version", *OWN_FIELDS)


def documented(field: str) -> str:
    """Return a field, given in lower case, as documents write it: Crawl-delay, Content-Usage."""
    return field.title() if field.startswith("content-") else field.capitalize()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one family of robots reads a file. The defaults are Mandelbot's."""

    name: str

    # Lines.
    spellings: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Other spellings of a field that are accepted: ``(("user-agent", ("useragent",)),)``."""
    field_by_prefix: bool = False
    """A field counts when it only begins with the name (``Disallowing:``)."""
    colon_optional: bool = False
    """White space stands for a missing colon in a line of two words (``Disallow /``)."""
    comment_needs_space: bool = False
    """``#`` begins a comment only after white space or at the start of a line."""
    utf16: bool = True
    """A UTF-16 byte-order mark tells how the file is encoded; False: its bytes are read as any."""
    nul_ends_line: bool = False
    """A NUL and what follows it in the line are not read."""
    line_limit: int | None = None
    """Bytes of a line that are read; None: all."""

    # Groups.
    agent_match: Literal["token", "google", "inside", "inside-first", "contains"] = "token"
    """When the name in a User-agent line is the robot's, in any case: they are equal; equal up to
    the first character that is no letter, ``-`` or ``_``; the name is found inside the robot's,
    the longest one if several are, or the first in the file; the name contains the robot's. A name
    ends at white space and at each of ``/ * + , ;``, but that a lone ``*`` is everybody."""
    fallbacks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Robots that are looked for under other names where no group is about their own:
    ``(("googlebot-news", ("googlebot",)),)``, in lower case."""
    repeated_agent: Literal["merged", "first"] = "merged"
    """Several groups for one agent: all count, or the first only."""
    star_stops: bool = False
    """The first group that applies is taken even when it is ``*`` (SearchTools, 2008)."""
    run_ends_at: Literal["rule", "directive"] = "rule"
    """What ends a run of User-agent lines: Allow and Disallow, or any directive."""
    blank_line_ends_group: bool = False
    """A blank line ends a group; a line that is only a comment is not blank."""
    robot_version: bool = False
    """Robot-version tells how a group is read, see `extended2` below."""

    # Rules.
    honours_allow: bool = True
    """False: Allow is an unknown field."""
    patterns: Literal["wildcards", "none", "globs"] = "wildcards"
    """``*`` and a final ``$``; none, the value is a prefix; sh globs (in version 2 groups)."""
    precedence: Literal["longest", "first", "kind"] = "longest"
    """Which matching rule decides: the longest, Allow in a tie; the first in the file; explicit
    Allow before Disallow before pattern Allow (the older text of the extended standard)."""
    escapes: Literal["rfc3986", "google"] = "rfc3986"
    """Escapes are compared as RFC 3986 equals, or the URL is taken as it stands and values only
    get their non-ASCII characters escaped and hexadecimal digits in capitals."""
    paths_as_written: bool = False
    """Values that are no path (``https://…``, ``private``) are compared all the same."""
    empty_rules_decide: bool = False
    """A rule without a path is a match of length 0, which allows; False: it is no rule."""
    index_htm_is_directory: bool = False
    """``Allow: /a/index.htm…`` allows ``/a/`` too."""
    robots_txt_allowed: bool = True
    """/robots.txt itself is allowed whatever the rules say."""

    # Fetching: for who asks for the file, nothing here reads them.
    fresh_for: int = 172_800
    """Seconds for which a copy counts as fresh."""
    forbidding_statuses: frozenset[int] = frozenset()
    """Statuses of /robots.txt that forbid the whole site."""
    only_status_200: bool = False
    """Any other status than 200 means that there are no rules."""

    def __hash__(self) -> int:
        return hash(self.name)  # of some thirty fields it would take long, for each file


_ROWS = (
    Dialect(name="mandelbot"),
    Dialect(name="rfc9309", fresh_for=86_400),
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
    Dialect(name="rep2008", agent_match="inside", repeated_agent="first", run_ends_at="directive"),
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
