"""Checks of a User-agent line: the name, and which robots read it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mandelbot.findings.source import LintHit, quoted, readable
from mandelbot.findings.spelling import Spelling
from mandelbot.robotstxt.known_robots import KNOWN_ROBOTS
from mandelbot.robotstxt.records import RecordProblem, name_of

if TYPE_CHECKING:
    from mandelbot.findings.source import Check
    from mandelbot.robotstxt.records import Record

_OTHERS = """
aihitbot alphabot apis-google aspiegelbot awariobot backlinkcrawler
baiduspider-image baiduspider-video bingpreview botify claude-web cliqzbot coccocbot
cognitivebot copyscape daum deepcrawl discobot domainstatsbot duckduckgo-favicons-bot
emailcollector emailsiphon emailwolf exabot facebot feedfetcher-google freefind
friendlycrawler gigabot google-inspectiontool googlebot-mobile googleother-image
googleother-video grapeshot gsa-crawler heritrix httrack ioncrawl issuecrawler
jikespider kangaroo larbin libwww linguee linkchecker linkdexbot linkfluence linkwalker
lipperhey ltx71 magpie-crawler mail.ru_bot mandelbot mauibot megaindex megalodon msnbot
msnbot-media naverbot nerdybot netcraftsurveyagent netestate newsnow nutch obot
omgilibot orangebot pagesinventory panscient pinterest piplbot proximic psbot pulsepoint
qwantify rytebot safednsbot scooter scoutjet scrapy searchmetricsbot seekport
seekportbot
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

_KNOWN = frozenset(ROBOT_NAMES)
_SPELLING = Spelling(ROBOT_NAMES, shortest=6)
_WORD = re.compile(r"[a-z0-9]+")


def _words_of(name: str) -> frozenset[str]:
    """Return the words of a lower-case name, each without a "bot" at its end."""
    words = (word.removesuffix("bot") for word in _WORD.findall(name))
    return frozenset(filter(None, words))


#: Names by their words, of two or more: ``GoogleBot-Extended`` is Google-Extended.
_BY_WORDS = {
    words: name
    for name, words in ((name, _words_of(name)) for name in reversed(ROBOT_NAMES))
    if len(words) > 1
}
#: What people call robots that have another name: products and companies.
_MEANT = {
    "ahrefs": "AhrefsBot",
    "amazon": "Amazonbot",
    "anthropic": "ClaudeBot",
    "apple": "Applebot",
    "baidu": "Baiduspider",
    "bing": "Bingbot",
    "bytedance": "Bytespider",
    "chatgpt": "ChatGPT-User",
    "chatgptbot": "GPTBot",
    "claude": "ClaudeBot",
    "commoncrawl": "CCBot",
    "copilot": "Bingbot",
    "deepseek": "DeepSeekBot",
    "duckduckgo": "DuckDuckBot",
    "facebook": "facebookexternalhit",
    "gemini": "Google-Extended",
    "google": "Googlebot",
    "gpt": "GPTBot",
    "huawei": "PetalBot",
    "internetarchive": "archive.org_bot",
    "linkedin": "LinkedInBot",
    "meta": "Meta-ExternalAgent",
    "mistral": "MistralAI-User",
    "moz": "rogerbot",
    "naver": "Yeti",
    "openai": "GPTBot",
    "perplexity": "PerplexityBot",
    "qwant": "Qwantbot",
    "semrush": "SemrushBot",
    "seznam": "SeznamBot",
    "tiktok": "TikTokSpider",
    "twitter": "Twitterbot",
    "yahoo": "Slurp",
}
#: What people write for all robots, which is ``*`` alone.
_FOR_ALL = frozenset(
    f"{every} {whom}"
    for every in ("all", "any", "every")
    for whom in ("bot", "bots", "crawler", "crawlers", "robot", "robots", "spiders")
) | {
    *("all", "any", "anybody", "anyone", "every", "everybody", "everyone", ".*", "%"),
    *("bots", "crawlers", "robots", "spiders"),
}
_QUOTES = frozenset("\"'`“”„‘’‚‹›«»<>")  # noqa: RUF001 -- quotes of other scripts
_BRACKETS = frozenset({"()", "[]", "{}"})
_ODD_BYTES = re.compile(r"\A(?:%[89A-Fa-f][0-9A-Fa-f])+|(?:%[89A-Fa-f][0-9A-Fa-f])+\Z")
_SEPARATORS = re.compile("[,;|]")
_NAME = re.compile(r"\*|[A-Za-z][\w.\- ]*(?:/[\d.]+)?")
_GOOGLES_NAME = re.compile(r"[A-Za-z_\-]*")


def check_agent(record: Record) -> Check:
    """The worst fault of a User-agent line, and what Google makes of the name."""
    value = record.value
    number = record.number
    if value == "*":
        return
    if not value:
        yield LintHit("empty-agent", number, "The User-agent has no name.")
        return
    name = name_of(record)
    found = _no_robots_name(record) or _more_than_a_name(value, name)
    if found:
        yield LintHit(found[0], number, found[1])
    else:
        yield from _check_spelling(name, number)
    read = _GOOGLES_NAME.match(name)
    if read and read[0] != name and name != "*":
        message = f"Google's parser reads {quoted(read[0])} of {quoted(name)}."
        if not read[0]:
            message = f"Google reads no name in {quoted(name)}: it obeys no such group."
        yield LintHit("agent-characters", number, message)


def _no_robots_name(record: Record) -> tuple[str, str] | None:
    """Return the code and the message of a value that is the name of no robot."""
    value = record.value
    said = quoted(value)
    is_utf8 = RecordProblem.NOT_UTF8 not in record.problems
    if not is_utf8 and _is_name(_ODD_BYTES.sub("", value)):
        message = f"There is a byte that is not UTF-8 beside the name in {said}."
        return "invisible-character", message
    if value.lower() in _FOR_ALL:
        return "name-for-all", f"No robot is called {said}: write * for all robots."
    is_in_brackets = value[0] + value[-1] in _BRACKETS
    if is_in_brackets or value[0] in _QUOTES or value[-1] in _QUOTES:
        return "quoted-name", f"There are quotes around the name in {said}."
    return None


def _more_than_a_name(value: str, name: str) -> tuple[str, str] | None:
    """Return the code and the message of a value that is not a name alone."""
    said = quoted(value)
    read = f"robots read {quoted(name)}."
    if "(" in value or "://" in value or value.lower().startswith("mozilla/"):
        return "agent-is-header", f"{said} is a whole header; {read}"
    if _is_several(value):
        lines = "; ".join(
            f"User-agent: {readable(one)}" for one in _names_in(value)[:_MOST_NAMES]
        )
        return "several-names", f"{said} names several robots: write {lines}."
    if "*" in value and not name:
        found = "star-in-agent", f"{said} begins with *, and names no robot."
    elif not name:
        found = "empty-agent", f"There is no name in {said}."
    elif name == "*":
        message = f"{said} is more than *: Google reads no name in it."
        found = "star-in-agent", message
    elif "*" in value:
        found = "agent-characters", f"{said} mixes * with other characters: {read}"
    elif "/" in value:
        found = "agent-with-version", f"{said} has a version; {read}"
    elif len(value.split()) > 1:
        found = "space-in-agent", f"There is a space in {said}; {read}"
    else:
        return None
    return found


_MOST_NAMES = 5  # that a message writes as lines


def _names_in(value: str) -> list[str]:
    """Return the names in a value, between commas and the like, or else blanks."""
    parts = [part.strip() for part in _SEPARATORS.split(value) if part.strip()]
    return parts if len(parts) > 1 else value.split()


def _is_several(value: str) -> bool:
    parts = [part.strip() for part in _SEPARATORS.split(value) if part.strip()]
    if len(parts) > 1:
        return all(map(_NAME.fullmatch, parts))
    names = value.lower().split()
    return len(names) > 1 and all(name in _KNOWN or name == "*" for name in names)


def _is_name(value: str) -> bool:
    return value == "*" or value.lower() in _KNOWN


def _check_spelling(name: str, number: int) -> Check:
    lower = name.lower()
    meant = None
    if lower not in _KNOWN:
        joined = lower.replace("-", "").replace("_", "")
        meant = _MEANT.get(joined) or _SPELLING.surely_corrected(name)
        by_words = _BY_WORDS.get(_words_of(lower))
        # A name without the "bot" may be another one: Mail.Ru, Mail.RU_Bot.
        if by_words and not meant and ("bot" in lower or "bot" not in by_words):
            meant = by_words
    if meant:
        message = (
            f"No known robot is called {quoted(name)}: did you mean {quoted(meant)}?"
        )
        yield LintHit("misspelt-agent", number, message)
