"""The page's scripts read and decide as the package does: by the same line, for
the same reason.
"""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from importlib import import_module, resources
from itertools import islice, product

import pytest
from corpus import needs_corpus, one_in, read_files, read_verdicts
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wildrobots import ALL, agents, bodies, dialects, paths, rooted

from mandelbot import DIALECTS, RobotsTxt, Verdict
from mandelbot.cli.output import robots_page as page
from mandelbot.cli.output.robots_page import dialect_data
from mandelbot.robotstxt.agents import BROWSER_WORDS, names_in_order
from mandelbot.robotstxt.index import MOST_COMPARED
from mandelbot.robotstxt.paths import google_target, split_url
from mandelbot.robotstxt.paths import normalise as normalised

_FILES = resources.files(page)
SCRIPT = "".join(
    _FILES.joinpath(name).read_text("ascii") for name in ("decide.js", "read.js")
)
DECIDE = """
const [questions, words] = [JSON.parse(arguments[0]), arguments[1]];
const known = new Map();
const namesOnce = (agents) => {
  const key = JSON.stringify(agents);
  if (!known.has(key)) known.set(key, namesOf(agents, words));
  return known.get(key);
};
return questions.map(([octets, dialect, most, asked]) => {
  const tables = readTables(octets, dialect, most);
  return asked.map(([url, agents]) => {
    const { allowed, line, group, reason } = decide(tables, url, namesOnce(agents));
    return [allowed, line, group, reason];
  });
});
"""
DOCUMENTS = (
    "mandelbot",
    "rfc9309",
    "google",
    "rep1994",
    "rep2008",
    "moderatobot",
    "extended2",
    "decided",
)
OF_FINDINGS = ("findings", "findings_elsewhere")
LONG_DOCUMENTS = {"google", "extended2", "decided"}
"""What Node decides alike, Chromium does each night; the other documents say that its
scripts run there.
"""


def in_each(document):
    """Decide a document's cases in Node, and in Chromium."""
    at_night = [pytest.mark.thorough] * (document in LONG_DOCUMENTS)
    return [
        ("node", document),
        pytest.param("browser", document, marks=[pytest.mark.slow, *at_night]),
    ]


IN_CHROMIUM_AT_NIGHT = pytest.mark.parametrize(
    "javascript",
    [
        "node",
        pytest.param("browser", marks=[pytest.mark.slow, pytest.mark.thorough]),
    ],
    indirect=True,
)


@cache
def alone(dialect):
    """Return a dialect as the page takes it, without the robots of operators.

    These are asked about in test_page_known_robots.py.
    """
    return {
        **dialect_data(dialect),
        "fallbacks": dialect.fallbacks,
        "ignore_star": [],
    }


@pytest.fixture(scope="module")
def decide(javascript):
    """Ask the page's scripts about files, URLs and agents.

    Returns answers, lines, groups, reasons.
    """

    def ask(questions):
        data = [
            [
                robots.body.decode("latin-1"),
                alone(robots.dialect),
                robots.max_bytes,
                [
                    [url, [agent] if isinstance(agent, str) else agent]
                    for url, agent in asked
                ],
            ]
            for robots, asked in questions
        ]
        # As JSON in a text: so even lone surrogates arrive.
        answers = javascript.execute_script(
            SCRIPT + DECIDE, json.dumps(data), sorted(BROWSER_WORDS)
        )
        return [
            [
                (allowed, line, group, getattr(Verdict, reason))
                for allowed, line, group, reason in of_file
            ]
            for of_file in answers
        ]

    return ask


def expected(questions):
    """Return what the package answers."""
    return [
        [
            (one.allowed, one.rule and one.rule.line, one.agent, one.reason)
            for one in (robots.verdict(url, agent) for url, agent in asked)
        ]
        for robots, asked in questions
    ]


MOST_RULES = examples(150)  # of a file that are asked about
MOST_ROBOTS = 8


def of_every_rule(robots):
    """Return questions about what each rule of a file matches, and next to it.

    For each robot that it names, and for another one.
    """
    records = robots.records
    values = (one.value for one in records if one.field in {"allow", "disallow"})
    named = (one.value for one in records if one.field == "user-agent")
    paths = ["/", "/robots.txt"]
    for value in islice(dict.fromkeys(values), MOST_RULES):
        literal = value.replace("*", "").replace("#", "%23").removesuffix("$")
        paths += [value, literal, literal + "x", literal[:-1], value.replace("*", "/b")]
    robots_asked = ["Otherbot", *islice(dict.fromkeys(named), MOST_ROBOTS)]
    paths = dict.fromkeys(paths)
    # robot by robot: the page's scripts look for the groups of each once
    return robots, [(path, robot) for robot in robots_asked for path in paths]


def compare(decide, questions):
    """Show the first file that is read otherwise."""
    found = decide(questions)
    for question, answer, right in zip(
        questions, found, expected(questions), strict=True
    ):
        assert answer == right, (question[0].dialect.name, question[0].body[:2000])


@pytest.mark.parametrize(
    ("javascript", "document"),
    [one for document in DOCUMENTS for one in in_each(document)],
    indirect=["javascript"],
    scope="session",
)
def test_the_documents_cases_are_decided_alike(decide, document):
    """Every URL of every case and every rule of its file, in every dialect."""
    cases = import_module(f"cases.{document}").CASES
    assert len(cases) >= 20
    asked_of = defaultdict(list)  # many cases are about one file
    for case in cases:
        for url in [*case.allowed, *case.forbidden, *(url for url, _ in case.lines)]:
            asked_of[case.octets] += product(
                [url], [case.agent, "*", "Otherbot/1.0 (x)"]
            )
    questions = []
    for octets, asked in asked_of.items():
        for dialect in ALL.values():
            robots = RobotsTxt.parse(octets, dialect=dialect)
            questions += [(robots, asked), of_every_rule(robots)]
    compare(decide, questions)


@pytest.mark.parametrize("document", OF_FINDINGS)
def test_the_files_of_findings_are_read_alike(decide, document):
    """Every rule of every case, in every dialect."""
    cases = import_module(f"cases.{document}").CASES
    files = [
        RobotsTxt.parse(case.octets, dialect=one)
        for case in cases
        for one in ALL.values()
    ]
    assert len(files) >= 10 * len(ALL)
    compare(decide, [*map(of_every_rule, files)])


ODD = (
    b"",
    b"\n",
    b"\xef\xbb\xbfUser-agent: *\nDisallow: /a\n",
    b"\xef\xbbUser-agent: *\nDisallow: /a\n",
    "User-agent: *\nDisallow: /é\U0001f600\n".encode("utf-16"),
    b"\xfe\xff"
    + "User-agent: *\r\nDisallow: /\ud800x\n".encode("utf-16-be", "surrogatepass")
    + b"x",
    b"User-agent: *\nDisallow: /\xe9\xc3\xa9\xe2\x82/%e9\n",
    b"User-agent:\xa0*\nDisallow:\xa0/a\nDisallow: /b\xc2\xa0\n",
    b"User-agent: *\rDisallow: /a\r\0x\nAllow: /b\0c\r\n",
    b"user-AGENT\t: *\n dIsAllow /x\nallow /y # z\nDisallow /x y\n",
    b"User-agent: *\nAllow: /a/index.html\nAllow: /index.htm\nAllow: index.htm5\n",
    (
        b"User-agent: *\nDisallow: https://x.example:8/a?b#c\nDisallow:"
        b" https://[x/a\nDisallow: a\n"
    ),
    (
        b"User-agent: *\nRobot-version: 2.0\nAllow:"
        b" /[a-c\xc3\xa9-]?*\\*[!]]x*\nDisallow: ?*[[\\\n"
    ),
    b"User-agent: *\nDisallow: /" + b"a" * 20_000 + b"\nAllow: /b\n",
    (
        b"User-agent: *\n\nUser-agent: b\n # x\nUser-agent: c\nCrawl-delay:"
        b" 1\nDisallow: /a#b #c\n"
    ),
)


@pytest.mark.parametrize("body", ODD, ids=range(len(ODD)))
def test_odd_files_are_read_alike(decide, body):
    """Marks, encodings, octets, line ends, spellings, URLs, globs, long lines."""
    files = [RobotsTxt.parse(body, dialect=dialect) for dialect in ALL.values()]
    compare(decide, [*map(of_every_rule, files)])


@pytest.mark.parametrize("most", [0, 1, 13, 14, 15, 20, 26, 27, 28])
def test_no_more_is_read_than_robots_read(decide, most):
    """Whole lines within the limit."""
    body = b"User-agent: *\nDisallow: /a\r\nDisallow: /b\n"
    asked = [("/a", "bot"), ("/b", "bot")]
    files = [
        RobotsTxt.parse(body, dialect=dialect, max_bytes=most)
        for dialect in ALL.values()
    ]
    compare(decide, [(robots, asked) for robots in files])


def test_parts_of_a_pattern_do_not_overlap(decide):
    """No character is used twice: not by head and tail, nor by two pieces, nor by two
    steps.
    """
    patterns = (
        "/ab*b$",
        "/a*aba*ba$",
        "/*ab*bc$",
        "/aa*aa$",
        "/a[b]*[b]",
        "/?b*b?$",
        "/a*a*a*a$",
    )
    urls = [
        "/" + "".join(letters) for n in range(5) for letters in product("abc", repeat=n)
    ]
    asked = [(url, "bot") for url in urls]
    questions = [
        (RobotsTxt.parse(f"{group}Disallow: {path}\n".encode(), dialect=dialect), asked)
        for group in ("User-agent: *\n", "User-agent: *\nRobot-version: 2.0\n")
        for path in patterns
        for dialect in DIALECTS
    ]
    assert decide(questions) == expected(questions)


MANY = 1_000
LONG = MOST_COMPARED // MANY  # characters of a path that are compared with all rules
COSTLY = "".join(f"Disallow: /*a*a*a{number:x}b\n" for number in range(MANY))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_would_cost_too_much_is_forbidden_alike(decide, dialect):
    """Beyond as many characters, of the rules that may match, unless a prefix decides
    anyhow.
    """
    urls = [
        *("/" + "a" * (LONG - 1), "/" + "a" * LONG),
        *("/x/" + "a" * LONG, "/y/" + "a" * LONG),
        *("/robots.txt", "/" + "b" * 5_000, "/" + "a" * 30),
    ]
    rules = [
        *(
            COSTLY,
            COSTLY.replace("/*", "/x/*"),
            COSTLY + "Allow: /aaaaaaaaaaaaaaaaaaaaaaaaa\n",
        ),
        *(
            f"{COSTLY}Disallow: /y/\nAllow: /*c\n",
            COSTLY[: 20 * 500],
            "Disallow: /a\n" + COSTLY,
        ),
        *(
            "Robot-version: 2.0\n" + COSTLY,
            "Robot-version: 2.0\n" + COSTLY.replace("a*", "?*"),
        ),
    ]
    files = [
        RobotsTxt.parse(f"User-agent: *\n{one}".encode(), dialect=dialect)
        for one in rules
    ]
    questions = [(robots, [(url, "bot") for url in urls]) for robots in files]
    assert decide(questions) == expected(questions)


# No surrogates: two of them are one character in a browser. A lone one is among the
# cases.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
urls = st.one_of(
    rooted,
    st.builds("https://x.example{}".format, rooted),
    st.builds("https://x.example:{}{}".format, st.sampled_from(["", "1", "x"]), paths),
    st.sampled_from(
        ["//a/b", "/robots.txt", "http://[::1]:8/ab", "http://u@x?a", "ab;x?/a://b/c"]
    ),
    texts,
)
asking = st.one_of(
    agents,
    st.sampled_from(
        ["Mozilla/5.0 (compatible; Bot/1.1; +https://x.example/bot)", "b robot/2 Other"]
    ),
    st.lists(agents, max_size=3),
)


@settings(
    max_examples=examples(250),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    body=bodies,
    dialect=dialects,
    asked=st.lists(st.tuples(urls, asking), min_size=1, max_size=12),
)
def test_any_file_is_decided_alike(decide, body, dialect, asked):
    """Whatever the file, the dialect, the URL and the agent."""
    robots = RobotsTxt.parse(body, dialect=dialect)
    compare(decide, [(robots, asked), of_every_rule(robots)])


@settings(max_examples=examples(100))
@given(several=st.lists(st.one_of(texts, urls), min_size=1, max_size=30))
def test_urls_and_escapes_are_read_alike(javascript, several):
    """Targets are the package's, whatever the text."""
    script = (
        SCRIPT + "return arguments[0].map((t) => [targetOf(t), googleTarget(t),"
        " normalise(t)]);"
    )
    parts = [split_url(text) for text in several]
    assert javascript.execute_script(script, several) == [
        [split and normalised(split[1]), google_target(text), normalised(text)]
        for text, split in zip(several, parts, strict=True)
    ]


HEADERS = (
    "Mandelbot",
    "mandelbot/2.0",
    "Mozilla/5.0 (compatible; Mandelbot/1.0; +https://example.com/bot)",
    "Scrapy/2.14 (+https://scrapy.org)",
    (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)"
        " Chrome/1.2 Safari/1"
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible;"
        " Googlebot-News/2.1) Chrome/1"
    ),
    "a bb cc ccc/1 bbb",
    "",
    " ",
    "UnicödeBöt",
    "*",
    "1.0 2/x",
)


def test_agents_have_the_same_names(javascript):
    """The names that a header is looked for by, in the same order."""
    script = (
        SCRIPT + "return arguments[0].map((agents) => namesOf(agents, arguments[1]));"
    )
    several = [[header] for header in HEADERS] + [list(HEADERS)]
    found = javascript.execute_script(script, several, sorted(BROWSER_WORDS))
    assert found == [list(names_in_order(tuple(agents))) for agents in several]


def test_long_patterns_are_not_slow(decide):
    """A pattern made to hurt those who backtrack is decided at once: here, within the
    test.
    """
    body = b"User-agent: *\nRobot-version: 2.0\nDisallow: /" + b"*a?" * 300 + b"[!b]c\n"
    asked = [("/" + "a" * 3000, "bot")]
    questions = [
        (RobotsTxt.parse(body, dialect=dialect), asked) for dialect in DIALECTS
    ]
    assert decide(questions) == expected(questions)


@IN_CHROMIUM_AT_NIGHT
@needs_corpus
@one_in(5)
def test_google_the_page_decides_as_googles_parser(decide, one_in):
    """All verdicts of Google's own parser on real files, by answer and line."""
    files, compared = read_files(), 0
    for name, verdicts in list(read_verdicts().items())[::one_in]:
        robots = RobotsTxt.parse(files[name], dialect="google", max_bytes=None)
        [answers] = decide([(robots, [(one["url"], one["agent"]) for one in verdicts])])
        assert [(allowed, line or 0) for allowed, line, *_ in answers] == [
            (one["allowed"], one["line"]) for one in verdicts
        ], name
        compared += len(verdicts)
    assert compared == 20_327 if one_in == 1 else compared > 20_327 / 2 / one_in


@IN_CHROMIUM_AT_NIGHT
@needs_corpus
@one_in(25, nightly=5)
@pytest.mark.parametrize("dialect", sorted(set(DIALECTS) - {"google"}))
def test_real_files_are_decided_alike(decide, dialect, one_in):
    """In the other dialects."""
    files = read_files()
    for name, verdicts in list(read_verdicts().items())[::one_in]:
        asked = [(one["url"], one["agent"]) for one in verdicts]
        robots = RobotsTxt.parse(files[name], dialect=dialect)
        compare(decide, [(robots, asked), of_every_rule(robots)])
