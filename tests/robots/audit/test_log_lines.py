"""Lines of access logs, as servers write them and as nobody would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_mandelbot.robots.audit import (
    NAMED,
    CopiesInForce,
    FormatError,
    LogReading,
    Robot,
    detect,
    read_format,
)

AGENT = "Mozilla/5.0 (compatible; Examplebot/1.0; +https://example.com/bot)"
AT = 1_795_337_173  # 2026-11-22 08:46:13 UTC


def reading(how="combined", robot=("examplebot",), is_from=None) -> LogReading:
    """Return what reads lines of a format."""
    copies = CopiesInForce((), "Examplebot")
    named = read_format(how)
    return LogReading(Robot(robot, is_from), named, lambda _: copies, frozenset({503, 429}))


def read(how, *lines, **robot) -> LogReading:
    made = reading(how, **robot)
    made.read(lines)
    return made


NGINX = '$remote_addr $host:$server_port [$time_local] $msec "$request" $status "$http_user_agent"'
TIMED = f'{NGINX} $request_time "$sent_http_retry_after"'
APACHE = '%a %V [%{usec}t] "%m %U%q %H" %>s "%{User-Agent}i" %{Retry-After}o'
JSON_LIKE = '{"at":"$time_iso8601","uri":"$request_uri","st":$status,"ua":"$http_user_agent"}'
LINES = {
    "common": ("common", '::1 - bob [22/Nov/2026:08:46:13 +0000] "GET /a HTTP/1.1" 200 51'),
    "combined": (
        "combined",
        f'10.0.0.1 - - [22/Nov/2026:08:46:13 +0000] "GET /a HTTP/1.1" 200 51 "-" "{AGENT}"',
    ),
    "of a user with a space": (
        "combined",
        f'10.0.0.1 - a b [22/Nov/2026:08:46:13 +0000] "GET /a HTTP/1.1" 200 51 "-" "{AGENT}"',
    ),
    "with quotation marks, as Apache escapes them": (
        "combined",
        f'::1 - - [22/Nov/2026:08:46:13 +0000] "GET /a HTTP/1.1" 200 - "\\"x\\\\" "\\"{AGENT}"',
    ),
    "with more at its end": (
        "combined",
        f'10.0.0.1 - - [22/Nov/2026:09:46:13 +0100] "GET /a HTTP/2.0" 200 51 "-" "{AGENT}" 0.5 x',
    ),
    "vhost_combined": (
        "vhost_combined",
        f'h:80 ::1 - - [22/Nov/2026:03:16:13 -0530] "GET /a HTTP/1.1" 200 51 "-" "{AGENT}"',
    ),
    "vhost_common": ("vhost_common", 'h:80 ::1 - - [22/Nov/2026:08:46:13 +0000] "GET /a" 200 51'),
    "of nginx": (
        TIMED,
        f'::1 h:80 [22/Nov/2026:08:46:15 +0000] {AT + 2}.500 "GET /a" 200 "{AGENT}" 2.500 "-"',
    ),
    "of Apache": (APACHE, f'::1 h [{AT}000000] "GET /a HTTP/1.1" 200 "{AGENT}" -'),
    "JSON": (
        JSON_LIKE,
        f'{{"at":"2026-11-22T08:46:13+00:00","uri":"/a","st":200,"ua":"{AGENT}"}}',
    ),
}


@pytest.mark.parametrize("line", LINES, ids=str)
def test_a_line_is_read(line):
    """Its time in UTC, what was asked for, and the answer, whatever the zone and the address."""
    how, text = LINES[line]
    made = read(how, text, robot=() if "common" in how else ("examplebot",))
    assert made.unreadable == 0
    (visits,) = made.sites.values()
    assert (list(visits.times), list(visits.statuses)) == ([AT], [200])


@pytest.mark.parametrize("name", NAMED)
def test_formats_by_default_are_found_out(name):
    """By most of the lines: garbage between them changes nothing."""
    _, text = LINES[name]
    found = detect(["garbage", "", text, "\x16\x03\x01", text])
    assert found is not None
    assert found.name == name
    assert detect(["garbage", ""]) is None


REFUSED = (
    "%h %l %u",  # no time
    '%t "%r"',  # no status
    "%t %>s",  # no request
    "%t %>s %{foo}n%{bar}n %r",  # nothing parts them
    "$time_local $status $request $",
    "%{%d.%m.}t %>s %r",
    "%" * 2_001,
)


@pytest.mark.parametrize("how", REFUSED)
def test_a_format_that_says_too_little_is_refused(how):
    """With what it lacks, before a line is read."""
    with pytest.raises(FormatError):
        read_format(how)


def test_garbage_is_counted():
    """No line raises; those that may be the robot's and cannot be read are counted."""
    made = read(
        "combined",
        "",
        "Examplebot",
        LINES["combined"][1].replace("22/Nov", "99/Nov"),
        LINES["combined"][1].replace("08:46", "\xb2\xb2:46"),
        "\x16\x03\x01",
    )
    assert (made.lines, made.unreadable, made.sites) == (5, 3, {})


@pytest.mark.parametrize("digits", [30, 400])
def test_a_request_took_no_longer_than_there_is_time(digits):
    """What says so has no time, and is counted with the garbage: a report tells no such moment."""
    how, text = LINES["of nginx"]
    took = [text.replace(" 2.500 ", f" {one} ") for one in ("2.500", "9" * digits, "-")]
    made = read(how, *took)
    assert made.unreadable == 1
    assert [list(visits.times) for visits in made.sites.values()] == [[AT, AT + 2.5]]


@given(st.text(st.characters(max_codepoint=255), max_size=80))
def test_no_line_raises(garbage):
    """Whatever stands in it, whole or as a part of a good line."""
    for how, text in LINES.values():
        part = text.replace("/a", garbage, 1).replace("Mozilla", garbage)
        read(how, garbage, part, part.replace("2026", garbage))


@pytest.mark.parametrize(
    ("agent", "is_ours"),
    [
        (AGENT, True),
        ("examplebot", True),
        ("EXAMPLEBOT/2", True),
        ("Examplebot-Image/1.0", False),
        ("NotExamplebot/1.0", False),
        ("My-Examplebot/1.0", False),
        ("Otherbot (+https://example.com/examplebot)", False),
        ("-", False),
    ],
)
def test_a_robot_is_known_by_its_whole_name(agent, is_ours):
    """In any case, anywhere in the header; a longer name is another robot."""
    assert bool(read("combined", LINES["combined"][1].replace(AGENT, agent)).sites) == is_ours


def test_a_robot_is_known_by_its_address():
    """Where lines do not say who asks, and as well as by its name where they do."""
    text = LINES["common"][1]
    assert read("common", text, is_from=lambda address: address == "::1").sites
    assert not read("common", text, is_from=lambda address: address == "::2").sites
    assert not read("combined", LINES["combined"][1], is_from=lambda _: False).sites


@pytest.mark.parametrize(
    ("request_line", "target"),
    [
        ("GET /a?b HTTP/1.1", "/a?b"),
        ("GET /a", "/a"),
        ("GET http://h.example/a HTTP/1.1", "/a"),
        ("GET http://h.example HTTP/1.1", "/"),
        ("GET /\\x22\\xE9 HTTP/1.1", "/%22%E9"),
        ('GET /\\"\\\\ HTTP/1.1', "/%22%5C"),
        ("GET /\xe9 x HTTP/1.1", "/%E9%20x"),
        ("OPTIONS * HTTP/1.1", ""),
        ("\\x16\\x03\\x01", ""),
        ("-", ""),
    ],
)
def test_what_was_asked_for_is_read(request_line, target):
    """A path, with what no URL may have as escapes; what was no HTTP asks for nothing."""
    made = reading()
    found = made.how.line.fullmatch(LINES["combined"][1].replace("GET /a HTTP/1.1", request_line))
    assert made._target(found) == target


def test_sites_are_told_apart_by_host_and_port():
    """Ports by default are left out, case counts for nothing; what is too long is no host."""
    line = LINES["vhost_combined"][1]
    hosts = ("h:80", "H:443", "h:8080", "[::1]:8080", f"{'h' * 300}:80")
    made = read("vhost_combined", *(line.replace("h:80", host, 1) for host in hosts))
    assert {host: len(visits) for host, visits in made.sites.items()} == {
        "h": 2,
        "h:8080": 1,
        "[::1]:8080": 1,
    }
    assert made.not_told_apart == 1


def test_a_clock_that_goes_back_is_told():
    """Within a log, by more than it can tell; another log begins at any time."""
    times = ("08:46:13", "08:46:12", "08:46:10", "08:46:20")
    lines = [LINES["combined"][1].replace("08:46:13", time) for time in times]
    made = read("combined", *lines)
    assert (made.went_back, made.furthest_back) == (1, 3)
    made.begin()
    made.read(lines[:1])
    assert made.went_back == 1


def test_formats_of_ones_own_read_what_they_mean():
    """What may hold the sign that ends it ends at the last one, or at the first."""
    own = read_format('$remote_addr:$remote_port $remote_user [$time_local] $status "$request"')
    found = own.line.fullmatch('::1:80 a b [22/Nov/2026:08:46:13 +0000] 200 "GET /a HTTP/1.1"')
    assert (found["address"], found["status"]) == ("::1", "200")
    side_by_side = read_format("%U%q %t %>s")
    found = side_by_side.line.fullmatch("/a?b:c [22/Nov/2026:08:46:13 +0000] 200")
    assert (found["target"], found["query"]) == ("/a", "?b:c")
