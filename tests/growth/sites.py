"""Headers and URLs of answers, as long as anyone likes."""

from __future__ import annotations

from urllib.parse import urlsplit

from mandelbot import RobotsTxt, origins
from mandelbot.answers import inside, retry_after

from growth import Row, numbered, repeated
from scrapy_mandelbot.politeness import bot_blocks, faults, pace

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
    """Return the shape of a line for successive parts of the day, all different."""

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
    "visits": repeated(
        b"Visit-time: 0600-0845\n", b"User-agent: *\nRobot-version: 2.0\n"
    ),
    "what cannot be read": repeated(
        b"Visit-time: x\nRequest-rate: 5/0\n", b"User-agent: *\nRobot-version: 2.0\n"
    ),
    "rates at other times": _windows(b"Request-rate: 1/%d %02d%02d-%02d%02d\n"),
    "digits": repeated(b"9", b"User-agent: *\nCrawl-delay: "),
}


def _file(body):
    return RobotsTxt.parse(body, dialect="extended2")


def _pace(body):
    return pace.pace_of_file(_file(body), "bot", pace.PacePolicy())


def _wait(value):
    quota = {"RateLimit-Reset": value, "RateLimit-Remaining": value}
    used_up = {"X-RateLimit-Reset": value, "X-RateLimit-Remaining": b"0"}
    headers = ({"Retry-After": value}, {"RateLimit": value}, quota, used_up)
    return [retry_after.wait_asked_for(one.get, 1e9, 403) for one in headers]


def _quota(value):
    quota = {"RateLimit-Reset": value, "RateLimit-Remaining": value}
    return [retry_after.quota_of(one.get, 1e9) for one in ({"RateLimit": value}, quota)]


def _site(url):
    return origins.site_of(_split(url))


def _split(url):
    return urlsplit(url.decode())


ROWS = (
    Row("sites.wait_asked_for", _wait, _HEADERS | _RATE_LIMITS),
    Row("sites.quota_of", _quota, _HEADERS | _RATE_LIMITS),
    Row("sites.site_of", origins.site_of, _URLS, prepare=_split),
    Row("sites.host_of", origins.host_of, _URLS, prepare=_site),
    Row(
        "sites.value_for",
        lambda site: origins.value_for(site, {"*.example.com": 1}),
        _URLS,
        prepare=_site,
    ),
    Row("sites.place_of", bot_blocks.place_of, _URLS, prepare=bytes.decode),
    Row(
        "sites.sections_of",
        lambda url: list(faults.sections_of(url)),
        _URLS,
        prepare=bytes.decode,
    ),
    Row(
        "sites.paths_around",
        lambda url: list(faults.paths_around(url)),
        _URLS,
        prepare=bytes.decode,
    ),
    Row("sites.without_user", origins.without_user, _URLS, prepare=bytes.decode),
    Row(
        "sites.leads_inside",
        lambda url: inside.leads_inside("https://example.com", url),
        _URLS,
        prepare=bytes.decode,
    ),
    Row(
        "sites.leads_inside",
        lambda host: inside.leads_inside("https://example.com", f"https://{host}/"),
        _HOSTS,
        prepare=bytes.decode,
        variant="hosts",
    ),
    Row("sites.robots_url", origins.robots_url, _URLS, prepare=_site),
    Row(
        "sites.pace_of_file",
        lambda robots: pace.pace_of_file(robots, "bot", pace.PacePolicy()),
        _PACES,
        prepare=_file,
    ),
    Row(
        "sites.unreadable_lines",
        lambda robots: pace.unreadable_lines(robots, "bot"),
        _PACES,
        prepare=_file,
    ),
)
ROWS += tuple(
    Row(f"sites.Pace.{name}", run, _PACES, prepare=_pace)
    for name, run in (
        ("due", lambda one: one.due(1e9)),
        ("is_free", lambda one: one.is_free),
        ("is_free_at", lambda one: one.is_free_at(1e9)),
        ("opens", lambda one: one.opens(1e9)),
        ("visits_text", lambda one: (one.visits_text, str(one))),
    )
)

_NUMBERS = "numbers, times and words of ours"

NOT_FROM_OUTSIDE = {
    "sites.site_named": "a person gives the URL",
    "sites.is_fresh": _NUMBERS,
    "sites.Evidence.explains": _NUMBERS,
    "sites.pace_by_hand": "from the settings",
    "sites.Backoff": _NUMBERS,
    "sites.Answer": "a status, a failure, a digest; a robots.txt, which is measured",
    "sites.Outcome": "a status",
    "sites.OutcomePolicy": "a status, a number, a yes or no; Retry-After is measured",
    "sites.Trouble": _NUMBERS,
    "sites.whole_lines": "looks for the last line end once",
    "sites.Pause": _NUMBERS,
    "sites.PausePolicy": _NUMBERS,
    "sites.RateControl": _NUMBERS,
    "sites.Faults": (
        "URLs and fingerprints; `sections_of` is measured, what is kept bounded"
    ),
    "sites.BotBlockDetector": (
        "URLs; `sections_of` is measured, 32 pages at most are counted"
    ),
    "sites.ResumedSection": _NUMBERS,
    "sites.Section": "numbers and fingerprints, sixteen at most",
    "sites.SlowLimitEstimator": _NUMBERS,
    "sites.Site": "numbers, fingerprints, and paces, which are measured",
}
