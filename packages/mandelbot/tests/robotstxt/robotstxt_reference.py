"""A slow and obvious robots.txt, to hold the fast one to.

It reads every line, keeps every group, tries every rule, walks every character. Nothing
is taken from the package but the `Dialect`, whose fields it reads with plain if.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

WHITE = " \t\v\f\0"
KNOWN = ("user-agent", "allow", "disallow", "robot-version")
RESERVED = ":/?#[]@!&'()+,;="


@dataclass
class ReferenceGroup:
    names: list = field(default_factory=list)
    rules: list = field(default_factory=list)  # (line, allow, value)
    first_directive: tuple = ()


def read_lines(body, dialect):
    """Return (number, field, value) of lines with a field.

    ("", "") stand for a blank one.
    """
    for mark in (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"):
        if body.startswith(mark):
            body = body[len(mark) :]
            break
    for number, octets in enumerate(re.split(rb"\r\n|\r|\n", body), start=1):
        read = octets[: dialect.line_limit]
        line = (read.split(b"\0")[0] if dialect.nul_ends_line else read).decode(
            "latin-1"
        )
        if not line.strip(WHITE):
            yield number, "", ""
            continue
        name, value = field_and_value(
            without_comment(line, dialect).strip(WHITE), dialect
        )
        if name:
            yield number, meant(name.lower(), dialect), value


def without_comment(line, dialect):
    for at, character in enumerate(line):
        begins = not dialect.comment_needs_space or at == 0 or line[at - 1] in WHITE
        if character == "#" and begins:
            return line[:at]
    return line


def field_and_value(line, dialect):
    name, colon, value = line.partition(":")
    if not colon:
        words = [word for word in re.split(r"[ \t]+", line) if word]
        if not dialect.colon_optional or len(words) != 2:
            return "", ""
        name, value = words
    return name.strip(WHITE), value.strip(WHITE)


def meant(name, dialect):
    for known in KNOWN:
        spellings = (known, *dict(dialect.spellings).get(known, ()))
        if name in spellings or (
            dialect.field_by_prefix and name.startswith(spellings)
        ):
            return known
    return name


def said(value):
    """Return what octets say, those that are not UTF-8 as escapes."""
    out, octets = "", value.encode("latin-1")
    while octets:
        for size in (1, 2, 3, 4):
            try:
                out += octets[:size].decode()
            except UnicodeDecodeError:
                continue
            octets = octets[size:]
            break
        else:
            out += f"%{octets[0]:02X}"
            octets = octets[1:]
    return out


def read_groups(body, dialect):
    groups, group, run_open = [], None, False
    for number, name, value in read_lines(body, dialect):
        if name == "":
            if dialect.blank_line_ends_group:
                group, run_open = None, False
        elif name == "user-agent":
            if not run_open:
                group = ReferenceGroup()
                groups.append(group)
                run_open = True
            group.names.append(read_name(value, dialect))
        else:
            is_rule = name == "disallow" or (name == "allow" and dialect.honours_allow)
            if is_rule or dialect.run_ends_at == "directive":
                run_open = False
            if group is not None:
                group.first_directive = group.first_directive or (name, value)
                if is_rule:
                    group.rules.append((number, name == "allow", value))
    return groups


def read_name(value, dialect):
    if dialect.agent_match == "google":
        if value == "*" or value[:2] in ("* ", "*\t", "*\v", "*\f"):
            return "*"
        return re.match("[a-zA-Z_-]*", value)[0].lower()
    if value == "*" or (value[:1] == "*" and value[1] in WHITE + "/*+,;"):
        return "*"
    return re.split(f"[{WHITE}/*+,;]", value)[0].lower()


def names(name, robot, dialect):
    if name == "":
        return False
    if dialect.agent_match in ("inside", "inside-first"):
        return name in robot
    if dialect.agent_match == "contains":
        return robot in name
    return name == robot


def version(group, dialect):
    if not dialect.robot_version or group.first_directive[:1] != ("robot-version",):
        return 1
    parts = group.first_directive[1].split(".")
    if not all(re.fullmatch("[0-9]+", part) for part in parts):
        return 1
    if int(parts[0]) not in (1, 2) or (len(parts) > 1 and int(parts[1]) % 2):
        return None
    return int(parts[0])


def groups_for(robot, groups, dialect):
    groups = [group for group in groups if version(group, dialect) is not None]
    own = [g for g in groups if any(names(name, robot, dialect) for name in g.names)]
    everyone = [g for g in groups if "*" in g.names]
    if dialect.star_stops:
        applying = [g for g in groups if g in own or g in everyone]
        if applying and applying[0] not in own:
            own = []
    if own and dialect.agent_match == "inside":
        fitting = [n for g in own for n in g.names if names(n, robot, dialect)]
        longest = max(fitting, key=len)
        own = [g for g in own if longest in g.names]
    chosen = own or everyone
    return chosen[:1] if dialect.repeated_agent == "first" else chosen


def normalise(text):
    out, at = "", 0
    octets = "".join(
        c
        if c < "\x80"
        else "".join(f"%{o:02X}" for o in c.encode("utf-8", "surrogatepass"))
        for c in text
    )
    while at < len(octets):
        if octets[at] != "%":
            out += octets[at]
            at += 1
        elif re.fullmatch("[0-9A-Fa-f]{2}", octets[at + 1 : at + 3]):
            character = chr(int(octets[at + 1 : at + 3], 16))
            escaped = character >= "\x80" or character in RESERVED + "%"
            out += f"%{ord(character):02X}" if escaped else character
            at += 3
        else:
            out += "%25"
            at += 1
    return out


def comparable(text, dialect):
    if dialect.escapes == "rfc3986":
        return normalise(text.replace("#", "%23"))
    out = "".join(
        c if c < "\x80" else "".join(f"%{o:02X}" for o in c.encode()) for c in text
    )
    return re.sub("%[0-9a-fA-F]{2}", lambda escape: escape[0].upper(), out)


def plain_host(scheme, authority):
    """Return what tells hosts apart: no user, no www., no default port."""
    host, _, port = re.fullmatch(
        r"(\[.*\]|[^:]*)(:?)(.*)", authority.split("@")[-1].lower()
    ).groups()
    host = re.sub(r"^www\.", "", host.rstrip("."))
    default = {"http": "80", "https": "443"}.get(scheme.lower())
    return host if port in ("", default) or not host else f"{host}:{port}"


def path_of(value, group_version, dialect, asked=None):
    """Return a rule's path, empty for none; None for a rule that is ignored.

    `asked` is the host of the URL, None for a path.
    """
    if dialect.paths_as_written or value == "" or value[0] in "/*":
        return value
    if group_version == 2 and value[0] in "?[\\":
        return value
    absolute = re.match("([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(.*)", value, re.DOTALL)
    if not absolute or not dialect.full_urls:
        return None
    host = absolute[2].split("@")[-1]
    if not re.fullmatch(r"(\[[^\[\]]+\]|[^\[\]:]*)(:[0-9]*)?", host):
        return None
    named = plain_host(absolute[1], host)
    if not named or (asked is not None and asked != named):
        return None
    path = absolute[3].split("#")[0]
    return path if path.startswith("/") else "/" + path


def tests_of(path, group_version, dialect):
    """Return the pattern as steps, None for any characters; and whether it is the
    whole.
    """
    if dialect.patterns == "none" or (
        dialect.patterns == "globs" and group_version != 2
    ):
        return [] if path == "*" else list(comparable(path, dialect)), False
    if dialect.patterns == "globs":
        return joined(glob_parts(path), dialect), True
    whole = path.endswith("$")
    stars = [None if c == "*" else c for c in (path[:-1] if whole else path)]
    return joined(stars, dialect), whole


def glob_parts(path):
    """Return the glob as characters, None for any characters, and tests of one
    character.
    """
    parts, at = [], 0
    while at < len(path):
        brackets = re.compile(r"\[(!?)(\]?[^\[\]]+|\])\]").match(path, at)
        if path[at] == "*":
            parts.append(None)
        elif path[at] == "?":
            parts.append(lambda _: True)
        elif brackets:
            parts.append(bracket_test(brackets[1], brackets[2]))
            at = brackets.end() - 1
        elif path[at] == "\\" and at + 1 < len(path):
            at += 1
            parts.append(path[at])
        else:
            parts.append(path[at])
        at += 1
    return parts


def joined(parts, dialect):
    """Return the parts with each run of characters made comparable as one text."""
    steps, literal = [], ""
    for part in [*parts, None]:
        if isinstance(part, str):
            literal += part
        else:
            steps.extend([*comparable(literal, dialect), part])
            literal = ""
    return steps[:-1]


def bracket_test(but, listed):
    def test(character):
        at, found = 0, False
        while at < len(listed):
            if listed[at + 1 : at + 2] == "-" and at + 2 < len(listed):
                found = found or listed[at] <= character <= listed[at + 2]
                at += 3
            else:
                found = found or character == listed[at]
                at += 1
        return found != bool(but)

    return test


def matches(steps, whole, target):
    places = {0}
    for step in steps:
        if step is None:
            places = set(range(min(places), len(target) + 1)) if places else places
        else:
            accepts = step if callable(step) else step.__eq__
            places = {
                at + 1 for at in places if at < len(target) and accepts(target[at])
            }
    return len(target) in places if whole else bool(places)


def matching_rules(groups, dialect, target, asked):
    """Yield length, kind, line, answer and whether it matches, of all rules and what
    they imply.
    """
    for group in groups:
        for line, allow, value in group.rules:
            path = path_of(said(value), version(group, dialect), dialect, asked)
            if path is None or (path == "" and not dialect.empty_rules_decide):
                continue
            steps, whole = tests_of(path, version(group, dialect), dialect)
            exact = whole and None not in steps and not any(map(callable, steps))
            kind = (
                ("explicit allow" if exact else "pattern allow")
                if allow
                else "disallow"
            )
            length = sum(1 if c < "\x80" else 3 * len(c.encode()) for c in path)
            yield length, kind, line, allow or path == "", matches(steps, whole, target)
            at = path.rfind("/")
            if (
                dialect.index_htm_is_directory
                and allow
                and path[at:].startswith("/index.htm")
            ):
                steps, whole = tests_of(path[: at + 1] + "$", 1, dialect)
                yield at + 2, kind, line, True, matches(steps, whole, target)


def decide(body, dialect, robot, target, origin=""):
    """Return whether a robot of one name may fetch a comparable target, and the
    deciding line.
    """
    scheme, is_whole, authority = origin.partition("://")
    asked = plain_host(scheme, authority) if is_whole else None
    if dialect.robots_txt_allowed and target == "/robots.txt":
        return True, None
    groups = groups_for(robot, read_groups(body, dialect), dialect)
    rules = list(matching_rules(groups, dialect, target, asked))
    matching = [rule for rule in rules if rule[-1]]
    kinds = {kind for _, kind, *_ in rules}
    if not matching and dialect.precedence == "kind" and kinds:
        return "disallow" in kinds and "pattern allow" not in kinds, None
    if not matching:
        return True, None
    if dialect.precedence == "longest":
        best = max(matching, key=lambda m: (m[0], m[1] != "disallow", -m[2]))
    elif dialect.precedence == "first":
        best = min(matching, key=lambda m: m[2])
    else:
        order = ["explicit allow", "disallow", "pattern allow"]
        best = min(matching, key=lambda m: (order.index(m[1]), m[2]))
    return best[3], best[2]
