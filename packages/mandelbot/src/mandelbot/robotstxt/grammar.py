r"""The grammar of a line, as regular expressions made for a dialect.

After Mandelbot's page, section "Format of robots.txt", and RFC 9309, section 2.2::

    line     = *WS [ field *WS ":" *WS value *WS ] [ "#" comment ] line-end
    WS       = space / tab / VT / FF / NUL ; no NBSP
    line-end = CR LF / CR / LF            ; no NEL, no U+2028

The functions below apply the changes of a `Dialect`. The expressions find lines in a
`searchable` text without reading the lines between. Each begins with the line end
before its line, and none looks back beyond it, so all are linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from operator import attrgetter, itemgetter

from mandelbot.robotstxt.agents import names_in_order
from mandelbot.robotstxt.dialects import (
    DIALECTS,
    GROUP_FIELDS,
    OWN_FIELDS,
    Dialect,
    documented,
)

# NUL: files get padded with it after a power cut, or by programs in C. Google ends a
# line there; as a part of a value it would make the rule match nothing.
WHITE_SPACE = " \t\v\f\0"

_UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_NOT_UTF8 = {0xDC00 + octet: f"%{octet:02X}" for octet in range(0x80, 0x100)}
_LINE_END = re.compile(r"\r\n?|\n")
_FROM_NUL = re.compile(rb"(?<=\r)(\0)[^\r\n]*(?=\n)|\0[^\r\n]*")


def searchable(body: bytes) -> str:
    """Return the text that the expressions below search.

    Latin-1, with a line end in front.
    """
    return "\n" + body.decode("latin-1")


def decode(text: str) -> str:
    """Decode a piece of searchable text as UTF-8. Other bytes become escapes."""
    if text.isascii():
        return text
    return (
        text.encode("latin-1").decode("utf-8", "surrogateescape").translate(_NOT_UTF8)
    )


def value_of(text: str) -> str:
    """Decode the value in a piece of searchable text, without trailing white space."""
    return decode(text.rstrip(WHITE_SPACE))


def rule_value(line: re.Match[str]) -> str:
    """Decode the value in a line that `Grammar.rule` found."""
    return value_of(line[2] + (line[3] or ""))


def line_number(text: str, offset: int) -> int:
    """Return the number, from 1, of the line that follows the line end at `offset`."""
    if "\r" not in text:
        return text.count("\n", 0, offset + 1)
    return sum(1 for _ in _LINE_END.finditer(text, 0, offset + 1))


def numbered(
    text: str, lines: Iterable[re.Match[str]]
) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the number, from 1, of each line that was found, in the file's order."""
    has_returns = "\r" in text
    number = 0
    read = 0
    for line in lines:
        begins = line.start() + 1
        if has_returns:
            number += sum(1 for _ in _LINE_END.finditer(text, read, begins))
        else:
            number += text.count("\n", read, begins)
        read = begins
        yield number, line


def line_ends(text: str) -> list[int]:
    """Return the offset of the line end before each line, for bisection."""
    return [end.start() for end in _LINE_END.finditer(text)]


_WHITE = rf"[{WHITE_SPACE}]"
_WS = f"{_WHITE}*"
_LITERAL = r"[!\"&-)+-~]*"  # printable ASCII but for space, #, $, % and *
_MEANINGLESS = r"[!\"&-)+->@-Z\]^-~]"  # nor ?, [ and \, which are special in globs

#: Spellings of Disallow and User-agent that Google's parser and Protego read.
_MISSPELT: dict[str, str] = {}
for _field_meant, _words in sorted(DIALECTS["google"].spellings):
    if _field_meant == "sitemap":
        continue
    for _word in _words:
        _MISSPELT[_word] = _field_meant

#: A line that is none of those in most files, or not as these are written: lower case.
_LINE_OF_OTHERS = re.compile(rb"\n(?!disallow:|user-agent:|allow:|#|\n|\Z)[^\n]*")

#: An empty line, without even a comment.
BLANK_LINE = re.compile(rf"(?:\r\n|\r(?!\n)|\n){_WS}(?=[\r\n])")


class Grammar:
    """The expressions of a dialect.

    Small files need few of them; the others are made when they are first used.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.has_prefixes = (
            dialect.patterns != "globs" and not dialect.index_htm_is_directory
        )
        """Whether a rule matches only URLs that begin with its literal head."""
        self.is_lenient = bool(
            dialect.spellings or dialect.field_by_prefix or dialect.colon_optional
        )
        """Whether fields are read that are spelt in another way, or lack the colon."""
        decides = dialect.precedence, dialect.empty_rules_decide
        self.can_list = (
            dialect.patterns != "globs"
            and decides in _LISTED
            and _are_known_by_first_letters(dialect)
        )
        """Whether `RuleList`, which knows fields by their first letters, decides as the
        dialect.
        """
        self._fallbacks = dict(dialect.fallbacks)
        self._fields: dict[str, re.Pattern[str]] = {}
        self._words = _words_sought(dialect)
        self._values_like: dict[str, re.Pattern[str]] = {}
        self._agent_name = re.compile(_agent_name(dialect), re.ASCII)
        self.full_url: re.Pattern[bytes] | None = None
        """What finds a rule whose value is a whole URL, and some that are none; None:
        the dialect reads no such values.
        """
        if dialect.full_urls and not dialect.paths_as_written:
            self.full_url = _full_url(dialect)
        self._rule_or_agent = None
        if self.can_list and _GROUPS(dialect) in _GROUPS_ALIKE:
            words = [*_RULE_OR_AGENT]
            for field in _RULE_OR_AGENT:
                words += _spellings(field, dialect)[1:]
            line = rf"\n{_WS}(?=(.)){_field(words, dialect)}{_WS}"
            line += _rule_value(dialect, has_prefixes=True)
            self._rule_or_agent = re.compile(line, re.ASCII)

    @cached_property
    def _agent_names(self) -> re.Pattern[str]:
        """The field of a User-agent line, in lower case."""
        return re.compile(_any_of(_spellings("user-agent", self.dialect)).lower())

    @cached_property
    def _agent_line(self) -> re.Pattern[str]:
        field = _field(_spellings("user-agent", self.dialect), self.dialect)
        return _line(field, rf"({_agent_name(self.dialect)})")

    @cached_property
    def rule(self) -> re.Pattern[str]:
        """A line with a rule.

        Groups: empty for Allow; the plain head of the value, ASCII without special
        characters; its rest; a literal after a star in the rest, or None. Most values
        are a head alone. Separating these here makes decisions cheap.
        """
        value = _rule_value(self.dialect, has_prefixes=self.has_prefixes)
        return _line(_rule_field(self.dialect), value)

    @cached_property
    def directive(self) -> re.Pattern[str]:
        """Any line with a field."""
        name = r"[^:#\r\n]*"
        if self.dialect.comment_needs_space:
            name = rf"(?:[^:#\r\n]|(?<!{_WHITE})#)*"
        return re.compile(rf"[\r\n]{_WS}[^:#\s\0]{name}:", re.ASCII)

    @cached_property
    def member(self) -> re.Pattern[str]:
        """A line with a field that applies to the agents of a group, as Crawl-delay."""
        members: list[str] = []
        for field in GROUP_FIELDS:
            members += _spellings(field, self.dialect)
        return _line(_field(members, self.dialect), "")

    @property
    def run_end(self) -> re.Pattern[str]:
        """A line that ends a run of User-agent lines."""
        return self.rule if self.dialect.run_ends_at == "rule" else self.directive

    def clean(self, body: bytes, max_bytes: int | None) -> bytes:
        """Return the bytes to read, in UTF-8 or as they are, without a byte-order mark.

        A longer body ends with the last whole line within `max_bytes`, as half a rule
        would be another rule. If nothing changes, the result is `body` itself, to save
        memory.
        """
        dialect = self.dialect
        too_long = max_bytes is not None and len(body) > max_bytes
        if max_bytes is not None and too_long:
            body = body[: max_bytes + 1]  # one more shows whether a line ends here
        if dialect.utf16 and body[:2] in UTF16_MARKS:
            body = body[2:].decode(UTF16_MARKS[body[:2]], "replace").encode()
        # Google skips a mark that was cut short as well
        elif body[:1] == _UTF8_MARK[:1]:
            body = _without_mark(body)
        if too_long:
            body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
        if dialect.nul_ends_line and b"\0" in body:
            # A line between CR and LF that becomes empty must not join them into one
            # line end.
            body = _FROM_NUL.sub(lambda cut: b" " if cut[1] else b"", body)
        limit = dialect.line_limit
        if limit is not None and len(body) > limit:
            lines = body.splitlines(keepends=True)
            body = b"".join(_cut(line, limit) for line in lines)
        return body

    def agent_lines(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the User-agent lines; their group is the name.

        A plain search for the word comes first: most lines are no User-agent lines.
        """
        for word in self._agent_names.finditer(text.lower()):
            start = word.start() - 1
            while text[start] in WHITE_SPACE:
                start -= 1
            line = self._agent_line.match(text, start)
            if line:
                yield line

    def robot_name(self, value: str) -> str:
        """Return the name in the value of a User-agent line; it may be empty."""
        name = self._agent_name.match(value)
        if name is None:
            return ""
        return name[0]

    def names_of(self, agent: str | tuple[str, ...]) -> tuple[str, ...]:
        """Return the lower-case names to look for, each followed by its fallbacks."""
        names = names_in_order(agent)
        others = self._fallbacks
        if others.keys().isdisjoint(names):
            return names
        all_names: list[str] = []
        for name in names:
            all_names += [name, *others.get(name, ())]
        return tuple(dict.fromkeys(all_names))

    def rules_in_small_file(
        self, body: bytes, robot: tuple[str, ...]
    ) -> list[RuleFound] | None:
        """Return the rules for a robot, of these names.

        None: groups need more than one look. It reads every line of interest once;
        `select_groups` serves all dialects, and large files.
        """
        if self._rule_or_agent is None:
            return None
        lines = self._rule_or_agent.findall(
            "\n" + body.decode("latin-1").replace("\r", "\n")
        )
        fields = "".join(map(itemgetter(0), lines)).lower()
        rules: list[RuleFound] = []
        everyone = len(robot)  # a place after all the names of the robot
        best = everyone + 1
        place = everyone + 2
        end = fields.find("u")
        # after each User-agent line; none: a name follows
        for others in fields.split("u")[1:]:
            name = lines[end][1] + lines[end][2]
            if name != "*":
                name = decode(self.robot_name(name)).lower()
            if name == "*":
                place = min(place, everyone)
            elif name in robot:
                place = min(place, robot.index(name))
            if place < best:
                best = place
                rules = []
            first = end + 1
            end = end + 1 + len(others)
            if others:
                if place == best:
                    rules += lines[first:end]
                place = everyone + 2
        return rules

    def rules_like(
        self, target: str, text: str, start: int, end: int
    ) -> Iterator[re.Match[str]]:
        """Yield the rule lines that may match a target; groups: see `rule`.

        It skips values whose first character after the slash is not special and differs
        from the target's. The search for the other colons runs at the speed of
        `memchr`, several times as fast as matching all lines.
        """
        if self.dialect.colon_optional or self.dialect.index_htm_is_directory:
            yield from self.rule.finditer(text, start, end)
            return
        character = target[1:2] if target.isascii() else ""
        if character not in self._values_like:
            same = f"(?!{re.escape(character)})" if character else ""
            unlike = rf":(?! ?/{same}{_MEANINGLESS})[^\r\n]*"  # one a line
            self._values_like[character] = re.compile(unlike)
        read = start
        for rest in self._values_like[character].finditer(text, start, end):
            at = rest.start()
            read = max(text.rfind("\n", read, at), text.rfind("\r", read, at), read)
            line = self.rule.match(text, read, end)
            if line:
                yield line

    def mentioned_in(self, body: bytes) -> tuple[str, ...]:
        """Return which of the fields that few files have a file may have.

        They are Sitemap, `OWN_FIELDS`, and misspellings of others. It has their names,
        anywhere in a line that is none of those in most files.
        """
        lower = b"\n" + body.lower().replace(b"\r", b"\n")
        others = b"".join(_LINE_OF_OTHERS.findall(lower))
        if not others:
            return ()
        return tuple([field for word, field in self._words if word in others])

    def misspelt_line(
        self, body: bytes, mentioned: Iterable[str]
    ) -> tuple[int, str, str] | None:
        """Return number, text and field of a rule, else a name, only for others.

        `mentioned`: what :meth:`mentioned_in` found.
        """
        for word in mentioned:
            field = _MISSPELT.get(word)
            if field is None:
                continue
            misspelt = rf"(?i:{word}){_WS}:[^#\r\n]*"
            text = searchable(body)
            line = re.search(rf"[\r\n]{_WS}({misspelt})", text)
            if line is not None:
                number = line_number(text, line.start())
                return number, value_of(line[1]), documented(field)
        return None

    def field_line(self, field: str) -> re.Pattern[str]:
        """Return the expression for lines with a field; its group is the value."""
        if field not in self._fields:
            names = _spellings(field, self.dialect)
            self._fields[field] = _line(
                _field(names, self.dialect), f"({_value(self.dialect)})"
            )
        return self._fields[field]

    def may_have(self, field: str, body: bytes) -> bool:
        """Whether a file has the name of a field anywhere that is seldom asked for."""
        lower = body.lower()
        names = _spellings(field, self.dialect)
        return any(name.encode() in lower for name in names)

    def values(
        self,
        field: str,
        body: bytes,
        spans: Iterable[tuple[int, int, int]] | None = None,
    ) -> list[tuple[int, str]]:
        """Return number and value of each line with a field, in spans or the file."""
        text = searchable(body)
        if spans is None:
            spans = [(0, len(text), 1)]
        expression = self.field_line(field)
        found: list[re.Match[str]] = []
        for start, end, _ in spans:
            found += expression.finditer(text, start, end)
        return [(number, value_of(line[1])) for number, line in numbered(text, found)]


@lru_cache(maxsize=64)
def grammar_of(dialect: str | Dialect) -> Grammar:
    """Return the grammar of a dialect, given by itself or by name.

    ValueError: unknown name.
    """
    if isinstance(dialect, Dialect):
        return Grammar(dialect)
    if dialect not in DIALECTS:
        raise ValueError(f"no dialect {dialect!r}: there are {', '.join(DIALECTS)}")
    return Grammar(DIALECTS[dialect])


def _without_mark(body: bytes) -> bytes:
    """Return a body without its byte-order mark, or what is there of the mark."""
    for size in (3, 2):
        if body.startswith(_UTF8_MARK[:size]):
            return body[size:]
    return body[1:]


def _cut(line: bytes, limit: int) -> bytes:
    """Return a line with its line end, and so many bytes before that at the most."""
    text = line.rstrip(b"\r\n")
    return text[:limit] + line[len(text) :]


def _are_known_by_first_letters(dialect: Dialect) -> bool:
    """Return whether each spelling begins as its field does."""
    for field, words in dialect.spellings:
        if any(word[:1] != field[0] for word in words):
            return False
    return True


def _line(field: str, value: str) -> re.Pattern[str]:
    return re.compile(rf"[\r\n]{_WS}{field}{_WS}{value}", re.ASCII)


@lru_cache(maxsize=1_000)
def _spellings(field: str, dialect: Dialect) -> tuple[str, ...]:
    return (field, *dict(dialect.spellings).get(field, ()))


def _words_sought(dialect: Dialect) -> list[tuple[bytes, str]]:
    """Return the words that a file is searched for, each with what it stands for.

    That is a field, or a misspelling that the dialect does not read.
    """
    words: list[tuple[bytes, str]] = []
    for field in ("sitemap", *OWN_FIELDS):
        words += [(name.encode(), field) for name in _spellings(field, dialect)]
    if not dialect.spellings:
        words += [(word.encode(), word) for word in _MISSPELT]
    return words


def _any_of(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, names))


def _field(names: Sequence[str], dialect: Dialect) -> str:
    """Return the expression for a field and its colon, or what the dialect accepts."""
    anything = r"[^:#\r\n]*" if dialect.field_by_prefix else _WS
    with_colon = rf"(?i:{_any_of(names)}){anything}:"
    if not dialect.colon_optional:
        return with_colon
    word = r"[^ \t:#\r\n]*"
    rest = word if dialect.field_by_prefix else ""
    name = _any_of(name for name in names if " " not in name)
    only_one = rf"{word}[^:#\s]{_WS}(?:[#\r\n]|\Z)"
    return rf"(?:{with_colon}|(?i:{name}){rest}[ \t]+(?={only_one}))"


def _rule_field(dialect: Dialect) -> str:
    disallow = _field(_spellings("disallow", dialect), dialect)
    if not dialect.honours_allow:
        return f"(?:(?=(.)){disallow})"
    allow = _field(_spellings("allow", dialect), dialect)
    return f"(?:(?=(.)){disallow}|{allow})"


def _rule_value(dialect: Dialect, *, has_prefixes: bool) -> str:
    rest = rf"((?:(?=[*/])[^#\r\n]*\*(?=[^*$\s#])({_LITERAL}))?{_value(dialect)})"
    if dialect.comment_needs_space or not has_prefixes:
        return f"(){rest}"
    return rf"(/{_LITERAL}|)(?:{_WS}(?![^#\r\n])|{rest})"


def _full_url(dialect: Dialect) -> re.Pattern[bytes]:
    """It begins with a colon, as that is fast to find, and looks back from there."""
    names = (*_spellings("disallow", dialect), *_spellings("allow", dialect))
    ends = "".join(sorted({name[-1] for name in names}))
    colon = rf":(?<=[{ends}{ends.upper()}{WHITE_SPACE}]:)"
    if dialect.field_by_prefix or dialect.colon_optional:
        colon = rf"[:{_WHITE[1:]}"
    return re.compile(rf"{colon}{_WS}[A-Za-z][A-Za-z0-9+.\-]*://".encode())


def _value(dialect: Dialect) -> str:
    if dialect.comment_needs_space:
        return rf"[^#\r\n]*(?:(?<!{_WHITE})#[^#\r\n]*)*"
    return r"[^#\r\n]*"


def _agent_name(dialect: Dialect) -> str:
    if dialect.agent_match == "google":
        return r"\*(?=[\s#]|\Z)|[A-Za-z_\-]*"
    # A hash that begins no comment is part of the name; the other characters end a name
    # in every dialect: "Baiduspider+", "Examplebot, Otherbot", "Examplebot*".
    ends = r"\s\0/*+,;" if dialect.comment_needs_space else r"\s\0/*+,;#"
    return rf"\*(?=[{ends}]|\Z)|[^{ends}]*"


RuleFound = tuple[str, str, str, str]
"""What `Grammar.rule` finds in a line. Of a small file, its first text is the first
letter of the field, also for Allow.
"""

_RULE_OR_AGENT = ("disallow", "user-agent", "allow")
# Precedences, and whether empty rules decide, with which only rules that match a URL
# decide on it, and an empty rule changes nothing.
_LISTED = {("longest", False), ("longest", True), ("first", False)}
_GROUPS = attrgetter(
    *("agent_match", "blank_line_ends_group", "comment_needs_space", "honours_allow"),
    *("repeated_agent", "robot_version", "run_ends_at", "star_stops"),
)
# Of dialects whose groups are Mandelbot's, but for where a name ends.
_GROUPS_ALIKE = [_GROUPS(DIALECTS[name]) for name in ("mandelbot", "google")]
