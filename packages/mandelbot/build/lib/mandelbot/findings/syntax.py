"""Checks of each line by itself: field, colon, comment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from mandelbot.findings.source import ABSOLUTE_URL, LintHit, field_of, quoted
from mandelbot.robotstxt.dialects import FIELDS, documented
from mandelbot.robotstxt.grammar import WHITE_SPACE
from mandelbot.robotstxt.known_robots import KNOWN_ROBOTS
from mandelbot.robotstxt.records import RecordProblem, name_of

if TYPE_CHECKING:
    from mandelbot.findings.source import Check, LintInput
    from mandelbot.robotstxt.records import Record

_OTHERS = """
adsbot-google-mobile aihitbot alphabot aspiegelbot awariobot backlinkcrawler
baiduspider-image baiduspider-video bingpreview botify claude-web cliqzbot coccocbot
cognitivebot copyscape daum deepcrawl discobot domainstatsbot duckduckgo-favicons-bot
emailcollector emailsiphon emailwolf exabot facebot feedfetcher-google freefind
friendlycrawler gigabot google-inspectiontool googlebot-mobile googleother-image
googleother-video grapeshot gsa-crawler heritrix httrack ioncrawl issuecrawler
jikespider kangaroo larbin libwww linguee linkchecker linkdexbot linkfluence linkwalker
lipperhey ltx71 magpie-crawler mail.ru_bot mandelbot mauibot megaindex megalodon msnbot
msnbot-media naverbot nerdybot netcraftsurveyagent netestate newsnow nutch obot
omgilibot orangebot pagesinventory panscient piplbot proximic psbot pulsepoint qwantify
rytebot safednsbot scooter scoutjet scrapy searchmetricsbot seekport seekportbot
semanticscholarbot semrushbot-ba semrushbot-sa semrushbot-si semrushbot-swa seobilitybot
seokicks seokicks-robot sidewinder siteauditbot sitebot sitecheckerbot sitesnagger
smtbot sogou sosospider spbot spinn3r surveybot swiftbot telegrambot teleport
teleportpro teoma trendictionbot turnitinbot ubicrawler uptimerobot
velenpublicwebcrawler voilabot voltron webcopier webcrawler webmeup-crawler webreaper
webstripper webzip wget whatsapp wonderbot wotbox xaldon xenu xenu's yacybot yahoo-slurp
yandex yandexaccessibilitybot yandexadditional yandexblogs yandexmedia yandexmetrika
yandexmobilebot yandexnews yandexvideo yisouspider yodaobot youbot youdaobot zealbot
zgrab zoominfobot zyborg
""".split()  # noqa: SIM905 - words to be read

ROBOT_NAMES = sorted({robot.name.lower() for robot in KNOWN_ROBOTS} | set(_OTHERS))
"""In lower case."""


_NO_LETTERS = re.compile(r"[\W_]+")
_REPEATED = re.compile(r"(.)\1+")
_LONG = 9  # characters: words this long are seldom similar by chance
_LONGEST = 40  # characters: no known word is as long


class Spelling:
    """A list of known words."""

    def __init__(self, known: Iterable[str], *, shortest: int) -> None:
        self._shortest = shortest
        """Characters of the shortest word that is corrected: short ones are similar by
        chance.
        """
        self._known: dict[str, str] = {}
        for word in known:
            for form in _forms(_simplified(word)):
                self._known.setdefault(form, word)

    def corrected(self, word: str) -> str | None:
        """Return the known word that is like this one; None: there is none."""
        if not self._shortest <= len(word) <= _LONGEST:
            return None
        forms = _forms(_simplified(word))
        return next((self._known[form] for form in forms if form in self._known), None)

    def surely_corrected(self, word: str) -> str | None:
        """Like `corrected`, for words of which only some are known, such as names.

        The first letter is the same, and a short word has a letter too few, too many,
        or two swapped: ``Roverbot`` is not Rogerbot.
        """
        known = self.corrected(word)
        if known is None or known[0] != word[0].lower():
            return None
        ours = _simplified(word)
        its = _simplified(known)
        one_is_wrong = len(ours) == len(its) and sorted(ours) != sorted(its)
        if one_is_wrong and len(known) < _LONG:
            return None
        return known


def _simplified(word: str) -> str:
    """Return the letters and digits in lower case, doubled ones as one.

    ``dissallow``.
    """
    return _REPEATED.sub(r"\1", _NO_LETTERS.sub("", word.lower()))


def _forms(word: str) -> Iterator[str]:
    yield word
    for at in range(len(word)):
        yield word[:at] + word[at + 1 :]


_KNOWN = frozenset(ROBOT_NAMES)
_SPELLING = Spelling(ROBOT_NAMES, shortest=6)
_SEPARATORS = re.compile("[,;|]")
_NAME = re.compile(r"\*|[A-Za-z][\w.\- ]*(?:/[\d.]+)?")
_GOOGLES_NAME = re.compile(r"[A-Za-z_\-]*")


def check_agent(record: Record) -> Check:
    """The worst fault of a User-agent line, and what Google makes of the name."""
    value = record.value
    number = record.number
    name = name_of(record)
    if not value:
        yield LintHit("empty-agent", number, "The User-agent has no name.")
    elif value == "*":
        return
    elif "(" in value or "://" in value or value.lower().startswith("mozilla/"):
        message = f"{quoted(value)} is a whole header; robots read {quoted(name)}."
        yield LintHit("agent-is-header", number, message)
    elif _is_several(value):
        message = f"{quoted(value)} names several robots; robots read {quoted(name)}."
        yield LintHit("several-names", number, message)
    elif "*" in value:
        message = (
            f"{quoted(value)} mixes * with other characters: robots read"
            f" {quoted(name)}."
        )
        yield LintHit("agent-characters" if name else "star-in-agent", number, message)
    elif "/" in value:
        message = f"{quoted(value)} has a version; robots read {quoted(name)}."
        yield LintHit("agent-with-version", number, message)
    elif len(value.split()) > 1:
        message = f"There is a space in {quoted(value)}; robots read {quoted(name)}."
        yield LintHit("space-in-agent", number, message)
    else:
        yield from _check_spelling(name, number)
    read = _GOOGLES_NAME.match(name)
    if read and read[0] != name and name != "*":
        message = f"Google's parser reads {quoted(read[0])} of {quoted(name)}."
        yield LintHit("agent-characters", number, message)


def _is_several(value: str) -> bool:
    parts = [part.strip() for part in _SEPARATORS.split(value) if part.strip()]
    if len(parts) > 1:
        return all(map(_NAME.fullmatch, parts))
    names = value.lower().split()
    return len(names) > 1 and all(name in _KNOWN or name == "*" for name in names)


def _check_spelling(name: str, number: int) -> Check:
    meant = None if name.lower() in _KNOWN else _SPELLING.surely_corrected(name)
    if meant:
        message = (
            f"No known robot is called {quoted(name)}: did you mean {quoted(meant)}?"
        )
        yield LintHit("misspelt-agent", number, message)


_FIELDS = Spelling(FIELDS, shortest=4)
_TAGS = frozenset(
    {"noindex", "nofollow", "noarchive", "nosnippet", "noimageindex", "index"}
)
_SCHEMES = frozenset({"http", "https", "ftp"})
_FIRST_WORD = re.compile(r"[A-Za-z][A-Za-z\-_ ]*[A-Za-z]")
_WRONG_COLON = re.compile(r"\s*[;=,：﹕∶]")  # noqa: RUF001 - colons of other scripts
_NEXT_DIRECTIVE = re.compile(
    rf"(?:^|\s)({'|'.join(FIELDS)})\s*:\s*(?=\S)", re.ASCII | re.IGNORECASE
)


def check_syntax(record: Record, source: LintInput) -> Check:
    """What is wrong with a line, whatever its field means."""
    number = record.number
    for problem in record.problems:
        if problem in _PROBLEMS and not source.is_html:
            yield from _PROBLEMS[problem](record)
    if not record.field:
        return
    if record.raw.partition(":")[0][-1:] in WHITE_SPACE:
        yield LintHit(
            "space-before-colon",
            number,
            f"There is a space after {quoted(record.name)}.",
        )
    following = None
    if record.field != "comment":
        following = _NEXT_DIRECTIVE.search(record.value)
    if following:
        message = (
            f"{documented(following[1].lower())} is in the line of another directive."
        )
        yield LintHit("several-directives", number, message)
    if record.comment is None:
        return
    if record.value and record.raw[: -len(record.comment) - 1][-1:] not in WHITE_SPACE:
        message = f"The value ends before the #: it is {quoted(record.value)}."
        yield LintHit("hash-without-space", number, message)
    else:
        message = f"A comment follows {field_of(record)} in the same line."
        yield LintHit("comment-after-directive", number, message)


def _no_colon(record: Record) -> Check:
    text = record.raw.partition("#")[0].strip(WHITE_SPACE)
    word = _FIRST_WORD.match(text)
    field = _field_in(word[0]) if word else None
    if not word or field is None:
        message = f"{quoted(text)} is neither a directive nor a comment."
        yield LintHit("not-a-directive", record.number, message)
    elif _WRONG_COLON.match(text, len(field[0])):
        sign = text[len(field[0]) :].lstrip()[0]
        message = f"There is {quoted(sign)} instead of a colon after {field[0]}."
        yield LintHit("semicolon-for-colon", record.number, message)
    else:
        yield LintHit(
            "missing-colon", record.number, f"There is no colon after {field[0]}."
        )


def meant_field(record: Record) -> str:
    """Return the field of a line, or the one that it misspells; empty: neither."""
    return _field_of(record)[1]


def _field_of(record: Record) -> tuple[str, str]:
    """Return the field as the line spells it, and the one that it means."""
    if RecordProblem.NO_COLON in record.problems:
        word = _FIRST_WORD.match(record.raw.partition("#")[0].strip(WHITE_SPACE))
        return (word and _field_in(word[0])) or ("", "")
    if RecordProblem.UNKNOWN_FIELD in record.problems:
        return record.name, _FIELDS.corrected(record.name) or ""
    return record.name, record.field


def is_agent_misspelt(record: Record) -> bool:
    """Return whether a line misspells User-agent in a way that some robots accept."""
    return record.field != "user-agent" and meant_field(record) == "user-agent"


def _field_in(words: str) -> tuple[str, str] | None:
    """Return as much of the words as is a field, and which one.

    ``User agent`` of two words.
    """
    for text in (" ".join(words.split()[:2]), words.split(maxsplit=1)[0]):
        field = text.lower() if text.lower() in FIELDS else _FIELDS.corrected(text)
        if field and words.startswith(text):
            return text, field
    return None


_RULES = frozenset({"allow", "disallow"})
_HOST = r"www\.|[\w\-]+\.[\w\-]+[./]"
_NOTHING = r"(?:all|no|none|nothing|null)\Z"
_WITHOUT_SLASH = re.compile(
    rf"(?!{_HOST}|{_NOTHING})[\w~][^\s,:]*", re.ASCII | re.IGNORECASE
)
_MANY = re.compile(r"/[^\s,]*(?:(?:\s*,\s*|\s+)/[^\s,]*)+")
_SURE = {
    **dict.fromkeys(_RULES, re.compile(r"/\S*")),
    "sitemap": ABSOLUTE_URL,
    "user-agent": re.compile(r"\*|[\w.\-]+"),
}
"""Values that show, behind a field without its colon, that the line is no sentence."""


def mended(record: Record, url: str = "") -> list[str]:
    """Return the lines that a line evidently means; itself if it is right or unclear.

    That are a field that is misspelt or without its colon, several paths in one line, a
    path without its slash, and a relative sitemap where the `url` of the file is known.
    """
    name, field = _field_of(record)
    text = record.raw.partition("#")[0].strip(WHITE_SPACE)
    value = record.value
    if name and not record.name:
        value = _WRONG_COLON.sub("", text[len(name) :], count=1).strip(WHITE_SPACE)
        if field not in _SURE or not _SURE[field].fullmatch(value):
            return [record.raw]
    values = [value]
    if field in _RULES and _MANY.fullmatch(value):
        values = re.split(r"[\s,]+", value)
    elif field in _RULES and _WITHOUT_SLASH.fullmatch(value):
        values = [f"/{value}"]
    elif (
        field == "sitemap"
        and url
        and (_WITHOUT_SLASH.fullmatch(value) or value[:1] == "/")
    ):
        values = [urljoin(url, value)]
    is_right = not field or (field == record.field and values == [record.value])
    if is_right or RecordProblem.NOT_UTF8 in record.problems:
        return [record.raw]
    name = name if field == record.field else documented(field)
    first, *others = (f"{name}: {one}".rstrip() for one in values)
    return [record.raw.replace(text, first, 1), *others]


def _no_field(record: Record) -> Check:
    yield LintHit(
        "no-field", record.number, f"There is no field in {quoted(record.raw)}."
    )


def _unknown_field(record: Record) -> Check:
    meant = _FIELDS.corrected(record.name)
    if record.field in _SCHEMES and record.value.startswith("//"):
        message = f"There is a URL without a field: {quoted(record.raw.strip())}."
        yield LintHit("not-a-directive", record.number, message)
    elif record.field in _TAGS:
        message = f"{field_of(record)} has no effect in robots.txt."
        yield LintHit("noindex", record.number, message)
    elif meant:
        message = (
            f"{quoted(record.name)} is not a field: did you mean {documented(meant)}?"
        )
        yield LintHit("misspelt-field", record.number, message)
    else:
        message = f"No known robot reads {quoted(record.name)}."
        yield LintHit("unknown-field", record.number, message)


def _no_value(record: Record) -> Check:
    if record.field not in {"allow", "user-agent"}:  # these have rows of their own
        yield LintHit("no-value", record.number, f"{field_of(record)} has no value.")


_PROBLEMS: dict[RecordProblem, Callable[[Record], Check]] = {
    RecordProblem.NO_COLON: _no_colon,
    RecordProblem.NO_FIELD: _no_field,
    RecordProblem.UNKNOWN_FIELD: _unknown_field,
    RecordProblem.NO_VALUE: _no_value,
}
