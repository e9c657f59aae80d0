"""What a file says besides Allow and Disallow, and how it is listed."""

from __future__ import annotations

import pytest
from cases.extended2 import FROMMITZ

from mandelbot import RobotsTxt
from mandelbot.robotstxt.grammar import Grammar
from mandelbot.robotstxt.records import RecordProblem
from mandelbot.robotstxt.times import RequestRate, TimeWindow, rate_at

BODY = b"""\
Sitemap: http://www.example.com/sitemap.xml
User-agent: *
Crawl-delay: 10
Disallow: /a
SITEMAP : /relative.xml # not absolute

User-agent: Mandelbot
Crawl-delay: 0.5
Request-rate: 1/5
Visit-time: 0600-0845
Comment: hello
Host: example.com
Clean-param: ref /some_dir/get_book.pl
Sitemap:
Sitemap: http://www.example.com/sitemap-\xe9.xml

User-agent: mandelbot
Crawl-delay: 2
Crawl-delay: fast
Visit-time: 17:00-04:59
Host: https://other.example
Clean-param: sid&sort
"""


@pytest.fixture
def robots():
    return RobotsTxt.parse(BODY)


def minutes(hours, minutes=0):
    return hours * 60 + minutes


def test_mandelbot_sitemaps_are_listed_as_written_from_anywhere(robots):
    """Sitemap lines stand outside of groups: all count, in order, empty ones do not."""
    assert robots.sitemaps == (
        "http://www.example.com/sitemap.xml",
        "/relative.xml",
        "http://www.example.com/sitemap-%E9.xml",
    )


def test_crawl_delay_is_the_longest_that_the_agents_groups_ask_for(robots):
    """A repeated agent is merged; what cannot be read is ignored."""
    assert robots.crawl_delay("Mandelbot") == 2.0
    assert robots.crawl_delay("Other") == 10.0
    assert RobotsTxt.parse(b"").crawl_delay("Other") is None


RUNS = """
User-agent: one
User-agent: two
Crawl-delay: 10
Request-rate: 1/10
User-agent: three
Sitemap: https://example.com/sitemap.xml
Nonsense: x
User-agent: *
Crawl-delay: 1
Disallow: /a
Crawl-delay: 2

User-agent: four
Disallow: /b
Crawl-delay: 4
User-agent: ONE
Crawl-delay: 20
User-agent: five
Visit-time: 0600-0700
Comment: hello
"""


@pytest.mark.parametrize("dialect", ["mandelbot", "rfc9309", "google"])
def test_a_line_without_a_field_does_not_part_agents_from_their_delay(dialect):
    body = b"User-agent: one\nhello you\nUser-agent: two\nCrawl-delay: 5\nDisallow: /x"
    robots = RobotsTxt.parse(body, dialect=dialect)
    assert [robots.crawl_delay(agent) for agent in ("one", "two")] == [5.0, 5.0]


@pytest.mark.parametrize("dialect", ["mandelbot", "rfc9309", "google"])
def test_a_delay_belongs_to_the_agents_whose_lines_stand_right_before_it(dialect):
    """Though the rules that follow are for all of them: no robot gets another one's
    delay.
    """
    robots = RobotsTxt.parse(RUNS.encode(), dialect=dialect)
    agents = ("one", "two", "three", "nobody", "four", "five")
    assert {agent: robots.crawl_delay(agent) for agent in agents} == {
        "one": 20.0,
        "two": 10.0,
        "three": 2.0,
        "nobody": 2.0,
        "four": 4.0,
        "five": None,
    }
    assert [a for a in agents if robots.request_rates(a)] == ["one", "two"]
    assert [a for a in agents if robots.visit_times(a)] == ["five"]
    assert [a for a in agents if robots.comments(a)] == ["five"]
    closed = {agent for agent in agents if not robots.allowed("/a", agent)}
    assert closed == {"one", "two", "three", "nobody"}
    assert robots.decider("three").values("crawl-delay") == [(10, "1"), (12, "2")]


def test_extended2_a_hash_within_a_value_is_the_escape_of_a_url():
    """What follows a raw # in a URL is its fragment, which no rule can be about."""
    for version in ("", "Robot-version: 2.0\n"):
        body = f"User-agent: *\n{version}Disallow: /a#b\n"
        robots = RobotsTxt.parse(body.encode(), dialect="extended2")
        for _ in range(3):
            assert not robots.allowed("https://example.com/a%23b", "x")
            assert robots.allowed("https://example.com/a#b", "x")
            assert robots.allowed("https://example.com/ab", "x")
        assert robots.verdict("/a%23b", "x").rule.path == "/a#b"


@pytest.mark.parametrize(
    "value", ["-1", "1e3", "5s", "1,5", "inf", "nan", "", "9" * 99, "\u0663"]
)
def test_a_crawl_delay_that_is_no_number_of_seconds_is_none(value):
    """Only plain decimal numbers count."""
    robots = RobotsTxt.parse(f"User-agent: *\nCrawl-delay: {value}\n".encode())
    assert robots.crawl_delay("x") is None


def test_the_other_fields_of_a_group_are_the_agents_own(robots):
    """Request-rate, Visit-time and Comment belong to a group."""
    assert robots.request_rates("Mandelbot") == (RequestRate(1, 5),)
    assert robots.visit_times("Mandelbot") == (
        TimeWindow(minutes(6), minutes(8, 45)),
        TimeWindow(minutes(17), minutes(4, 59)),
    )
    assert robots.comments("Mandelbot") == ("hello",)
    assert robots.request_rates("Other") == ()
    assert robots.visit_times("Other") == ()
    assert robots.comments("Other") == ()


def test_host_and_clean_param_belong_to_no_group(robots):
    """They are listed as written, in order."""
    assert robots.hosts == ("example.com", "https://other.example")
    assert robots.clean_params == ("ref /some_dir/get_book.pl", "sid&sort")


@pytest.mark.parametrize(
    ("value", "documents", "seconds", "window"),
    [
        ("10/60", 10, 60, None),
        ("10/10m", 10, 600, None),
        ("20/1h", 20, 3600, None),
        ("100/24h", 100, 86400, None),
        ("1/1D", 1, 86400, None),
        ("1 / 30 s", 1, 30, None),
        ("1/10m 1300-1659", 1, 600, TimeWindow(minutes(13), minutes(16, 59))),
        ("5/1m  05:00 - 12:59", 5, 60, TimeWindow(minutes(5), minutes(12, 59))),
        # Not as documented, but the rate is plain: it is obeyed rather than ignored.
        ("10", 1, 10, None),
        ("1200/3h 09.00-15.00", 1200, 10_800, TimeWindow(minutes(9), minutes(15))),
        ("9216/4d 07-21", 9216, 345_600, None),
        ("1/5 2500-2600", 1, 5, None),
    ],
)
def test_extended2_request_rates_are_read(value, documents, seconds, window):
    """<numdocuments>/<timeunit>, the second by default, and perhaps a time of day."""
    robots = RobotsTxt.parse(f"User-agent: *\nRequest-rate: {value}\n".encode())
    assert robots.request_rates("x") == (RequestRate(documents, seconds, window),)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "0",
        "10 s",
        "0/5",
        "5/0",
        "5/0h",
        "1/5w",
        "-1/5",
        "1/-5",
        "x/5",
        "1/5/6",
    ],
)
def test_extended2_request_rates_that_cannot_be_read_are_ignored(value):
    """A value that is no rate says nothing; nor do no documents, or any in no time."""
    robots = RobotsTxt.parse(f"User-agent: *\nRequest-rate: {value}\n".encode())
    assert robots.request_rates("x") == ()


def test_extended2_a_rate_is_normalised_to_one_document_in_so_many_seconds():
    """100/24h is one document every 864 seconds."""
    assert RequestRate(100, 86400).delay == 864.0


def test_extended2_of_several_rates_the_one_for_fewest_documents_holds():
    """Rates without a time: the slowest.

    A rate for the time of day goes before them.
    """
    fast, slow, night = (
        RequestRate(5, 1),
        RequestRate(1, 10),
        RequestRate(9, 1, TimeWindow(0, 359)),
    )
    assert rate_at([fast, slow], 600) == slow
    assert rate_at([fast, night, slow], 100) == night
    assert rate_at([fast, night, slow], 360) == slow
    assert rate_at([night], 360) is None
    assert rate_at([], 0) is None


def test_extended2_times_are_utc_minutes_inclusive_and_may_pass_midnight():
    """0600-0845 is until the end of 08:45; 1700-0459 is the night."""
    day, night = (
        TimeWindow(minutes(6), minutes(8, 45)),
        TimeWindow(minutes(17), minutes(4, 59)),
    )
    assert [day.covers(m) for m in (359, 360, 525, 526)] == [False, True, True, False]
    assert [night.covers(m) for m in (0, 299, 300, 1019, 1020, 1439)] == [
        *(True, True, False, False, True, True)
    ]
    assert str(day) == "0600-0845"
    assert str(RequestRate(1, 600, night)) == "1/600 1700-0459"


@pytest.mark.parametrize("value", ["0600-1700", "06:00-17:00", "06.00-17.00"])
def test_extended2_times_are_read(value):
    """A full stop occurs for the colon."""
    robots = RobotsTxt.parse(f"User-agent: *\nVisit-time: {value}\n".encode())
    assert robots.visit_times("x") == (TimeWindow(minutes(6), minutes(17)),)


@pytest.mark.parametrize(
    "value", ["", "0600", "0600-2400", "0660-0700", "600-845", "6:00-8:45"]
)
def test_extended2_times_that_cannot_be_read_are_ignored(value):
    """HH from 00 to 23, MM from 00 to 59."""
    robots = RobotsTxt.parse(f"User-agent: *\nVisit-time: {value}\n".encode())
    assert robots.visit_times("x") == ()


@pytest.mark.parametrize("agent", ["vacuumweb", "spanwebbot", "spiderbot"])
def test_extended2_the_rates_of_frommitz_cover_the_whole_day(agent):
    """Three windows, one past midnight: at every minute exactly one rate holds."""
    robots = RobotsTxt.parse(FROMMITZ.encode(), dialect="extended2")
    rates = robots.request_rates(agent)
    assert [str(rate) for rate in rates] == [
        "1/600 1300-1659",
        "1/1200 1700-0459",
        "5/60 0500-1259",
    ]
    assert all(sum(rate.window.covers(m) for rate in rates) == 1 for m in range(1440))
    assert rate_at(rates, minutes(23)) == rates[1]
    assert robots.comments(agent) == (
        "because you guys try all the time, I'm gonna limit you",
        "to how many documents you can retrieve.  So there!",
    )


def test_extended2_what_frommitz_asks_of_the_others():
    """hackerbot: one document in 30 minutes. suckemdry: 6:00 to 8:45."""
    robots = RobotsTxt.parse(FROMMITZ.encode(), dialect="extended2")
    assert robots.request_rates("hackerbot") == (RequestRate(1, 1800),)
    assert robots.visit_times("suckemdry") == (TimeWindow(minutes(6), minutes(8, 45)),)
    assert robots.visit_times("hackerbot") == ()


def test_extended2_directives_of_2_0_count_only_in_groups_of_2_0():
    """In a group without Robot-version they are unknown, Crawl-delay is not."""
    body = (
        b"User-agent: *\nRequest-rate: 1/5\nVisit-time: 0600-0700\nComment:"
        b" x\nCrawl-delay: 3\n"
    )
    robots = RobotsTxt.parse(body, dialect="extended2")
    assert (
        robots.request_rates("x")
        == robots.visit_times("x")
        == robots.comments("x")
        == ()
    )
    assert robots.crawl_delay("x") == 3.0


def test_every_line_is_a_record_with_its_number():
    """A record has the content and the problems of any line."""
    robots = RobotsTxt.parse(
        b"# top\r\n"
        b" User-Agent : * # all\n"
        b"\n"
        b"Disallow: /\xe9\r"
        b"Disallow /a\n"
        b": x\n"
        b"Foo: bar\n"
        b"Crawl-delay: soon\n"
        b"Sitemap:\n"
        b"Disallow:"
    )
    listed = [
        (r.number, r.name, r.field, r.value, r.comment, r.problems)
        for r in robots.records
    ]
    assert listed == [
        (1, "", "", "", " top", ()),
        (2, "User-Agent", "user-agent", "*", " all", ()),
        (3, "", "", "", None, ()),
        (4, "Disallow", "disallow", "/%E9", None, (RecordProblem.NOT_UTF8,)),
        (5, "", "", "", None, (RecordProblem.NO_COLON,)),
        (6, "", "", "x", None, (RecordProblem.NO_FIELD,)),
        (7, "Foo", "foo", "bar", None, (RecordProblem.UNKNOWN_FIELD,)),
        (8, "Crawl-delay", "crawl-delay", "soon", None, (RecordProblem.BAD_VALUE,)),
        (9, "Sitemap", "sitemap", "", None, (RecordProblem.NO_VALUE,)),
        (10, "Disallow", "disallow", "", None, ()),
    ]
    assert robots.records[1].raw == " User-Agent : * # all"
    assert [r.number for r in robots.records if r.is_blank] == [3]


def test_google_a_record_names_the_field_that_is_meant():
    """The misspelling is kept beside the field that Google reads it as."""
    record = RobotsTxt.parse(b"Dissallow /x\n", dialect="google").records[0]
    assert (record.name, record.field, record.value, record.problems) == (
        *("Dissallow", "disallow", "/x", ()),
    )


def test_a_file_is_searched_only_for_fields_that_it_names(monkeypatch):
    """Wherever the name is, and however written."""
    searched = []
    monkeypatch.setattr(
        Grammar, "values", lambda _, field, _body: searched.append(field) or []
    )
    robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /\rX: SITEMAP\n")
    assert (robots.sitemaps, robots.hosts, robots.licenses) == ((), (), ())
    assert searched == ["sitemap"]


@pytest.mark.parametrize("dialect", ["mandelbot", "google"])
@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("https://e.com/a.xmlSitemap: https://e.com/b.xml", "a.xml b.xml"),
        ("https://e.com/a.xmlsitemap:https://e.com/b.xml.gz", "a.xml b.xml.gz"),
        ("https://e.com/a.xmlhttps://e.com/b.txt", "a.xml b.txt"),
        ("https://e.com/a.gzSitemap : https://e.com/b.xmlHost: e.com", "a.gz b.xml"),
        ("https://e.com/a.xmlUser-agent: *", "a.xml"),
        ("https://e.com/a.xmlSitemap:", "a.xml"),
        ("https://e.com/sitemap:a.xml", "sitemap:a.xml"),
        ("https://e.com/host:1", "host:1"),
        ("https://e.com/a.xml?of=host:1", "a.xml?of=host:1"),
    ],
)
def test_lines_without_a_line_end_between_them_have_their_urls(text, urls, dialect):
    """A lost line end leaves the name of the next field at the end of a URL."""
    robots = RobotsTxt.parse(f"Sitemap: {text}\n".encode(), dialect=dialect)
    assert robots.sitemaps == tuple(f"https://e.com/{url}" for url in urls.split())


@pytest.mark.parametrize("dialect", ["mandelbot", "google"])
@pytest.mark.parametrize("field", ["Sitemaps:", "Sitemaps", "Site-map:", "site-map ="])
def test_a_misspelt_sitemap_line_counts_once(field, dialect):
    """Whether the dialect knows the spelling or not."""
    body = f"{field} https://example.com/sitemap.xml\n".encode()
    robots = RobotsTxt.parse(body, dialect=dialect)
    assert robots.sitemaps == ("https://example.com/sitemap.xml",)


def test_google_site_map_is_sitemap():
    """Google reads site-map, and any field that begins like it."""
    robots = RobotsTxt.parse(b"Site-map: a\nSitemaps: b\nSitemap c\n", dialect="google")
    assert robots.sitemaps == ("a", "b", "c")
    assert RobotsTxt.parse(b"Site-map: a\nSitemaps: b\nSitemap c\n").sitemaps == ()
