"""Lines of access logs: whoever asks a server chooses what they hold."""

from __future__ import annotations

from growth import Row, repeated
from scrapy_mandelbot.robots import audit
from scrapy_mandelbot.robots.robotstxt import RobotsTxt

_BEGINS = b'192.0.2.1 - - [22/Nov/2026:10:00:00 +0000] "GET /'
_ENDS = b' HTTP/1.1" 200 5 "-" "Bot/1.0"'
_FORMAT = audit.read_format(audit.NAMED["combined"])
_RULES = RobotsTxt.parse(b"User-agent: *\nDisallow: /*a*b$\nCrawl-delay: 1\n")
_COPY = audit.CopyInForce(float("-inf"), "robots.txt", _RULES)
_LINES = {
    "quotes": repeated(b'"', _BEGINS, _ENDS),
    "backslashes": repeated(b"\\", _BEGINS, _ENDS),
    "escaped quotes": repeated(b'\\"', _BEGINS, _ENDS),
    "escaped octets": repeated(b"\\xff", _BEGINS, _ENDS),
    "escapes": repeated(b"%41", _BEGINS, _ENDS),
    "what a rule looks for": repeated(b"a", _BEGINS, _ENDS),
    "spaces": repeated(b" ", _BEGINS, _ENDS),
    "spaces at the start": repeated(b" ", b"", b'"'),
    "fields": repeated(b'" "', _BEGINS + _ENDS),
    "brackets": repeated(b"["),
    "an agent": repeated(b"a/1 (", _BEGINS + b' HTTP/1.1" 200 5 "-" "Bot/1.0 ', b'"'),
    "an address": repeated(b"1.", b"", _BEGINS + _ENDS),
    "short lines": repeated(_BEGINS + _ENDS + b"\n"),
}


def _read(lines):
    robot = audit.Robot(["bot"])
    copies = audit.CopiesInForce([_COPY], "bot")
    reading = audit.LogReading(robot, _FORMAT, lambda _: copies, frozenset({503}))
    reading.read(lines)
    return reading


def _lines(body):
    return body.decode("latin-1").splitlines()


def _visits(body):
    return list(_read(_lines(body)).sites.values())


_OWN = {
    "users": ('%u %u %u %t %>s "%r"', b"a a "),
    "users to the end": ('%t %>s "%r" %u', b" "),
    "addresses": ('%a:%a:%a:%a %t %>s "%r"', b"1:"),
    "addresses side by side": ('%a%a%a%a%a%a %t %>s "%r"', b"1"),
    "targets": ("%U%q/%U%q/%U%q/%U %t %>s", b"/a"),
    "queries": ("%q:%q:%q:%q:%q %t %>s %U", b"?:"),
    "ports": ("%p0%p0%p0%p0%p %t %>s %U", b"0"),
    "hosts": ("$http_host.$http_host.$http_host.$http_host %t %>s %U", b"a."),
    "durations": ("$request_time.$request_time.$request_time %t %>s %U", b"1."),
}
"""Formats of one's own in which a variable may hold the sign that ends it, and what to repeat."""


ROWS = (
    Row("audit.LogReading.read", _read, _LINES, prepare=_lines),
    Row("audit.detect", audit.detect, _LINES, prepare=_lines),
    Row(
        "audit.judge",
        lambda visits: [audit.judge(one, audit.Law(1.0)) for one in visits],
        _LINES,
        prepare=_visits,
    ),
    *(
        Row(
            "audit.detect",
            audit.read_format(how).line.fullmatch,
            {"one line": repeated(piece)},
            prepare=bytes.decode,
            variant=f"a format of one's own: {name}",
        )
        for name, (how, piece) in _OWN.items()
    ),
)

NOT_FROM_OUTSIDE = {
    "audit.read_format": "from who calls the command",
    "audit.LogFormat": "from who calls the command",
    "audit.LogReading.begin": "nothing",
    "audit.Visits": "numbers and targets, as `LogReading.read` hands them on",
    "audit.CopiesInForce": "moments, and targets, as `LogReading.read` hands them on",
}
