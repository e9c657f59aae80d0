"""Headers and URLs of answers, as long as anyone likes."""

from __future__ import annotations

from types import SimpleNamespace
from urllib.parse import urlsplit

from growth import Row, numbered, repeated
from scrapy_mandelbot.robots.origins import host_of as _host_of
from scrapy_mandelbot.robots.origins import is_inside as _is_inside
from scrapy_mandelbot.robots.origins import leads_inside as _leads_inside
from scrapy_mandelbot.robots.origins import robots_url as _robots_url
from scrapy_mandelbot.robots.origins import site_of as _site_of
from scrapy_mandelbot.robots.origins import value_for as _value_for
from scrapy_mandelbot.robots.origins import without_user as _without_user
from scrapy_mandelbot.robots.pace import PaceLaw as _PaceLaw
from scrapy_mandelbot.robots.pace import pace_of_file as _pace_of_file
from scrapy_mandelbot.robots.pace import unreadable_lines as _unreadable_lines
from scrapy_mandelbot.robots.retry_after import parse_retry_after as _parse_retry_after
from scrapy_mandelbot.robots.retry_after import wait_asked_for as _wait_asked_for

politeness = SimpleNamespace(
    PaceLaw=_PaceLaw,
    host_of=_host_of,
    is_inside=_is_inside,
    leads_inside=_leads_inside,
    pace_of_file=_pace_of_file,
    parse_retry_after=_parse_retry_after,
    robots_url=_robots_url,
    site_of=_site_of,
    unreadable_lines=_unreadable_lines,
    value_for=_value_for,
    wait_asked_for=_wait_asked_for,
    without_user=_without_user,
)
from scrapy_mandelbot.robots.robotstxt import RobotsTxt
from scrapy_mandelbot.sites import sections as parts

_RATE_LIMITS = {
    "policies": repeated(b'"a";r=0;t=1, '),
    "quotes": repeated(b'"'),
    "letters": repeated(b"t"),
    "no end of a parameter": repeated(b"t ="),
}
_HEADERS = {
    "digits": repeated(b"9"),
    "digits and a dot": repeated(b"9", b"3."),
    "dots": repeated(b".", b"3"),
    "spaces": repeated(b" ", b"3", b"x"),
    "a date and spaces": repeated(b" ", b"Sun, 06 Nov 1994 08:50:37", b"GMT"),
    "a date and words": repeated(b"x ", b"Sun, 06 Nov 1994 08:50:37 "),
    "commas": repeated(b","),
    "hyphens": repeated(b"-", b"Sun, 06"),
    "colons": repeated(b":", b"Sun, 06 Nov 1994 08"),
    "plus signs": repeated(b"+", b"Sun, 06 Nov 1994 08:50:37 "),
    "brackets": repeated(b"(", b"Sun, 06 Nov 1994 08:50:37 GMT "),
    "letters": repeated(b"a"),
    "octets": repeated(b"\xff"),
}
_HOSTS = {
    "letters": repeated(b"a"),
    "labels": repeated(b"a."),
    "digits": repeated(b"1"),
    "numbers": repeated(b"1."),
    "hex": repeated(b"f", b"0x"),
    "colons": repeated(b":"),
    "zeros": repeated(b"0:"),
    "escapes": repeated(b"%31"),
    "combining signs": repeated("\u0316\u0300".encode(), b"a"),
    "what grows when it is normalised": repeated("\ufdfa".encode()),
}
_URLS = {
    "a long host": repeated(b"a", b"https://", b".example/"),
    "labels": repeated(b"a.", b"https://", b"example/"),
    "dots": repeated(b".", b"https://example", b"/"),
    "users": repeated(b"u@", b"https://", b"example/"),
    "colons": repeated(b":", b"https://example", b"/"),
    "a long port": repeated(b"1", b"https://example:", b"/"),
}


def _windows(template):
    """Return the shape of a line for one part of the day after another, no two alike."""

    def make(size):
        lines = [b"User-agent: *\nRobot-version: 2.0\n"]
        for number in range(size // len(template)):
            length, start = divmod(number, 1440)
            end = (start + length + 600) % 1440
            lines.append(template % (number + 1, *divmod(start, 60), *divmod(end, 60)))
        return b"".join(lines)

    return make


_PACES = {
    "delays": numbered(b"Crawl-delay: %d\n", b"User-agent: *\n"),
    "rates": numbered(b"Request-rate: 1/%d\n", b"User-agent: *\nRobot-version: 2.0\n"),
    "rates at times": repeated(
        b"Request-rate: 1/10m 1300-1659\n", b"User-agent: *\nRobot-version: 2.0\n"
    ),
    "visits": repeated(b"Visit-time: 0600-0845\n", b"User-agent: *\nRobot-version: 2.0\n"),
    "what cannot be read": repeated(
        b"Visit-time: x\nRequest-rate: 5/0\n", b"User-agent: *\nRobot-version: 2.0\n"
    ),
    "rates at other times": _windows(b"Request-rate: 1/%d %02d%02d-%02d%02d\n"),
    "digits": repeated(b"9", b"User-agent: *\nCrawl-delay: "),
}


def _file(body):
    return RobotsTxt.parse(body, dialect="extended2")


def _pace(body):
    return politeness.pace_of_file(_file(body), "bot", politeness.PaceLaw())


def _wait(value):
    quota = {"RateLimit-Reset": value, "RateLimit-Remaining": value}
    return [politeness.wait_asked_for(one.get, 1e9) for one in ({"RateLimit": value}, quota)]


def _site(url):
    return politeness.site_of(_split(url))


def _split(url):
    return urlsplit(url.decode())


ROWS = (
    Row("politeness.parse_retry_after", lambda it: politeness.parse_retry_after(it, 1e9), _HEADERS),
    Row("politeness.wait_asked_for", _wait, _HEADERS | _RATE_LIMITS),
    Row("politeness.site_of", politeness.site_of, _URLS, prepare=_split),
    Row("politeness.host_of", politeness.host_of, _URLS, prepare=_site),
    Row(
        "politeness.value_for",
        lambda site: politeness.value_for(site, {"*.example.com": 1}),
        _URLS,
        prepare=_site,
    ),
    Row(
        "politeness.sections_of",
        lambda url: list(parts.sections_of(url)),
        _URLS,
        prepare=bytes.decode,
    ),
    Row("politeness.without_user", politeness.without_user, _URLS, prepare=bytes.decode),
    Row(
        "politeness.leads_inside",
        lambda url: politeness.leads_inside("https://example.com", url),
        _URLS,
        prepare=bytes.decode,
    ),
    Row("politeness.is_inside", politeness.is_inside, _HOSTS, prepare=bytes.decode),
    Row("politeness.robots_url", politeness.robots_url, _URLS, prepare=_site),
    Row(
        "politeness.pace_of_file",
        lambda robots: politeness.pace_of_file(robots, "bot", politeness.PaceLaw()),
        _PACES,
        prepare=_file,
    ),
    Row(
        "politeness.unreadable_lines",
        lambda robots: politeness.unreadable_lines(robots, "bot"),
        _PACES,
        prepare=_file,
    ),
)
ROWS += tuple(
    Row(f"politeness.Pace.{name}", run, _PACES, prepare=_pace)
    for name, run in (
        ("due", lambda pace: pace.due(1e9)),
        ("is_free", lambda pace: pace.is_free),
        ("is_free_at", lambda pace: pace.is_free_at(1e9)),
        ("opens", lambda pace: pace.opens(1e9)),
        ("visits_in_words", lambda pace: (pace.visits_in_words, str(pace))),
    )
)

_NUMBERS = "numbers, times and words of ours"

NOT_FROM_OUTSIDE = {
    "politeness.conditions": "hands on a copy's validators, each as it is",
    "politeness.is_fresh": _NUMBERS,
    "politeness.kept_outcome": "a status",
    "politeness.may_be_misreported": "a status, a number, a yes or no",
    "politeness.counted_as": "a status, a failure, a digest",
    "politeness.outcome_of": "a status, a number, a yes or no",
    "politeness.pace_by_hand": "from the settings",
    "politeness.LeftPause": _NUMBERS,
    "politeness.Metronome": _NUMBERS,
    "politeness.Outcome": "a status",
    "politeness.Pause": _NUMBERS,
    "politeness.PauseLaw": _NUMBERS,
    "politeness.Recovery": _NUMBERS,
    "politeness.Parts": "URLs and fingerprints; `sections_of` is measured, what is kept bounded",
    "politeness.Section": "numbers and fingerprints, sixteen at most",
    "politeness.SiteState": "numbers, fingerprints, and paces, which are measured",
}
