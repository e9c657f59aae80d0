"""What holds for any headers and any bytes."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mandelbot import RobotTags, robot_tags
from mandelbot.tags import head
from mandelbot.tags.directives import directives_by_agent, directives_of, effects_of

PIECES = [
    *(
        '<meta name="robots" content="noindex">',
        "<META CONTENT=nofollow NAME=examplebot>",
    ),
    *(
        '<meta name="description" content="a robots text">',
        '<meta property="og:x" content="<p>">',
    ),
    *(
        "<html>",
        "<head>",
        "</head>",
        "<body>",
        "<BODY>",
        "<p>",
        "</p>",
        "<link rel=a>",
        "text ",
    ),
    *(
        "<!--",
        "-->",
        "<!-->",
        "<script>",
        "</script>",
        "<style>",
        "</style>",
        "<title>",
        "</title>",
    ),
    *(
        "<noscript>",
        "</noscript>",
        "<template>",
        "</template>",
        "<!doctype html>",
        "<?x ?>",
    ),
    *("<script src=x></script>", "\n", "<", ">", "=", " ", "/", "é", "&", "<meta "),
]
"""All that a head is made of. No quotes by themselves: what they hold is another
test's.
"""
QUOTES = ['"', "'", "<meta name='", 'content="']
DIRECTIVES = [
    *(
        "noindex",
        "none",
        "max-snippet:7",
        "examplebot:",
        "otherbot:",
        "*:",
        "all",
        "x",
        "x:y",
    ),
    *(
        "unavailable_after:",
        "Tue",
        "25 Jun 2027 15:00:00 PST",
        "2027-06-25",
        " ",
        ",",
        ",",
        ":",
    ),
]


def soup(pieces: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), max_size=25).map("".join)


@given(
    st.lists(st.tuples(st.sampled_from([b"X-Robots-Tag", b"\xff"]), st.binary())),
    st.binary(),
    st.text(),
)
@example([], b"<meta name=robots content=x>", "\udc80bot")
@example([], b"<\0m", "")
@example([], b"\xff\xfe<\x00\xd8\xd8", "a")
@example([], b"\x1b$B<meta name=robots content=\xff>", "a")
def test_nothing_raises(headers, body, agent):
    """Bad input from the web is data."""
    assert isinstance(robot_tags(headers, body, agent), RobotTags)


@given(
    soup(PIECES + QUOTES),
    st.sampled_from(["utf-8", "utf-16", "utf-16-be", "iso2022_jp"]),
)
def test_no_page_raises(page, encoding):
    """Nor does markup, however broken, in any encoding."""
    body = page.encode(encoding, "replace")
    assert isinstance(robot_tags([], body, "Examplebot"), RobotTags)


class _Reference(HTMLParser):
    """A slow and obvious reading of the head, for pages without oddities."""

    IN_HEAD = frozenset({"html", "head", "link", "meta", "script", "style", "title"})

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.over = False

    def handle_starttag(self, tag, attrs):
        self.over = self.over or tag not in self.IN_HEAD
        values = dict(reversed(attrs))
        if (
            tag == "meta"
            and not self.over
            and values.get("name", "").lower() in {"robots", "bot"}
        ):
            self.found.append(values.get("content", ""))


ELEMENTS = [
    *(
        '<meta name="robots" content="noindex">',
        "<meta content=nofollow name=bot>",
        "</head>",
    ),
    *(
        '<meta name="description" content="for robots > all">',
        "<link rel='x' href=\"a?b&amp;c\">",
    ),
    *(
        "<script>var robots = '<body>' + \"<p>\";</script>",
        "<script src='a.js'></script>",
        "\n",
    ),
    *(
        "<style>p > a { color: red }</style>",
        "<!-- <meta name=robots content=none> <body> -->",
    ),
    *(
        "<title>a < b</title>",
        '<meta charset="utf-8">',
        "<META NAME='RoBoTs' CONTENT=noarchive>",
    ),
    *(
        '<meta property="og:d" content="<p>The <body> tag</p>">',
        "<html lang=en>",
        "<head>",
    ),
    *("<body class='x'>", "<p>", "<div>", "<BODY>", "</p>"),
]


@given(st.lists(st.sampled_from(ELEMENTS), max_size=12).map("".join))
def test_it_agrees_with_a_slow_reading(page):
    """The cheap test and the scanner find what an ordinary parser of HTML finds in the
    head.
    """
    reference = _Reference()
    reference.feed(page)
    reference.close()
    found = [tag.text for tag in robot_tags([], page.encode(), "bot").sources]
    assert found == reference.found


@given(soup(PIECES))
def test_the_cheap_test_hides_nothing(page):
    """Every tag for us that the scanner finds in the page is read."""
    body = page.encode()
    tags = head.worth_reading(frozenset({"robots", "examplebot"}))
    names = (
        attributes.get(b"name", b"") for _, attributes in head.metas_of(body, tags)
    )
    scanned = [name for name in names if name.lower() in {b"robots", b"examplebot"}]
    assert len(robot_tags([], body, "Examplebot").sources) == len(scanned)


ODDITIES = [
    *(
        '<link title="a > b">',
        "<link title='\">'>",
        '<link a="b"c="d"/>',
        '<link a=b="x>y">',
    ),
    *(
        '<link ="x>y">',
        '<link a= "x">',
        "<script>if (a<b) x='<body>'</script>",
        "<TITLE>x</title>",
    ),
    *(
        '<!DOCTYPE html PUBLIC "-//W3C//DTD">',
        '<!-- "it\'s" -->',
        '<meta name="x" name=robots>',
    ),
    *(
        '<meta property="a" name="robots" content=x>',
        "<meta name='rss' content=x>",
        "x='",
        '="',
    ),
]


@given(soup(PIECES + QUOTES + ODDITIES))
def test_what_is_passed_by_in_one_go_is_what_is_read_tag_by_tag(page):
    """With tags that are written as nearly all are, the scanner comes to the same."""
    all_at_once = head.worth_reading(frozenset({"robots", "examplebot"}))
    one_by_one = re.compile(b"<")
    found = [
        [
            (position, attributes)
            for position, attributes in head.metas_of(page.encode(), each)
            if attributes.get(b"name", b"").strip().lower()
            in {b"robots", b"examplebot"}
        ]
        for each in (all_at_once, one_by_one)
    ]
    assert found[0] == found[1]


NOINDEX = '<meta name="robots" content="noindex">'


@pytest.mark.parametrize(
    ("page", "noindex"),
    [
        (f"<link title='say \"hi\"> {NOINDEX}'>", False),
        (f'<link title="> {NOINDEX}">', False),
        (f'<link title= "> {NOINDEX}">', False),
        (f'<link rel="a" title="b" sizes> {NOINDEX}', True),
        (f'<link rel="a" sizes=any>"{NOINDEX}', True),
        (f"<script>if (a<b) {NOINDEX}</script>", False),
        (f'<script async src="/a.js">{NOINDEX}</script>', False),
        (f'<script async src="/a.js"></script>{NOINDEX}', True),
        (f"<!-- > {NOINDEX} -->", False),
        (f"<!-- <p> -->{NOINDEX}", True),
        (
            '<meta name="rOBOTS" content="noindex">'
            + NOINDEX.replace("noindex", "all"),
            True,
        ),
        (
            '<meta name="Robots" content="noindex">'
            + NOINDEX.replace("noindex", "all"),
            True,
        ),
        # A quote that is not closed pairs up with others as a browser has it.
        (
            '<meta content="<link a="b"c="d"/><meta name=" robots" content=noindex>',
            True,
        ),
        ('<meta " <meta name=" robots" content=noindex>', True),
        ('<meta name="><meta name="a"><meta name="Robots" content=noindex>', True),
        ("<style>" + "a" * (head.HEAD_LIMIT - 50) + f"</style>{NOINDEX}", False),
    ],
    ids=range(16),
)
def test_where_a_tag_ends(page, noindex):
    """What stands in a value, a script or a comment is no tag, and what follows them is
    one.
    """
    assert robot_tags([], page.encode(), "Examplebot").noindex is noindex


@given(st.lists(st.sampled_from(DIRECTIVES), max_size=12).map("".join))
def test_a_list_is_taken_apart(text):
    """Every directive and every agent's name is a piece of the header; each can be
    understood.
    """
    whole = text.lower().replace(" ", "")
    for agent, directive in directives_by_agent(text):
        assert directive
        assert directive.lower().replace(" ", "") in whole
        assert agent is None or f"{agent}:" in whole
    for directive in directives_of(text):
        effects = effects_of(directive)
        assert effects is None or set(effects) <= set(RobotTags.__dataclass_fields__)


@pytest.mark.parametrize(
    "page",
    [
        *(
            "<meta name=robots " * 20_000,
            "<!--" * 60_000,
            "<meta name=robots content=x><!--<body>",
        ),
        *(
            "<script>" * 30_000,
            "><body " * 30_000,
            "<!--" + "><body " * 30_000,
            "</head " * 30_000,
        ),
        *(
            "<meta " + " " * 200_000,
            "<template>" * 20_000 + "<meta name=robots>",
            "</" * 100_000,
        ),
        *(
            '<meta name="' * 20_000,
            "<meta name='robots" * 15_000,
            "</head>" + "\n" * 200_000,
        ),
        *(
            "<meta name=robots " + "a=" * 100_000,
            '<meta name=robots a="' + "b'" * 100_000,
        ),
        "<meta name=robots content=noindex>" * 7_000,
        "<meta name=robots content='" + "noindex," * 30_000 + "'>",
        "<meta name=robots content='" + "unavailable_after:1," * 10_000 + "'>",
        *(
            "<meta a " + "name=" * 50_000,
            "<meta a " + "name=a" * 40_000,
            "<meta name='robots&#" * 9,
        ),
        "<meta name=robots content='" + "unavailable_after:1," * 200 + "'>" * 60,
        *("\ufeff" + "\udc00" * 100_000, "<!-- > -->" * 25_000, "a:" * 100_000),
    ],
)
def test_no_page_takes_long(page):
    """A page made to be slow takes no time: nothing grows with the square of its
    length.
    """
    body = page.encode(errors="surrogatepass")
    began = time.process_time()
    robot_tags([("X-Robots-Tag", page[:65_000])] * 9, body, "Examplebot")
    assert time.process_time() - began < 0.5
