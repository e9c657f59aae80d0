"""Checks of how the lines make groups, and which robot finds which."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from mandelbot.findings.source import (
    LintHit,
    field_of,
    has_star,
    named_robots,
    quoted,
)
from mandelbot.findings.syntax import is_agent_misspelt, meant_field
from mandelbot.findings.usage_checks import STATEMENT_FIELDS
from mandelbot.robotstxt.dialects import (
    FIELDS_OF_USE,
    GROUP_FIELDS,
    VERSION_2_FIELDS,
    documented,
)
from mandelbot.robotstxt.full_urls import host_of
from mandelbot.robotstxt.known_robots import (
    IGNORE_STAR,
    KNOWN_ROBOTS,
    TOKENS,
    dialect_of,
)
from mandelbot.robotstxt.paths import split_url
from mandelbot.robotstxt.records import ABOUT_ALL, name_of

if TYPE_CHECKING:
    from mandelbot.findings.source import Check, LintInput
    from mandelbot.robotstxt.records import Group, Outline, Record

_SHORTEST = 3  # characters: no robot's name is shorter
_LONGEST = 40  # characters of a name that are looked at
_EFFORT = 3_000_000  # parts of names looked up in a file


def check_wide_names(
    first_line: Mapping[str, int], group_of: Mapping[str, int]
) -> Check:
    """Names, in lower case with their first lines, that are a part of another's."""
    effort = _EFFORT
    sizes = set(map(len, first_line))
    lengths = sorted(size for size in sizes if size >= _SHORTEST)
    for name, line in first_line.items():
        if effort < 0:
            return
        own = name[:_LONGEST]
        effort -= len(own) * bisect_right(lengths, len(own))
        for wide in dict.fromkeys(_parts(own, lengths)):
            wide_line = first_line.get(wide)
            if wide_line is None or group_of[wide] == group_of[name]:
                continue
            if wide_line < line:
                message = f"{quoted(wide)} comes before {quoted(name)}, line {line}."
                yield LintHit("wide-name-first", wide_line, message)
            elif wide_line > line:
                message = f"{quoted(wide)} comes after {quoted(name)}, line {line}."
                yield LintHit("wide-name-last", wide_line, message)
            break  # the longest


def _parts(name: str, lengths: list[int]) -> Iterator[str]:
    """Yield the parts of a name that are as long as some name, the longest first."""
    for length in reversed(lengths):
        for at in range(len(name) - length + 1):
            yield name[at : at + length]


_NONSTANDARD = frozenset(GROUP_FIELDS) - {"allow", "disallow"}
_OF_GROUPS = frozenset({*GROUP_FIELDS, *FIELDS_OF_USE}) - {"license"}


def check_structure(source: LintInput) -> Check:
    """What is wrong with the groups of the file."""
    outline = source.outline
    misspelt = _first_misspelt(outline)
    for record in outline.outside:
        if record.number < misspelt and record.field in _OF_GROUPS:
            line = "write User-agent: * above it, if it is for all robots"
            message = f"{field_of(record)} stands before any User-agent: {line}."
            yield LintHit("directive-outside-group", record.number, message)
    yield from _check_blank_lines(outline)
    yield from _check_between_agents(outline)
    yield from _check_end(outline)
    yield from _check_names(outline)
    for group in outline.groups:
        yield from _check_group(group, is_last=group is outline.groups[-1])
        yield from _check_version(group)
    yield from _check_closed(outline, source.hosts)
    yield from _check_about_all(outline)


def _first_misspelt(outline: Outline) -> float:
    """Return the line of the first misspelt User-agent; ``inf``: there is none.

    Some robots read it: what follows stands in a group then.
    """
    for record in outline.records:
        if is_agent_misspelt(record):
            return record.number
    return inf


def _check_blank_lines(outline: Outline) -> Check:
    """A blank line closes a group, and must separate two (Moderatobot, "Groups")."""
    part = _START
    is_reported = False
    alone = {line: whom for line, whom, _ in _lines_at_the_end(outline)}
    for record in outline.records:
        if record.is_blank:
            is_reported = is_reported and part == _CLOSED
            if part != _START:
                part = _CLOSED
        elif record.field == "user-agent":
            if part == _DIRECTIVES:
                message = "There is no blank line before this User-agent."
                yield LintHit("no-blank-line-before-group", record.number, message)
            part = _AGENTS
        elif record.field in GROUP_FIELDS and part == _CLOSED:
            if not is_reported:
                message = f"{field_of(record)} follows a blank line within its group."
                if record.number in alone:
                    message = f"{message[:-1]}: it is for {alone[record.number]} alone."
                yield LintHit("blank-line-in-group", record.number, message)
            is_reported = True
        elif record.field and part == _AGENTS:
            part = _DIRECTIVES


def _lines_at_the_end(outline: Outline) -> Iterator[tuple[int, str, bool]]:
    """Yield the first line after a gap in the last group, and for whom it is.

    With it comes whether it was hardly meant for that robot alone.
    The group names robots, another one is for all, and does not say the same. It was
    hardly meant so where the group only lets the robot in before the gap, or where what
    follows is about the use of pages. A blank line is a gap; before such a statement a
    comment is one, too.
    """
    for_all: list[Record] = []
    for group in outline.groups:
        if has_star(group):
            for_all += group.directives
    if not for_all or has_star(outline.groups[-1]):
        return
    group = outline.groups[-1]
    names = [name_of(agent) for agent in group.agents]
    own = [record for record in group.directives if record.field in _ABOUT_PAGES]
    said_to_all = {(record.field, record.value) for record in for_all}
    fields_to_all = {record.field for record in for_all}
    for place, record in enumerate(own[1:], start=1):
        between = outline.records[own[place - 1].number : record.number - 1]
        is_blank = any(one.is_blank for one in between)
        is_statement = record.field in STATEMENT_FIELDS
        is_remark = any(one.comment and not one.field for one in between)
        if not is_blank and not (is_statement and is_remark):
            continue
        after = own[place:]
        if all((one.field, one.value) in said_to_all for one in after):
            return
        if is_statement:
            is_hardly_meant = record.field not in fields_to_all
        else:
            is_hardly_meant = all(map(_lets_in, own[:place]))
        yield record.number, named_robots(names), is_hardly_meant
        return


_ABOUT_PAGES = frozenset({"allow", "disallow", *STATEMENT_FIELDS})


def _lets_in(rule: Record) -> bool:
    if rule.field == "allow":
        return rule.value in _EVERYTHING
    return rule.field == "disallow" and not rule.value


def _check_end(outline: Outline) -> Check:
    for line, whom, is_hardly_meant in _lines_at_the_end(outline):
        if is_hardly_meant:
            field = field_of(outline.records[line - 1])
            message = (
                f"{field} belongs to the group for {whom} alone: write User-agent: *"
                " above it, if it is for all robots."
            )
            yield LintHit("last-lines-for-one", line, message)


def _check_between_agents(outline: Outline) -> Check:
    """Moderatobot, "Groups": blank lines inside the group are prohibited."""
    blank = {record.number for record in outline.records if record.is_blank}
    for group in outline.groups:
        others = {record.number: record for record in group.directives}
        for one, other in pairwise(group.agents):
            inside = range(one.number + 1, other.number)
            if any(number in blank for number in inside):
                message = (
                    "There is a blank line between this User-agent and line"
                    f" {one.number}."
                )
                yield LintHit("blank-line-between-agents", other.number, message)
            between = next(filter(None, map(others.get, inside)), None)
            if between:
                message = (
                    f"{field_of(between)} of line {between.number} stands between this"
                    f" User-agent and line {one.number}."
                )
                yield LintHit("agents-apart", other.number, message)


# Where the strict reader of blank lines is: before any group, in the two parts of one,
# or after a blank line that closed it.
_START, _AGENTS, _DIRECTIVES, _CLOSED = range(4)


def _check_names(outline: Outline) -> Check:
    first_line: dict[str, int] = {}
    group_of: dict[str, int] = {}
    star: int | None = None
    is_reported = False
    for place, group in enumerate(outline.groups):
        for agent in group.agents:
            name = name_of(agent).lower()
            if not name:
                continue
            group_of.setdefault(name, place)
            if name in first_line and name != "*":  # of that, see `rule_checks`
                message = f"{quoted(name)} is already named in line {first_line[name]}."
                yield LintHit("repeated-agent", agent.number, message)
            elif star is not None and name != "*" and not is_reported:
                is_reported = True
                message = (
                    f"The group for * comes before {quoted(name)}, line {agent.number}."
                )
                yield LintHit("star-before-robots", star, message)
            first_line.setdefault(name, agent.number)
        if star is None:
            stars = [agent.number for agent in group.agents if name_of(agent) == "*"]
            star = stars[0] if stars else None
    yield from check_wide_names(first_line, group_of)


def _dropped(agent: Record) -> str:
    """Return which robot reads a Crawl-delay no longer; empty: it may."""
    name = name_of(agent).lower()
    if name.startswith("yandex"):
        return "Since 22 February 2018 Yandex reads"
    if name.startswith("googlebot"):
        return "Google's robots read"
    return ""


def _check_group(group: Group, *, is_last: bool) -> Check:
    number = group.agents[0].number
    rules = group.rules()
    name = quoted(name_of(group.agents[0]))
    is_for_all = any(agent.value == "*" for agent in group.agents)
    # that one allows everything to all readers
    if not rules and not (is_last and is_for_all):
        yield LintHit(
            "group-without-rules", number, f"The group for {name} has no rules."
        )
    elif not any(rule.field == "disallow" for rule in rules):
        yield LintHit(
            "group-without-disallow", number, f"The group for {name} has no Disallow."
        )
    yield from _check_empty_first(rules)
    delays = [record for record in group.directives if record.field == "crawl-delay"]
    reader = next((known for known in map(_dropped, group.agents) if known), None)
    if delays and reader:
        yield LintHit("dropped-field", delays[0].number, f"{reader} no Crawl-delay.")
    yield from _check_single(
        delays, "several-crawl-delays", "The group has a Crawl-delay"
    )
    yield from _check_already_closed(rules)
    yield from _check_prefixes(group, rules)
    if is_for_all:
        for record in group.directives:
            if record.field in _NONSTANDARD:
                message = f"{field_of(record)} stands in the group for *."
                yield LintHit("nonstandard-for-all", record.number, message)


def _check_empty_first(rules: list[Record]) -> Check:
    disallowing = [rule for rule in rules if rule.field == "disallow"]
    for place, rule in enumerate(disallowing):
        if rule.value:
            continue
        if any(later.value for later in disallowing[place:]):
            message = (
                "An empty Disallow, which allows everything, stands before other rules."
            )
            yield LintHit("empty-disallow-first", rule.number, message)
        return


_PREFIXES = ("allow", "disallow")


def _check_prefixes(group: Group, rules: list[Record]) -> Check:
    """Google's parser takes what begins with the name of a field for that field."""
    written = {(rule.field, rule.value) for rule in rules}
    for record in group.directives:
        name = record.field
        read = next((field for field in _PREFIXES if name.startswith(field)), name)
        if read == name or not record.value or meant_field(record) == read:
            continue
        # With an Allow and a Disallow of one path, Allow wins.
        if read == "disallow" and ("allow", record.value) in written:
            continue
        message = f"Google reads {quoted(record.name)} as {documented(read)}."
        yield LintHit("read-as-rule", record.number, message)


def _check_already_closed(rules: list[Record]) -> Check:
    """Find rules that change nothing: the group closes the whole site anyway."""
    whole = next((one for one in rules if one.value in _EVERYTHING), None)
    if whole is None or any(rule.field == "allow" for rule in rules):
        return
    others = [rule for rule in rules if rule.value and rule.value not in _EVERYTHING]
    if others:
        count = len(others)
        more = f" and {count - 1} more" if count > 1 else ""
        message = f"This rule{more}: line {whole.number} closes the whole site already."
        yield LintHit("closed-already", others[0].number, message)


def _check_single(records: list[Record], code: str, says: str) -> Check:
    for one in records[1:]:
        yield LintHit(code, one.number, f"{says} in line {records[0].number} already.")


_EVERYTHING = frozenset({"/", "/*", "*", "/*$", "*$"})
SEARCH_ENGINES = {one.name.lower() for one in KNOWN_ROBOTS if one.kind == "search"}
SEARCH_ENGINES |= {"slurp", "yandex"}
"""Names of their robots, in lower case."""


class _Closed(NamedTuple):
    """How the rules of a group, which many robots may share, treat the whole site."""

    by: Record | None
    """What closes all of it."""
    has_allow: bool
    has_rules: bool
    is_open: bool
    """Whether an empty Disallow says so."""

    @classmethod
    def of(cls, group: Group, hosts: frozenset[str]) -> _Closed:
        rules = group.rules()
        return cls(
            next((rule for rule in rules if _is_for_all(rule.value, hosts)), None),
            any(rule.field == "allow" and rule.value for rule in rules),
            bool(rules),
            any(rule.field == "disallow" and not rule.value for rule in rules),
        )


def _closing(groups: list[_Closed]) -> Record | None:
    """Return the rule by which nothing may be fetched; None: something may."""
    if any(group.has_allow for group in groups):
        return None
    return next((group.by for group in groups if group.by), None)


def _is_for_all(value: str, hosts: frozenset[str]) -> bool:
    """Return whether a rule is about the whole site, by its path or as a whole URL."""
    if "://" not in value:
        return value in _EVERYTHING
    parts = split_url(value)
    return parts is not None and parts[1] in _EVERYTHING and host_of(value) in hosts


def _names_in(group: Group) -> dict[str, str]:
    """Return the names in lower case, the last one first, each as it stands first."""
    names: dict[str, str] = {}
    for agent in reversed(group.agents):
        name = name_of(agent)
        if name:
            names[name.lower()] = name
    return names


def _check_closed(outline: Outline, hosts: frozenset[str]) -> Check:
    groups_of: dict[str, list[_Closed]] = {}
    written: dict[str, str] = {}
    for group in outline.groups:
        facts = _Closed.of(group, hosts)
        for name, as_named in _names_in(group).items():
            written.setdefault(name, as_named)
            groups_of.setdefault(name, []).append(facts)
    closing = {name: _closing(groups) for name, groups in groups_of.items()}
    for_all = closing.get("*")
    meant = {name: written[name] for name in _hardly_meant(outline, groups_of)}
    if for_all and "*" in meant:
        whom = "any robot" if all(closing.values()) else "robots without a group"
        message = f"The whole site is closed to {whom}: this group is merged with it."
        yield LintHit("closed-to-robot", for_all.number, message)
        return
    if for_all and all(closing.values()):
        message = _closed_to_all(for_all, closing)
        yield LintHit("closed-to-all", for_all.number, message)
        return
    by_line: dict[tuple[int, str], list[str]] = {}
    for name, as_written in meant.items():
        rule = closing.get(name)
        if rule and name not in TOKENS:
            # Of other robots it is not known how they read such a file.
            is_known = dialect_of(name) is not None
            code = "closed-to-robot" if is_known else "merged-with-next"
            by_line.setdefault((rule.number, code), []).append(as_written)
    for (line, code), robots in by_line.items():
        said = named_robots(robots)
        message = f"{said} may fetch nothing."
        if code == "merged-with-next":
            message = f"By RFC 9309, {said} would share this group, which closes all."
        yield LintHit(code, line, message)


def _closed_to_all(rule: Record, named: Container[str]) -> str:
    if "://" in rule.value:
        return "Robots that apply a whole URL to its host may fetch nothing."
    ignoring = [one.name for one in IGNORE_STAR if one.name.lower() not in named]
    if ignoring:
        left = ", ".join(ignoring)
        return f"No robot may fetch anything, but those that ignore *: {left}."
    return "No robot may fetch anything."


def _hardly_meant(
    outline: Outline, groups_of: Mapping[str, list[_Closed]]
) -> Iterable[str]:
    """Return the robots that were hardly meant to be closed out, in lower case.

    Such a robot has lines before those of the robots whose group it is in; or a search
    engine is in a group of others, below a blank line; or another group lets it in.
    """
    found: dict[str, None] = {}
    for group in reversed(outline.groups):
        others_search = False
        is_apart = False
        for one, after in reversed([*pairwise(group.agents)]):
            others_search |= name_of(after).lower() in SEARCH_ENGINES
            between = outline.records[one.number : after.number - 1]
            is_apart |= any(record.field or record.problems for record in between)
            is_blank = any(record.is_blank for record in between)
            name = name_of(one).lower()
            is_lone = is_blank and name in SEARCH_ENGINES and not others_search
            if name and (is_apart or is_lone):
                found.setdefault(name)
    found = dict.fromkeys(reversed(found))
    for name, groups in groups_of.items():
        if len(groups) > 1 and name != "*":  # of all robots, the last word may be meant
            is_engine = name in SEARCH_ENGINES
            if any(_is_let_in(one, is_engine=is_engine) for one in groups):
                found.setdefault(name)
    return found


def _is_let_in(group: _Closed, *, is_engine: bool) -> bool:
    """Return whether a group lets a robot in, on purpose."""
    if not group.is_open and not (group.has_rules and is_engine):
        return False
    return _closing([group]) is None


def _check_version(group: Group) -> Check:
    """An Extended Standard for Robot Exclusion, directive Robot-version."""
    versions = [
        record for record in group.directives if record.field == "robot-version"
    ]
    yield from _check_single(
        versions, "repeated-robot-version", "The group has a Robot-version"
    )
    if versions and group.directives[0] is not versions[0]:
        message = f"Robot-version comes after line {group.directives[0].number}."
        yield LintHit("misplaced-robot-version", versions[0].number, message)
    elif versions and versions[0].number < group.agents[-1].number:
        message = (
            "Robot-version comes before the User-agent of line"
            f" {group.agents[-1].number}."
        )
        yield LintHit("misplaced-robot-version", versions[0].number, message)
    if not any(version.value.startswith("2") for version in versions):
        for record in group.directives:
            if record.field in VERSION_2_FIELDS:
                message = (
                    f"{field_of(record)} stands in a group without Robot-version: 2.0."
                )
                yield LintHit("version-2-undeclared", record.number, message)


def _check_about_all(outline: Outline) -> Check:
    yandexs: set[int] = set()
    for group in outline.groups:
        if any(name_of(agent).lower() == "yandex" for agent in group.agents):
            yandexs.update(record.number for record in group.directives)
            yield from _check_yandexs(group)
    hosts = [
        record for record in outline.records if record.field == "host" and record.value
    ]
    for host in hosts[:1]:
        message = "Since 20 March 2018 Yandex ignores Host, and follows redirects."
        yield LintHit("dropped-field", host.number, message)
    yield from _check_single(hosts, "several-hosts", "There is a Host")
    sitemaps: dict[str, int] = {}
    for record in outline.records:
        if record.field not in ABOUT_ALL or not record.value:
            continue
        if record.field == "sitemap":
            if record.value in sitemaps:
                message = (
                    f"{quoted(record.value)} is in line {sitemaps[record.value]}"
                    " already."
                )
                yield LintHit("repeated-sitemap", record.number, message)
            sitemaps.setdefault(record.value, record.number)
        elif record.field != "license" and record.number not in yandexs:
            message = f"{field_of(record)} does not stand in the group for Yandex."
            yield LintHit(f"{record.field}-not-for-yandex", record.number, message)
    yield from _check_sitemaps_place(outline)


def _check_yandexs(group: Group) -> Check:
    """Host and Clean-param stand at the end of Yandex's group (Moderatobot)."""
    members = [one for one in group.directives if one.field in GROUP_FIELDS]
    last = members[-1].number if members else 0
    for record in group.directives:
        if record.field in {"host", "clean-param"} and record.number < last:
            message = f"{field_of(record)} comes before line {last} of Yandex's group."
            yield LintHit("yandex-field-not-last", record.number, message)


def _check_sitemaps_place(outline: Outline) -> Check:
    """A Sitemap stands outside of groups, which end at a blank line (Moderatobot)."""
    held: list[Record] = []
    in_group = False
    for record in outline.records:
        if record.is_blank:
            held = []
            in_group = False
        elif record.field == "user-agent":
            held = []
            in_group = True
        elif record.field == "sitemap" and in_group:
            held.append(record)
        elif record.field in GROUP_FIELDS:
            for sitemap in held:
                message = (
                    "The Sitemap stands within the group that continues in line"
                    f" {record.number}."
                )
                yield LintHit("sitemap-in-group", sitemap.number, message)
            held = []
