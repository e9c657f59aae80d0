"""The corrected file: as the document describes it, decided as the original."""

from __future__ import annotations

import doctest
import time
from inspect import cleandoc
from itertools import product

import pytest
import robotstxt_reference as reference
from cases import rewriting, rewriting_decided
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from test_robotstxt_any_bytes import EVIL
from test_robotstxt_properties import ALL, bodies, dialects, rooted

from mandelbot import DIALECTS, RobotsTxt
from mandelbot import findings as lint_package
from mandelbot import fix as rewriting_package
from mandelbot.findings import FINDINGS, lint
from mandelbot.fix import normalize, prove, rewrite
from mandelbot.fix.effects import READERS
from mandelbot.fix.questions import meetings
from mandelbot.robotstxt.paths import read_url


def rewritten(text, dialect="mandelbot"):
    """Return the corrected version of a file."""
    body = text if isinstance(text, bytes) else text.encode()
    return normalize(body, dialect, max_decisions=2_000).text


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.id)
        for case in rewriting.CASES + rewriting_decided.CASES
    ],
)
def test_the_file_is_corrected_as_the_document_says(case):
    """The corrected file is this, decides as the original, and correcting it changes
    nothing.
    """
    before = cleandoc(case.before) + "\n"
    after = cleandoc(case.after) + "\n" if case.after else ""
    for text in (before, after):
        robots = RobotsTxt.parse(text.encode(), dialect=case.dialect)
        assert rewrite(robots, alone=True).text == after, case.says
    assert prove(before.encode(), after, case.dialect).holds


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_the_corrected_file_has_lf_and_no_byte_order_mark(end):
    """Whatever the original has."""
    body = f"User-agent: *{end}Disallow: /é{end}"
    assert rewritten(f"\ufeff{body}") == "User-agent: *\nDisallow: /é\n"
    assert rewritten(body.encode("utf-16")) == "User-agent: *\nDisallow: /é\n"


def test_octets_that_are_not_utf_8_become_their_escapes():
    """So that the path is the one that the dialect compares."""
    assert (
        rewritten(b"User-agent: *\nDisallow: /\xe9\n")
        == "User-agent: *\nDisallow: /%E9\n"
    )


def test_what_conflicts_with_the_decisions_is_left_and_said():
    """Where the first rule decides, Allow stays behind a Disallow that it meets."""
    text = "User-agent: one\nDisallow: /a\nAllow: /a/b\n"
    robots = RobotsTxt.parse(text.encode(), dialect="rep1994")
    assert rewrite(robots).text == rewrite(robots, alone=True).text == text
    assert rewrite(robots).remarks == (
        "Allow stays behind Disallow in the group for one: some robots decide by it.",
    )
    modern = RobotsTxt.parse(text.encode())
    assert rewrite(modern).text == text
    assert (
        rewrite(modern, alone=True).text
        == "User-agent: one\nAllow: /a/b\nDisallow: /a\n"
    )
    assert rewrite(modern, alone=True).remarks == ()
    wider = "User-agent: one\nDisallow: /a/b\nAllow: /a\n"
    assert rewritten(wider, "rep1994") == wider
    apart = "User-agent: one\nDisallow: /a\nAllow: /b\n"
    assert rewritten(apart, "rep1994") == "User-agent: one\nAllow: /b\nDisallow: /a\n"


def test_a_misplaced_robot_version_gets_no_effect_where_it_had_none():
    """In the dialect that reads it; in all others it moves to its place."""
    text = "User-agent: one\nDisallow: /a*\nRobot-version: 2.0\n"
    robots = RobotsTxt.parse(text.encode(), dialect="extended2")
    assert rewrite(robots).text == text
    (remark,) = rewrite(robots).remarks
    assert remark.startswith("Robot-version stays after the rules in the group for one")
    assert rewritten(text).splitlines()[1] == "Robot-version: 2.0"


def test_a_file_that_would_grow_many_times_is_not_merged():
    """Robots that share many rules, and have more of their own, keep their groups."""
    shared = "".join(f"User-agent: r{n}\n" for n in range(100))
    shared += "".join(f"Disallow: /s{n}\n" for n in range(100)) + "\n"
    own = "".join(f"User-agent: r{n}\nDisallow: /{n}\n\n" for n in range(100))
    robots = RobotsTxt.parse((shared + own).encode())
    result = rewrite(robots)
    assert result.text == (shared + own).removesuffix("\n")
    assert len(result.remarks) == 1
    assert prove((shared + own).encode(), result.text, max_decisions=100_000).holds


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Disallow: /r/|Allow: /",) * 2,
        ("Allow: /|Disallow: /r/",) * 2,
        ("Disallow: /|Allow: /",) * 2,
        ("Disallow: /a/b|Allow: /a|Disallow: /",) * 2,
        ("Disallow: /a|Allow: /a/b",) * 2,
        ("Disallow: /a|Allow: /a/b|Disallow: /c|Allow: /c/d",) * 2,
        ("Disallow: /b|Disallow: /a*x|Allow: /a",) * 2,
        ("Disallow: /a|Disallow: /b|Allow: /b/c",) * 2,
        ("Disallow: /a|Allow: /*.js$|Disallow: /b",) * 2,
        ("Disallow: /a|Allow: /%62|Disallow: /b",) * 2,
        (
            "Disallow: /a|Disallow: /b|Disallow: /b/x|Allow: /c/d|Disallow: /c",
            "Allow: /c/d|Disallow: /a|Disallow: /b|Disallow: /b/x|Disallow: /c",
        ),
    ],
)
def test_an_allow_goes_before_no_disallow_that_it_meets(before, after):
    """So that robots that take the first rule that matches are let in nowhere."""
    text = "User-agent: one|{}|".replace("|", "\n")
    correction = normalize(text.format(before.replace("|", "\n")).encode())
    assert [
        line for line in correction.text.splitlines() if line[:1] not in {"#", "U", ""}
    ] == (after.split("|"))
    assert correction.is_harmless


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        # A name with a version is no part of the robot's to Python's own.
        (b"User-agent: *\nDisallow: /\n\nUser-agent: one/2\nDisallow:/a\n", "one/2"),
        # To Google a line without a colon is a rule.
        (b"User-agent: *\nDisallow: /a\nDisallow /b\n", "Disallow /b"),
        # And this is a User-agent line to it.
        (
            b"User-agent: *\nDisallow: /a\nUseragent: one\nDisallow: /b\n",
            "Useragent: one",
        ),
        # To Python's own a group for no name is for everyone.
        (b"User-agent:\nDisallow: /\n", "User-agent:"),
        # Where a # needs a space, this is another path: as a shorter one it were
        # opened.
        (b"User-agent: *\nAllow: /a#x\nDisallow: /\n", "Allow: /a#x"),
    ],
)
def test_what_some_robot_reads_otherwise_stays_where_correcting_it_would_let_it_in(
    body, kept
):
    """The lines stay then, or the name as it is written; and it is told."""
    correction = normalize(body)
    assert (
        kept in correction.text.splitlines() or f"User-agent: {kept}" in correction.text
    )
    assert correction.is_harmless
    assert (correction.text == body.decode()) >= bool(correction.remarks)
    assert all(
        one.startswith(("In the normal form, ", "So it ")) for one in correction.remarks
    )
    alone = normalize(body, alone=True)
    assert any(effect.opened for effect in alone.effects)


LINES = """
User-agent: *
User-agent: bot
User-agent: Bot/2
User-agent: robot
User-agent: Yandex
User-agent:
user agent one
Disallow: /a
Disallow: /a*b
Disallow: /
Disallow:
Allow: /a/b
Allow: /
Allow: /ab # comment
Crawl-delay: 5
Crawl-delay: 0.5
Request-rate: 1/10
Visit-time: 0600-0845
Comment: hello # there
Robot-version: 2.0
Robot-version: 1.0
Host: x.example
Host: y.example # two
Clean-param: s /a
Sitemap: https://x.example/s.xml
Sitemap:
Noindex: /x
https://x.example/
no directive
# comment
#
: /x

""".splitlines()[1:]
files = st.lists(st.one_of(st.sampled_from(LINES), st.just("")), max_size=14).map(
    lambda parts: "\n".join(parts).encode()
)
files = st.one_of(files, files, bodies)


@settings(max_examples=examples(700))
@given(body=files, dialect=dialects)
def test_correcting_twice_is_correcting_once(body, dialect):
    """In every dialect, whatever the file."""
    robots = RobotsTxt.parse(body, dialect=dialect)
    for alone in (False, True):
        once = rewrite(robots, alone=alone).text
        again = RobotsTxt.parse(once.encode(), dialect=dialect)
        assert rewrite(again, alone=alone).text == once


@settings(max_examples=examples(700))
@given(body=files, dialect=dialects, targets=st.lists(rooted, min_size=1, max_size=4))
def test_the_corrected_file_is_decided_as_the_original_by_the_reference(
    body, dialect, targets
):
    """The slow, obvious reader makes the same decisions, for every robot named."""
    after = rewrite(RobotsTxt.parse(body, dialect=dialect)).text.encode()
    for target in targets:
        url = read_url("https://www.example.com" + target, dialect)[1]
        for robot in ("bot", "robot", "other", "b-t", "nobody", "yandex"):
            one = reference.decide(body, dialect, robot, url)[0]
            assert reference.decide(after, dialect, robot, url)[0] == one, robot


@settings(max_examples=examples(400))
@given(body=files, dialect=dialects)
def test_the_corrected_file_is_proved(body, dialect):
    """The proof holds of the file as the document describes it, fields and all."""
    robots = RobotsTxt.parse(body, dialect=dialect)
    for alone in (False, True):
        assert str(prove(body, rewrite(robots, alone=alone).text, dialect)).startswith(
            "verified"
        )


@settings(max_examples=examples(300))
@given(
    body=files,
    dialect=st.sampled_from(sorted(DIALECTS)),
    targets=st.lists(rooted, max_size=9),
)
def test_nothing_opens_to_anyone(body, dialect, targets):
    """In every dialect, and for Python's own, for every robot named, in any file."""
    correction = normalize(body, dialect)
    assert correction.is_harmless
    after = correction.text.encode()
    for read in READERS.values():
        before, now = read(body), read(after)
        for target in targets if before and now else ():
            for robot in ("bot", "robot", "other", "b-t", "nobody", "yandex"):
                url = "https://www.example.com" + target
                assert before(url, robot) or not now(url, robot), robot


MENDED = frozenset(
    """
    byte-order-mark utf-16 not-utf-8 carriage-returns mixed-line-ends missing-colon
    semicolon-for-colon not-a-directive no-field space-before-colon
    comment-after-directive directive-outside-group blank-line-in-group
    no-blank-line-before-group repeated-agent star-before-robots group-without-rules
    group-without-disallow empty-agent agent-with-version agent-is-header duplicate-rule
    allow-after-disallow sitemap-in-group several-hosts host-not-for-yandex
    clean-param-not-for-yandex yandex-field-not-last misplaced-robot-version
    repeated-robot-version
    """.split()  # noqa: SIM905 -- words to be read
)


@settings(max_examples=examples(700))
@given(body=files)
def test_what_the_document_mends_is_not_found_again(body):
    """The corrected file has none of the findings that it is there to correct."""
    text = rewrite(RobotsTxt.parse(body), alone=True).text
    assert not {one.code for one in lint(text.encode())} & MENDED
    assert FINDINGS.keys() >= MENDED


@settings(max_examples=examples(300))
@given(one=st.binary(max_size=150), other=st.binary(max_size=150), dialect=dialects)
def test_any_bytes_are_corrected_and_compared(one, other, dialect):
    """Nothing raises."""
    assert rewritten(one, dialect).encode()[-1:] in {b"", b"\n"}
    assert prove(one, other, dialect).decisions >= 3


SLOW = (
    "many agents sharing many rules",
    "20,000 groups",
    "one group repeated",
    "wildcards on all heads",
    "one line of 5 MB",
    "5 MB of CR",
    "5 MB of #",
    "UTF-16",
    "random bytes",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.thorough] * (number % 3 != 1))
        for number, name in enumerate(SLOW)
    ],
)
def test_no_file_is_slow_to_correct(name):
    """Correcting and proving are linear, whatever the bytes."""
    start = time.process_time()
    body = EVIL[name][:250_000]
    text = rewritten(body)
    assert prove(body, text, max_decisions=5_000).holds
    assert time.process_time() - start < 40.0


@pytest.mark.parametrize(("path", "is_whole"), [("/a%d/b", True), ("/*a*%d*b", False)])
def test_of_many_patterns_fewer_urls_are_asked(path, is_whole):
    """Each is tried: twice as many patterns must not take four times as long."""
    body = "User-agent: *\n" + "".join(f"Disallow: {path % n}\n" for n in range(500))
    proof = prove(body.encode(), body, max_decisions=50_000)
    assert (proof.holds, proof.is_whole) == (True, is_whole)
    assert is_whole or 1_000 < proof.decisions < 4_000


GOOD = (
    "User-agent: one\nAllow: /a/b\nDisallow: /a\nCrawl-delay: 2\n\nUser-agent:"
    " *\nDisallow: /c\n"
)


@pytest.mark.parametrize(
    ("wrong", "right", "question"),
    [
        ("Disallow: /c", "Disallow: /c/", "/c"),
        ("Disallow: /c", "Disallow: /cx", "/c"),
        ("Disallow: /c", "Disallow: /c$", "/cx"),
        ("Disallow: /c", "Disallow: /*c", "/y/z.wc"),
        ("Disallow: /c", "Disallow: /C", "/c"),
        ("Disallow: /c", "Allow: /c", "/c"),
        ("Allow: /a/b\n", "", "/a/b"),
        ("Disallow: /a\n", "", "/a"),
        ("User-agent: one", "User-agent: two", "/a"),
        ("User-agent: *", "User-agent: three", "/c"),
        ("Crawl-delay: 2", "Crawl-delay: 3", "Crawl-delay"),
        ("Crawl-delay: 2", "Visit-time: 0600-0845", "Visit-time"),
        ("Crawl-delay: 2", "Crawl-delay: 2\nRequest-rate: 1/2", "Request-rate"),
        ("Crawl-delay: 2", "Crawl-delay: 2\nComment: hello", "Comment"),
        ("Crawl-delay: 2", "Crawl-delay: 2\nSitemap: a", "Sitemap"),
        ("Crawl-delay: 2", "Crawl-delay: 2\nHost: a", "Host"),
        ("Crawl-delay: 2", "Crawl-delay: 2\nClean-param: a", "Clean-param"),
    ],
)
def test_what_differs_is_not_proved(wrong, right, question):
    """The proof names the question, who asked, and both answers."""
    proof = prove(GOOD.encode(), GOOD.replace(wrong, right))
    assert not proof.holds
    assert proof.different >= len(proof.differences) > 0
    asked = [
        one.question.removeprefix("https://www.example.com")
        for one in proof.differences
    ]
    assert question in asked
    one = proof.differences[0]
    assert one.before != one.after
    assert str(one) in str(proof)


short = st.text("ab*$", max_size=4).map(lambda path: f"/{path}")
some_rules = st.lists(
    st.tuples(st.sampled_from(["Allow", "Disallow"]), short).map(": ".join),
    min_size=1,
    max_size=6,
)
every_target = [
    "/" + "".join(parts) for size in range(6) for parts in product("ab", repeat=size)
]


@settings(max_examples=examples(700))
@given(
    rules=some_rules,
    place=st.integers(0, 5),
    other=short,
    dialect=st.sampled_from(["mandelbot", "rep1994"]),
)
def test_no_difference_escapes_the_proof(rules, place, other, dialect):
    """A file with one rule changed, left out or moved is proved only if it decides
    alike.
    """
    place %= len(rules)
    field = rules[place].partition(":")[0]
    body = "\n".join(["User-agent: *", *rules]).encode()
    for changed in (
        [*rules[:place], f"{field}: {other}", *rules[place + 1 :]],
        rules[:place] + rules[place + 1 :],
        [rules[place], *rules[:place], *rules[place + 1 :]],
    ):
        after = "\n".join(["User-agent: *", *changed])
        robots = [
            RobotsTxt.parse(text, dialect=dialect) for text in (body, after.encode())
        ]
        answers = [
            [one.allowed(target, "x") for target in every_target] for one in robots
        ]
        if answers[0] != answers[1]:
            assert not prove(body, after, dialect).holds


@pytest.mark.parametrize(
    ("first", "instead", "others", "url"),
    [
        (
            "Disallow: /",
            "Disallow: /*a",
            ["Allow: /b", "Allow: /ba", "Disallow: /*"],
            "/bxa",
        ),
        (
            "Allow: /b$",
            "Allow: /b*b$",
            ["Allow: /b", "Disallow: /*a**", "Allow: /b*b"],
            "/bab",
        ),
        (
            "Disallow: /*ab",
            "Disallow: /$",
            ["Disallow: /", "Allow: /aa*a", "Allow: /aa"],
            "/aab",
        ),
        ("Allow: /**ab", "Allow: /", ["Disallow: /*a$", "Allow: /a**"], "/baba"),
        ("Allow: /bb*", "Allow: /*bb*", ["Allow: /*b$", "Disallow: /b"], "/babba"),
    ],
)
def test_what_two_rules_match_and_no_third_is_asked(first, instead, others, url):
    """Where a third is longer than both, what both match is decided by that."""
    before, after = (
        "\n".join(["User-agent: *", rule, *others]) for rule in (first, instead)
    )
    answers = [
        RobotsTxt.parse(text.encode()).allowed(url, "x") for text in (before, after)
    ]
    assert answers[0] != answers[1]
    assert not prove(before.encode(), after).holds


def test_a_proof_says_what_was_compared():
    """Decisions, fields, dialect; and when it asked a part of all questions."""
    proof = prove(GOOD.encode(), GOOD)
    assert proof.holds
    assert proof.is_whole
    assert proof.dialect == "mandelbot"
    assert proof.decisions > 30
    assert proof.fields == 2 * 5 + 4  # two robots, and what is about all
    assert (
        str(proof)
        == f"verified: {proof.decisions} allow/disallow decisions unchanged (mandelbot"
        " dialect)"
    )
    many = "User-agent: *\n" + "".join(f"Disallow: /{n}\n" for n in range(1000))
    part = prove(many.encode(), many, max_decisions=1000)
    assert not part.is_whole
    # what is asked because of each rule, and a sample
    assert 2_000 <= part.decisions <= 3_100
    assert str(part).endswith("dialect, a sample)")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("space", "\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029\u3000")
def test_what_is_white_space_elsewhere_ends_no_name(space, dialect):
    """Correcting again changes nothing: such characters are part of a name, as they are
    read.
    """
    once = rewritten(
        f"User-agent: a{space}b\nDisallow: /a{space}b\nField{space}: x\n", dialect
    )
    assert rewritten(once, dialect) == once
    assert "# a" not in once


def test_rules_with_wildcards_meet_all_others_in_turn():
    """Each meets a few, together they meet all; only those that they can meet, in
    several ways.
    """
    wildcards = [f"/a/*x{n}" for n in range(10)]
    others = [f"/a/{n}" for n in range(60)]
    met = list(meetings([*wildcards, *others, "/b/1", "/c$"]))
    assert len(met) == 10 * 8 * (5 + 4)  # any other, and any with wildcards
    assert set(others) <= {target.partition("x")[0] for target in met}
    assert all(target.startswith("/a/") for target in met)
    assert set(meetings(["/*a$", "/b*", "/#c"])) >= {"/ba", "/%23ca"}
    assert list(meetings(others)) == []


def test_the_order_of_groups_is_compared_where_it_matters():
    """A robot that contains two names takes the first group, in some dialects."""
    one, other = "User-agent: one\nDisallow: /a\n", "User-agent: two\nDisallow: /b\n"
    before, after = f"{one}\n{other}".encode(), f"{other}\n{one}"
    assert prove(before, after).holds
    assert not prove(before, after, "rep1994").holds


@pytest.mark.parametrize("name", ["n", "a", "aaaaaaaa", "aaaa"])
def test_there_is_always_a_robot_that_no_group_names(name):
    """Whatever the names: what is said to * is compared."""
    before = f"User-agent: {name}\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n"
    for dialect in ("mandelbot", "rep1994"):
        assert prove(before.encode(), before, dialect).holds
        assert not prove(before.encode(), before.replace("/b", "/c"), dialect).holds


def test_several_dialects_can_be_proved():
    """What is alike in one dialect may differ in another."""
    text = "User-agent: one\nDisallow: /a\nAllow: /a/b\n"
    after = rewrite(RobotsTxt.parse(text.encode()), alone=True).text
    assert prove(text.encode(), after).holds
    assert prove(text.encode(), after, "rep2008").holds
    assert not prove(text.encode(), after, "rep1994").holds
    assert set(DIALECTS) <= set(ALL)


@pytest.mark.parametrize("package", [lint_package, rewriting_package])
def test_the_packages_examples_are_so(package):
    """What the docstrings show is what happens."""
    results = doctest.testmod(package)
    assert results.attempted >= 1
    assert results.failed == 0


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(
    "line",
    [
        "\ufeffFoo: y",
        "\ufeffUser-agent: x",
        "Sitemap: https://example.com/s",
        "http://x/",
    ],
)
def test_what_becomes_a_comment_or_moves_does_not_make_a_version_the_first_line(
    line, alone
):
    """A Robot-version counts right after the agents alone: nothing opens by what goes
    away.
    """
    body = f"User-agent: *\n{line}\nRobot-version:2.0\nDisallow:/\n".encode()
    before = RobotsTxt.parse(body, dialect="extended2")
    text = rewrite(before, alone=alone).text
    after = RobotsTxt.parse(text.encode(), dialect="extended2")
    for target in ("/", "/a", "/a/b"):
        assert not before.allowed(target, "x")
        assert not after.allowed(target, "x"), text
    assert prove(body, text, "extended2").holds
    assert rewrite(after, alone=alone).text == text
