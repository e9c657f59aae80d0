"""Checks of what the fields but User-agent say."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from mandelbot.findings.source import ABSOLUTE_URL, STANDARD, LintHit, quoted
from mandelbot.preferences.in_robots_txt import split_path
from mandelbot.preferences.statements import MEANINGS, READERS, Statement
from mandelbot.robotstxt import times
from mandelbot.robotstxt.known_robots import CONTROL_TOKENS
from mandelbot.robotstxt.records import name_of
from mandelbot.robotstxt.sitemap_lines import urls_of
from mandelbot.robotstxt.verdict import path_of

if TYPE_CHECKING:
    from mandelbot.findings.source import Check
    from mandelbot.robotstxt.records import Group, Record

STATEMENT_FIELDS = frozenset({"content-usage", "content-signal"})
_TRAINING = "disallowaitraining"
# statements and rules of groups that share a name, compared in a file
_EFFORT = 200_000
_KEYS = {
    source: {
        word.partition("=")[0]
        for (of, word), meaning in MEANINGS.items()
        if of == source and not meaning.now
    }
    for source in STATEMENT_FIELDS
}
_OLDER_KEYS = {
    word.partition("=")[0]
    for (source, word), meaning in MEANINGS.items()
    if source == "content-usage" and meaning.now
}
_EVERYTHING = frozenset({"/", "/*"})


def _check_content_usage(record: Record) -> Check:
    _, value = split_path(record.value)
    said = READERS["content-usage"](value)
    if not said.is_readable or (not said.words and not said.unknown):
        message = (
            f"{quoted(record.value)} is not a Dictionary of RFC 9651, such as"
            " train-ai=n."
        )
        yield LintHit("bad-content-usage", record.number, message)
        return
    for word in said.words:
        yield from _check_form("content-usage", word, quoted(word), record)
    for key in said.unknown:
        if key in _KEYS["content-usage"]:
            message = f"{quoted(key)} has a value other than y and n."
            yield LintHit("bad-content-usage", record.number, message)
        elif key in _OLDER_KEYS:
            message = f"{quoted(key)} is of an older draft: it allows nothing."
            yield LintHit("unknown-usage", record.number, message)
        else:
            message = (
                f"{quoted(key)} is not a category of use, such as train-ai or search."
            )
            yield LintHit("unknown-usage", record.number, message)


def _check_form(source: str, word: str, name: str, record: Record) -> Check:
    """Whether a refusal is in a form that is not in force any more."""
    now = MEANINGS[source, word].now
    if now:
        message = f"{name} is of an older draft: write {now}."
        yield LintHit("older-usage", record.number, message)


def _check_training(record: Record) -> Check:
    if record.value[:1] not in {"/", "*"}:
        message = f"{quoted(record.value)} does not begin with a slash."
        yield LintHit("no-leading-slash", record.number, message)
    else:
        yield from _check_form(_TRAINING, "", "DisallowAITraining", record)


def _check_content_signal(record: Record) -> Check:
    _, value = split_path(record.value)
    said = READERS["content-signal"](value)
    if not said.is_readable and not said.unknown:
        message = f"{quoted(record.value)} is too long to be read."
        yield LintHit("bad-content-signal", record.number, message)
    for part in said.unknown:
        key = part.partition("=")[0].strip().lower()
        if key in _KEYS["content-signal"] or "=" not in part:
            message = f"{quoted(part)} is not a signal, such as search=yes."
            yield LintHit("bad-content-signal", record.number, message)
        else:
            message = (
                f"{quoted(key)} is not a signal: search, ai-input, ai-train or use."
            )
            yield LintHit("unknown-usage", record.number, message)


class _UsageStatement(NamedTuple):
    """A statement of a group."""

    category: str
    path: str | None
    """None: of all pages."""
    line: int
    is_signal: bool


class _Facts(NamedTuple):
    """What of a group can be contradicted: the first lines that say so."""

    allowed: dict[tuple[str, str | None], _UsageStatement]
    refused: dict[tuple[str, str | None], _UsageStatement]
    rules: dict[tuple[str, bool], int]
    """Paths, and whether they are allowed."""

    @property
    def size(self) -> int:
        return 1 + len(self.allowed) + len(self.refused) + len(self.rules)

    def learn(self, other: _Facts) -> None:
        for key, said in other.allowed.items():
            self.allowed.setdefault(key, said)
        for key, said in other.refused.items():
            self.refused.setdefault(key, said)
        for rule, line in other.rules.items():
            self.rules.setdefault(rule, line)


def check_usage(groups: list[Group]) -> Check:
    """Which statements and groups contradict each other."""
    facts = [_facts_of(group) for group in groups]
    seen: set[LintHit] = set()
    for found in (*_contradicted(groups, facts), *_shut_out(groups, facts)):
        if found not in seen:
            seen.add(found)
            yield found


def _facts_of(group: Group) -> _Facts:
    facts = _Facts({}, {}, {})
    for record in group.directives:
        if record.field in STATEMENT_FIELDS:
            for allows, said in _statements(record):
                kind = facts.allowed if allows else facts.refused
                kind.setdefault((said.category, said.path), said)
        elif record.field in {"allow", "disallow"}:
            path = path_of(record.value, 1, STANDARD)
            if path:
                facts.rules.setdefault((path, record.field == "allow"), record.number)
    return facts


def _statements(record: Record) -> Iterator[tuple[bool, _UsageStatement]]:
    is_signal = record.field == "content-signal"
    path, value = split_path(record.value)
    for one in Statement.read(
        record.field, value, "robots.txt", record.value, record.number
    ):
        yield one.allowed, _UsageStatement(one.category, path, record.number, is_signal)


def _contradicted(groups: list[Group], facts: list[_Facts]) -> Check:
    for one in facts:
        yield from _against(one, one)
    effort = _EFFORT
    for name, of_name in _in_several(groups):
        together = _Facts({}, {}, {})
        for place in of_name:
            effort -= facts[place].size
            if effort < 0:
                return
            yield from _against(together, facts[place])
            yield from _against(facts[place], together)
            yield from _ties(name, together, facts[place])
            together.learn(facts[place])


def _in_several(groups: list[Group]) -> Iterator[tuple[str, list[int]]]:
    """Yield the names of several groups, in lower case, and which groups these are."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, group in enumerate(groups):
        for name in {name_of(agent).lower() for agent in group.agents}:
            if name:
                places[name].append(place)
    yield from ((name, of_name) for name, of_name in places.items() if len(of_name) > 1)


def _against(allowing: _Facts, refusing: _Facts) -> Check:
    for (category, path), allowed in allowing.allowed.items():
        refused = refusing.refused.get((category, path))
        if refused is None and path is not None and not allowed.is_signal:
            # The path precedes only statements of the same field: a signal about all
            # pages counts.
            refused = refusing.refused.get((category, None))
            refused = refused if refused and refused.is_signal else None
        if refused is not None:
            at = "in the same line"
            if refused.line != allowed.line:
                at = f"of line {refused.line}"
            message = (
                f"{category} is allowed here without effect: the refusal {at} wins."
            )
            yield LintHit("usage-contradiction", allowed.line, message)


def _ties(name: str, first: _Facts, other: _Facts) -> Check:
    """Rules that one group of a robot allows and another disallows."""
    for (path, allows), line in other.rules.items():
        opposite = first.rules.get((path, not allows))
        if opposite is not None and (path, allows) not in first.rules:
            kinds = ("Allow", "Disallow") if allows else ("Disallow", "Allow")
            message = (
                f"{kinds[0]}: {quoted(path)} for {quoted(name)} is {kinds[1]} in line"
                f" {opposite}, in another group; Allow wins."
            )
            yield LintHit("groups-contradict", line, message)


def _shut_out(groups: list[Group], facts: list[_Facts]) -> Check:
    """Uses that are allowed to all, while the robots for them are shut out."""
    shut: dict[str, tuple[str, int]] = {}
    for group, of_group in zip(groups, facts, strict=True):
        line = next(
            filter(None, (of_group.rules.get((path, False)) for path in _EVERYTHING)), 0
        )
        for agent in group.agents if line else ():
            token = CONTROL_TOKENS.get(name_of(agent).lower())
            for category in token.refuses if token else ():
                shut.setdefault(category, (name_of(agent), line))
    for group, of_group in zip(groups, facts, strict=True):
        if any(name_of(agent) == "*" for agent in group.agents):
            for (category, path), allowed in of_group.allowed.items():
                if category in shut and path is None:
                    name, line = shut[category]
                    message = (
                        f"{category} is allowed to all, but {name}, which stands for"
                        f" it, is disallowed in line {line}."
                    )
                    yield LintHit("usage-contradiction", allowed.line, message)


_LONGEST_DELAY = 30  # Moderatobot, "Crawl-delay directive"
_LONGEST_CLEAN_PARAM = 500  # Moderatobot, "Clean-param directive"
_HOST = re.compile(r"(?:[\w\-]+\.)*[\w\-]+(?::[0-9]+)?|\[[0-9A-Fa-f:.]+\](?::[0-9]+)?")
_VERSION = re.compile(r"(?:1\.0|2\.[0-9]*[02468])(?:\.[0-9]+)*")


def _check_delay(record: Record) -> Check:
    seconds = times.read_delay(record.value)
    if seconds is None:
        message = f"{quoted(record.value)} is not a number of seconds."
        yield LintHit("bad-crawl-delay", record.number, message)
    elif seconds > _LONGEST_DELAY:
        message = f"{quoted(record.value)} is longer than {_LONGEST_DELAY} seconds."
        yield LintHit("long-crawl-delay", record.number, message)
    elif not record.value.isdigit() or not seconds:
        message = f"{quoted(record.value)} is not a positive whole number."
        yield LintHit("crawl-delay-not-whole", record.number, message)


def _check_sitemap(record: Record) -> Check:
    value = record.value
    number = record.number
    urls = urls_of(value)
    if len(urls) > 1:
        message = f"There are {len(urls)} URLs in one line: write {len(urls)} lines."
        yield LintHit("sitemap-not-alone", number, message)
        return
    if urls[0] != value:
        message = f"There is more than a URL in {quoted(value)}: write {urls[0]}."
        yield LintHit("sitemap-not-alone", number, message)
        return
    if not ABSOLUTE_URL.fullmatch(value):
        yield LintHit(
            "relative-sitemap", number, f"{quoted(value)} is not an absolute URL."
        )
        return
    path = re.split("[?#]", value, maxsplit=1)[0].lower()
    if path.endswith("/"):
        yield LintHit(
            "sitemap-is-directory", number, f"{quoted(value)} ends with a slash."
        )
    elif not path.endswith((".xml", ".xml.gz")):
        message = f"{quoted(value)} ends neither with .xml nor with .xml.gz."
        yield LintHit("sitemap-extension", number, message)


def _check_clean_param(record: Record) -> Check:
    length = len(record.value)
    if length > _LONGEST_CLEAN_PARAM:
        message = f"The Clean-param has {length} characters."
        yield LintHit("long-clean-param", record.number, message)


def _unless(
    is_right: Callable[[Record], object], code: str, says: str
) -> Callable[[Record], Check]:
    """Return a check that says one thing of a value that is not right."""

    def check(record: Record) -> Check:
        if not is_right(record):
            yield LintHit(code, record.number, f"{quoted(record.value)} {says}")

    return check


_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]*:)?//[^/]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}")
# Mandelbot's page: /earn$* is about a dollar
_DOLLAR_INSIDE = re.compile(r"\$(?!\**\Z)")
_REGULAR_EXPRESSION = re.compile(
    r"\^|\\[.dwsDWS/?$\-]|\[\^?\w-\w|\(\?|\([^()|]*\|[^()]*\)|\.\+"
    r"|\A(?:[^*]|(?<=\.)\*)*(?<![/*.])\.\*"  # before it no wildcard as in *.css.*
)
_NO_LETTER = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z]")


def _check_path(record: Record) -> Check:
    path = record.value
    number = record.number
    field = record.field.capitalize()
    if not path:
        if record.field == "allow":
            yield LintHit("empty-allow", number, "Allow has no path.")
        return
    if record.field == "allow" and not path.strip("/*"):
        message = f"{field}: {_path_shown(path)} allows what is allowed by default."
        yield LintHit("allow-all", number, message)
    yield from _check_beginning(path, field, number)
    yield from _check_meaning(path, number)
    yield from _check_wildcards(path, field, number)
    yield from _check_path_characters(path, number)
    if record.field == "allow" and path.rpartition("/")[2].startswith("index.htm"):
        message = f"{field}: {_path_shown(path)} names an index page."
        yield LintHit("index-page", number, message)
    if path.rstrip("*$").lower() == "/robots.txt":
        message = f"{field}: {_path_shown(path)} matches the file itself."
        yield LintHit("robots-txt-in-rule", number, message)


def _check_beginning(path: str, field: str, number: int) -> Check:
    if path[0] == "*":
        if path.strip("*"):
            message = f"{field}: {_path_shown(path)} does not begin with a slash."
            yield LintHit("leading-star", number, message)
    elif _SCHEME.match(path):
        yield LintHit("full-url", number, f"{quoted(path)} is a whole URL, not a path.")
    elif path[0] != "/":
        yield LintHit(
            "no-leading-slash", number, f"{quoted(path)} does not begin with a slash."
        )


#: A parameter of a query, as a path; one that has no letter is no name.
_PARAMETER = re.compile(r"/[A-Za-z_][\w\-.%\[\]]*=[^/?*]*\$?", re.ASCII)


_PUNCTUATED = re.compile(r"/[\w/.\-]*[,;]", re.ASCII)


def _check_meaning(path: str, number: int) -> Check:
    if _PARAMETER.fullmatch(path):
        name = path[1:].partition("=")[0]
        message = f"{quoted(path)} is no query: write /*?{name}= and /*&{name}=."
        yield LintHit("parameter-as-path", number, message)
    if _PUNCTUATED.fullmatch(path):
        message = f"{quoted(path)} ends with {quoted(path[-1])}, which URLs must have."
        yield LintHit("ends-with-punctuation", number, message)


def check_hosts(records: Iterable[Record]) -> Check:
    """Find paths that begin with a host that the file names in a Sitemap or Host."""
    records = tuple(records)
    hosts = set()
    for record in records:
        if record.field in {"sitemap", "host"}:
            found = _HOST_IN.match(record.value)
            if found:
                hosts.add(found[1].lower().removeprefix("www."))
    for record in records if hosts else ():
        if record.field in {"allow", "disallow"}:
            first = record.value[:_LONGEST_HOST].lstrip("/").partition("/")[0].lower()
            if first.removeprefix("www.") in hosts and first:
                message = f"{quoted(record.value)} begins with the site's own host."
                yield LintHit("host-in-path", record.number, message)


_LONGEST_HOST = 300  # characters
_HOST_IN = re.compile(r"(?:https?://)?([\w\-]+(?:\.[\w\-]+)+)", re.IGNORECASE)


def check_invisible(record: Record) -> Check:
    """Find a value that begins or ends with a character that nobody sees."""
    value = record.value
    if value.isascii() or not value:
        return
    found = _INVISIBLE_ENDS.search(value)
    place = "beside"
    if found is None and record.field in _PATHS:
        found = _INVISIBLE.search(value)
        place = "within"
    if found:
        sign = f"U+{ord(found[0][0]):04X}"
        message = f"There is an invisible character ({sign}) {place} {quoted(value)}."
        yield LintHit("invisible-character", record.number, message)


_PATHS = frozenset({"allow", "disallow", "sitemap", _TRAINING})


def _characters(*categories: str) -> str:
    """Return the characters of some Unicode categories, and fillers without a look."""
    fillers = "\u115f\u1160\u3164\uffa0\u2800\u034f\u180e"
    return fillers + "".join(
        sign
        for sign in map(chr, chain(range(0x80, 0x3100), range(0xFE00, 0x10000)))
        if unicodedata.category(sign) in categories
    )


_HIDDEN = re.escape(_characters("Cf"))
_INVISIBLE = re.compile(f"[{_HIDDEN}]")
_SPACES = re.escape(_characters("Cf", "Zs", "Zl", "Zp") + "\x85")
_INVISIBLE_ENDS = re.compile(rf"\A[{_SPACES}]|[{_SPACES}]\Z")


def _check_wildcards(path: str, field: str, number: int) -> Check:
    if "*" not in path and "$" not in path:
        return
    if "*" in path or path[-1] == "$":
        message = f"{field}: {_path_shown(path)} has wildcards."
        yield LintHit("wildcard", number, message)
    if (
        len(path) > 1
        and path.endswith(("*", "*$"))
        and not path.rstrip("*").endswith("$")
    ):
        message = f"The * at the end of {quoted(path)} adds no match."
        yield LintHit("redundant-star", number, message)
    elif path.endswith("*$"):
        message = f"The *$ at the end of {quoted(path)} adds nothing."
        yield LintHit("redundant-star", number, message)
    if _DOLLAR_INSIDE.search(path):
        message = f"The $ within {quoted(path)} is a dollar sign, not the end."
        yield LintHit("dollar-inside", number, message)


def _check_path_characters(path: str, number: int) -> Check:
    is_upper = path.isupper() and len(_NO_LETTER.sub("", path)) > 1
    for code, is_so, says in (
        (
            "regular-expression",
            _REGULAR_EXPRESSION.search(path),
            "{} looks like a regular expression.",
        ),
        ("space-in-path", " " in path or "\t" in path, _space_in(path)),
        (
            "unescaped-character",
            not path.isascii(),
            "There are characters outside ASCII in {}.",
        ),
        ("capitals-in-path", is_upper, "{} matches paths in capitals only."),
    ):
        if is_so:
            yield LintHit(code, number, says.format(quoted(path)))
    bad = _BAD_ESCAPE.search(path) if "%" in path else None
    if bad:
        yield LintHit("bad-escape", number, f"{quoted(bad[0])} is no escape.")


def _space_in(path: str) -> str:
    parts = path.replace(",", " ").split()
    if all(part.startswith("/") for part in parts):
        return f"{{}} has {len(parts)} paths in one line: write {len(parts)} lines."
    return "There is a space in {}."


def _path_shown(path: str) -> str:
    return quoted(path)[1:-1]


_CHECKS: dict[str, Callable[[Record], Check]] = {
    "allow": _check_path,
    "clean-param": _check_clean_param,
    "content-signal": _check_content_signal,
    "content-usage": _check_content_usage,
    "crawl-delay": _check_delay,
    "disallow": _check_path,
    _TRAINING: _check_training,
    "host": _unless(
        lambda one: _HOST.fullmatch(one.value),
        "host-not-a-name",
        "is more than a host name.",
    ),
    "license": _unless(
        lambda one: ABSOLUTE_URL.fullmatch(one.value),
        "relative-license",
        "is not an absolute URL.",
    ),
    "request-rate": _unless(
        lambda one: (
            times.is_documented_rate(one.value) and times.RequestRate.read(one.value)
        ),
        *("bad-request-rate", "is no rate of documents."),
    ),
    "robot-version": _unless(
        lambda one: _VERSION.fullmatch(one.value),
        "bad-robot-version",
        "is neither 1.0 nor 2.0.",
    ),
    "sitemap": _check_sitemap,
    "visit-time": _unless(
        lambda one: times.is_documented_window(one.value),
        "bad-visit-time",
        "is no time of the day.",
    ),
}


def check_value(record: Record) -> Check:
    """What is wrong with a line's value; an empty one is looked at for Allow alone."""
    if (record.value or record.field == "allow") and record.field in _CHECKS:
        yield from _CHECKS[record.field](record)
