"""What is found in files, and what is not."""

from __future__ import annotations

import gzip
import time
from collections import Counter
from itertools import product

import pytest
from cases import deliveries, findings, findings_elsewhere
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tables import each_row
from test_robotstxt_any_bytes import EVIL
from test_robotstxt_properties import bodies

from mandelbot import DIALECTS, RobotsTxt
from mandelbot.cli.output import check_report
from mandelbot.cli.output.rules_in_force import Rules
from mandelbot.findings import FINDINGS, Delivery, Severity, lint, lint_delivery
from mandelbot.findings.agent_checks import ROBOT_NAMES
from mandelbot.findings.spelling import Spelling


def codes(text):
    """Return the findings of a file as (code, line)."""
    return [
        (one.code, one.line)
        for one in lint(text.encode() if isinstance(text, str) else text)
    ]


def _named(table):
    for number, case in enumerate(table):
        name = f"{getattr(case, 'document', 'Moderatobot')}-{case.section}-{number}"
        yield pytest.param(case, id=name.replace(" ", "_"))


@each_row("case", _named(findings.CASES + findings_elsewhere.CASES))
def test_what_the_documents_call_wrong_is_found(case):
    """At the lines said, and nothing that the document calls right."""
    found = codes(case.octets)
    for code in {code for code, _ in case.codes}:
        expected = [line for other, line in case.codes if other == code]
        assert [line for other, line in found if other == code] == expected, case.says
    assert not {code for code, _ in found} & set(case.absent), case.says
    assert set(case.absent) <= FINDINGS.keys()


@each_row("case", _named(deliveries.DELIVERIES))
def test_what_the_document_says_of_a_delivery_is_found(case):
    """These findings, and no other."""
    found = lint_delivery(Delivery(**dict(case.delivery)))
    assert tuple(one.code for one in found) == case.codes, case.says
    assert all(one.line is None for one in found)


def test_a_good_file_has_no_findings():
    """What all robots read alike is not found fault with."""
    good = """\
# Our rules
User-agent: Examplebot
User-agent: Otherbot
Allow: /private/press/
Disallow: /private/
Disallow: /tmp/

User-agent: *
Disallow: /private/
Disallow: /tmp/

Sitemap: https://www.example.com/sitemap.xml
"""
    assert codes(good) == []
    assert codes(good.replace("\n", "\r\n")) == []


RULES = "User-agent: *\nDisallow: /a\n" * 40


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (gzip.compress(RULES.encode()), "a gzip file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9, "a PNG image"),
        (RULES.encode("utf-32"), "UTF-32"),
        (RULES.encode("utf-32-le"), "UTF-32"),
        (RULES.encode("utf-16-le"), "UTF-16 without its mark"),
        (RULES.encode("utf-16-be"), "UTF-16 without its mark"),
        (b"%PDF-1.7\n" + bytes(range(256)), "a PDF file"),
        (bytes(range(32)) * 99, "no text"),
    ],
)
def test_a_body_that_is_no_text_is_one_error(body, kind):
    """Not a finding for each of its lines."""
    (finding,) = lint(body)
    assert (finding.code, finding.message) == ("binary-file", f"The file is {kind}.")
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1251"]
)
def test_text_is_text_in_any_encoding(encoding):
    """Whatever else is found in it."""
    body = ("User-agent: *\nDisallow: /" + "é" * 40 + "\n").encode(encoding, "replace")
    assert "binary-file" not in {one.code for one in lint(body)}
    assert lint(b"User-agent: *\nDisallow: /a\0\x01\n")[0].code != "binary-file"


def test_findings_of_a_parsed_file_are_those_of_its_bytes_in_every_dialect():
    """The parse keeps what the checks need: the mark, the encoding, how much was left
    out.
    """
    marked = "\ufeffUser-agent: *\nDisalow: /a\n".encode()
    cut = b"User-agent: *\nDisallow: /a\nDisallow: /b\n"
    for dialect in DIALECTS:
        robots = RobotsTxt.parse(marked, dialect=dialect)
        assert lint(robots) == lint(marked)
        assert [one.code for one in lint(robots)] == [
            "byte-order-mark",
            "group-without-disallow",
            "misspelt-field",
        ]
        assert lint(RobotsTxt.parse(cut, dialect=dialect, max_bytes=30))[0].line == 2


def test_a_finding_is_a_line_for_a_terminal():
    """With line, severity, message and code; and it knows why it matters."""
    (finding,) = [one for one in lint(b"User-agent: *\nDisallow: a\n") if one.line == 2]
    assert (
        str(finding)
        == 'line 2: error: "a" does not begin with a slash. [no-leading-slash]'
    )
    assert finding.why == FINDINGS["no-leading-slash"].why
    assert Severity.NOTE < Severity.WARNING < Severity.ERROR


def test_many_of_a_kind_are_counted_not_listed():
    """As many as the table says, the first ones; the last knows how many more there
    are.
    """
    body = "User-agent: *\n" + "Disallow: a\n" * 1000 + "Disallow: /*b\n" * 9
    listed = [one for one in lint(body.encode()) if one.code == "no-leading-slash"]
    assert [one.line for one in listed] == list(range(2, 52))
    assert [one.more for one in listed] == [0] * 49 + [950]
    (wildcard,) = [one for one in lint(body.encode()) if one.code == "wildcard"]
    assert wildcard.more == 8
    assert str(wildcard).endswith("[wildcard] (and 8 more like this)")


def test_the_table_is_sound():
    """Codes are words joined by hyphens, each once; texts are sentences."""
    for code, kind in FINDINGS.items():
        assert code == kind.code == code.lower()
        assert code.replace("-", "").isalnum()
        assert kind.text.endswith(".")
        assert kind.why.endswith(".")
    assert len({kind.text for kind in FINDINGS.values()}) == len(FINDINGS)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("Disallow: /cart | Disallow: /*cart", ("unreachable-rule", 2)),
        ("Disallow: /*cart | Disallow: /cart", ("unreachable-rule", 3)),
        ("Disallow: /a.pdf | Disallow: /*.pdf", ()),
        ("Disallow: /*a*b*c | Disallow: /abc", ("unreachable-rule", 3)),
        ("Disallow: /a/*/b$ | Disallow: /a/*/*/b$", ()),
        ("Disallow: /a/*/b$ | Disallow: /a/*****/b$", ("unreachable-rule", 2)),
        ("Disallow: /a$ | Disallow: /a", ()),
        ("Disallow: /a$ | Disallow: /a**", ()),
        ("Disallow: /*a | Disallow: /a$", ("unreachable-rule", 3)),
        ("Disallow: /a | Disallow: /*a$", ()),
        ("Disallow: /a$ | Disallow: /*a$", ("unreachable-rule", 2)),
        ("Allow: /~a | Disallow: /%7ea", ("unreachable-rule", 2)),
        ("Disallow: /é | Disallow: /%C3%A9", ("unreachable-rule", 3)),
        ("Disallow: https://x.example/a | Allow: /a", ()),
        ("Disallow: /a | Allow: /a*", ("unreachable-rule", 2)),
        ("Disallow: /a*b | Allow: /a*b", ("tie", 2)),
        ("Disallow: /b/a | Disallow: /*", ()),
        ("Disallow: */x | Disallow: /*/x", ()),
    ],
)
def test_a_rule_that_never_decides_is_found(rules, expected):
    """By Mandelbot's precedence; a rule that decides for any URL at all is not."""
    clashes = {"unreachable-rule", "duplicate-rule", "tie"}
    found = [
        one
        for one in codes("User-agent: *\n" + rules.replace(" | ", "\n"))
        if one[0] in clashes
    ]
    assert found == ([expected] if expected else [])


short = st.lists(
    st.sampled_from(["a", "b", "*", "*", "$", "/", "%61"]), max_size=5
).map("".join)
rule_lines = st.tuples(
    st.sampled_from(["Allow: /", "Disallow: /", "Disallow: "]), short
).map("".join)
targets = [
    "/" + "".join(parts) for size in range(5) for parts in product("ab/", repeat=size)
]


@settings(max_examples=examples(600))
@given(rules=st.lists(rule_lines, min_size=2, max_size=8))
def test_without_a_rule_that_never_decides_all_is_decided_alike(rules):
    """What is called unreachable, twice there or beaten in a tie can go, one by one."""
    lines = ["User-agent: *", *rules]
    body = "\n".join(lines).encode()
    robots = RobotsTxt.parse(body)
    before = [robots.allowed(target, "x") for target in targets]
    for one in lint(body):
        if one.code in {"unreachable-rule", "duplicate-rule", "tie"}:
            without = "\n".join(lines[: one.line - 1] + lines[one.line :]).encode()
            robots = RobotsTxt.parse(without)
            assert [robots.allowed(target, "x") for target in targets] == before, str(
                one
            )


@settings(max_examples=examples(500))
@given(
    body=st.one_of(bodies, st.binary(max_size=300)),
    limit=st.one_of(st.none(), st.integers(0, 99)),
)
@example(body=b"Sitemap\x1a http://", limit=None)  # a field that is nearly one
def test_any_bytes_are_checked(body, limit):
    """Nothing raises; lines are in order and in the file; severities are those of the
    table.
    """
    found = lint(body, max_bytes=limit)
    lines = [one.line or 0 for one in found]
    assert lines == sorted(lines)
    assert (
        not lines
        or max(lines) <= len(RobotsTxt.parse(body, max_bytes=limit).records) + 1
    )
    for one in found:
        assert one.severity is FINDINGS[one.code].severity
        assert one.message.isprintable()
        assert len(one.message) < 250
        assert str(one).count("\n") == 0
    assert all(
        count <= FINDINGS[code].most
        for code, count in Counter(o.code for o in found).items()
    )


@settings(max_examples=examples(300))
@given(
    url=st.one_of(st.none(), st.text()),
    final_url=st.one_of(st.none(), st.text()),
    status=st.one_of(st.none(), st.integers()),
    seconds=st.one_of(st.none(), st.floats()),
    content_type=st.one_of(st.none(), st.text()),
    content_encoding=st.one_of(st.none(), st.text()),
)
def test_any_delivery_is_checked(**delivery):
    """Nothing raises, whatever a server sends."""
    for one in lint_delivery(Delivery(**delivery)):
        assert one.message.isprintable()


EVIL_HERE = {
    **EVIL,
    "47,000 rules": (
        b"User-agent: *\n"
        + b"".join(b"Disallow: /some/%d/p\n" % n for n in range(47000))
    ),
    "47,000 wildcards": (
        b"User-agent: *\n"
        + b"".join(b"Disallow: /*some/%d*path\n" % (n * 7919) for n in range(47000))
    ),
    "one key for all": (
        b"User-agent: *\n"
        + b"".join(
            b"Disallow: /*" + b"a" * (n % 90 + 3) + b"*%d\n" % n for n in range(20000)
        )
    ),
    "bars": b"User-agent: *\nDisallow: /(" + b"|" * 400_000,
    "words": b"user " * 200_000,
}
SECONDS = 10.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.thorough] * (number % 3 > 0))
        for number, name in enumerate(sorted(EVIL_HERE))
    ],
)
def test_no_file_is_slow_to_check(name):
    """Checks are linear, whatever the bytes; the limit is several times the need."""
    start = time.process_time()
    found = lint(EVIL_HERE[name], max_bytes=700_000)
    assert time.process_time() - start < SECONDS
    assert len(found) < 50 * len(FINDINGS)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("dissallow", "disallow"),
        ("disalow", "disallow"),
        ("diasllow", "disallow"),
        ("disallowed", None),
        ("desallow", "disallow"),
        ("dis allow", "disallow"),
        ("alow", "allow"),
        ("al", None),
        ("allow" * 20, None),
        ("", None),
    ],
)
def test_a_misspelt_field_is_recognised(word, meant):
    """One letter too few, too many or wrong, two swapped, doubled ones, spaces and
    hyphens.
    """
    assert Spelling(["disallow", "allow"], shortest=4).corrected(word) == meant


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("sidewiner", "sidewinder"),
        ("Gogolebot", "googlebot"),
        ("Googelbot", "googlebot"),
        ("Goodlebot", "googlebot"),
        ("Roverbot", None),
        ("Foobot", None),
        ("Crawler", None),
    ],
)
def test_a_misspelt_robot_is_recognised_when_it_is_sure(word, meant):
    """Names that are alike by chance are not corrected."""
    assert Spelling(ROBOT_NAMES, shortest=6).surely_corrected(word) == meant


def test_no_known_robot_is_called_misspelt():
    """The list does not correct itself."""
    text = "".join(f"User-agent: {name}\nDisallow: /\n\n" for name in ROBOT_NAMES)
    assert "misspelt-agent" not in {code for code, _ in codes(text)}


def test_names_of_one_group_are_in_nobodys_way():
    """Whichever of them a robot finds, it finds the same rules."""
    same = b"User-agent: Adsbot\nUser-agent: AdsBot-Google\nDisallow: /a\n"
    assert not {one.code for one in lint(same)} & {"wide-name-first", "wide-name-last"}
    apart = same.replace(
        b"\nUser-agent: AdsBot", b"\nDisallow: /b\n\nUser-agent: AdsBot"
    )
    assert "wide-name-first" in {one.code for one in lint(apart)}


SHUT = "closed-to-robot", "closed-to-all", "merged-with-next"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("User-agent: *\nDisallow: /\n", [("closed-to-all", 2, "No robot")]),
        (
            "User-agent: *\nDisallow: /\n\nUser-agent: a\nDisallow: /*\n",
            [("closed-to-all", 2, "No")],
        ),
        ("User-agent: *\nDisallow: /\n\nUser-agent: a\nDisallow:\n", []),
        ("User-agent: *\nDisallow: /\nAllow: /a\n", []),
        ("User-agent: *\nDisallow: /$\n", []),
        ("User-agent: Googlebot\nDisallow: /\n\nUser-agent: *\nDisallow: /a\n", []),
        # A search engine whose group has no rules takes those of a robot below it.
        (
            "User-agent: Googlebot\n\nUser-agent: GPTBot\nDisallow: /\n",
            [("closed-to-robot", 4, "Googlebot may fetch nothing.")],
        ),
        # Lists of robots that are closed out have blank lines and search engines in
        # them.
        ("User-agent: AhrefsBot\n\nUser-agent: GPTBot\nDisallow: /\n", []),
        ("User-agent: Googlebot\n\nUser-agent: Bingbot\nDisallow: /\n", []),
        ("User-agent: Googlebot\nUser-agent: GPTBot\nDisallow: /\n", []),
        # Whoever has a line of its own was meant to have another one.
        (
            "User-agent: a\nCrawl-delay: 5\n\nUser-agent: b\nDisallow: /\n",
            [("merged-with-next", 5, "By RFC 9309, a would")],
        ),
        (
            (
                "User-agent: a\nAlow: /\nUser-agent: b\nRequest-rate: 1/5\nUser-agent:"
                " c\nDisallow: /"
            ),
            [("merged-with-next", 6, "By RFC 9309, a and b would")],
        ),
        # All robots, with a line of its own: the whole site is closed by mistake.
        (
            "User-agent: *\nCrawl-delay: 5\n\nUser-agent: b\nDisallow: /\n",
            [("closed-to-robot", 5, "The whole site is closed to any robot")],
        ),
        (
            (
                "User-agent: *\nCrawl-delay: 5\n\nUser-agent: b\nDisallow: /\n\n"
                "User-agent: c\nDisallow: /x\n"
            ),
            [("closed-to-robot", 5, "The whole site is closed to robots without")],
        ),
        # Of a name that fetches nothing nothing is fetched.
        (
            "User-agent: Google-Extended\nCrawl-delay: 5\n\nUser-agent: b\nDisallow: /",
            [],
        ),
        # Of two groups one lets it in.
        (
            "User-agent: a\nDisallow:\n\nUser-agent: b\nUser-agent: a\nDisallow: /\n",
            [("merged-with-next", 6, "By RFC 9309, a would")],
        ),
        (
            (
                "User-agent: bingbot\nDisallow: /x\n\nUser-agent: b\nUser-agent:"
                " bingbot\nDisallow: /"
            ),
            [("merged-with-next", 6, "By RFC 9309, bingbot would")],
        ),
        ("User-agent: a\nDisallow: /x\n\nUser-agent: a\nDisallow: /\n", []),
    ],
)
def test_who_may_fetch_nothing_is_found(body, found):
    """All robots, or one that was hardly meant; and the rules do decide so."""
    hits = [one for one in lint(body.encode()) if one.code in SHUT]
    assert [(one.code, one.line) for one in hits] == [one[:2] for one in found]
    for hit, (_, _, message) in zip(hits, found, strict=True):
        assert hit.message.startswith(message)
        first = hit.message.removeprefix("By RFC 9309, ").split()[0]
        name = first.replace("No", "anyone").replace("The", "anyone")
        for dialect in ("mandelbot", "rfc9309", "google"):
            robots = RobotsTxt.parse(body.encode(), dialect=dialect)
            assert not robots.allowed("/", name)
            assert not robots.allowed("/x/y", name)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (
            "Content-Signal: search=maybe, ai-train=perhaps, foo=bar",
            "bad-content-signal",
        ),
        ("Content-Usage: train-ai=maybe, foo=y", "bad-content-usage"),
    ],
)
def test_a_statement_that_cannot_be_read_is_told_once(line, code):
    """Whatever else is wrong in its line."""
    found = [
        one.code for one in lint(f"User-agent: *\n{line}\nDisallow: /x\n".encode())
    ]
    assert set(found) == {code}


def test_like_findings_of_one_line_or_rule_are_one():
    """Of a web page that it is one; of a rule that never decides not its star, too."""
    page = b"<html><style>#a {b: c;}\nbody: #fff\nfoo: bar#baz</style></html>\n"
    assert [one.code for one in lint(page)] == ["html-page"]
    rules = b"User-agent: *\nDisallow: /b*\nDisallow: /a**\nDisallow: /a*\n"
    stars = [
        one for one in lint(rules) if one.code in {"redundant-star", "unreachable-rule"}
    ]
    assert [(one.line, one.code) for one in stars] == [
        (2, "redundant-star"),
        (3, "redundant-star"),
        (4, "unreachable-rule"),
    ]
    covered = "User-agent: *\nAllow: /\n" + "".join(
        f"Disallow: /{n}\n" for n in range(11)
    )
    (found,) = [
        one for one in lint(covered.encode()) if one.code == "allow-before-disallow"
    ]
    assert (
        "The Allow of line 2 covers this Disallow and 10 more, and comes first."
        in str(found)
    )


def test_findings_are_told_by_what_they_do():
    """Who is shut out, who is let in, what is unread, style; the worse first, notes
    last.
    """
    body = (
        b"User-agent: Googlebot\n\nUser-agent: GPTBot\nDisallow: /\n\nUser-agent:"
        b" *\nDisallow:\nDisalow: /a\nDisallow: /b #c\nAllow: /b/c\nDisallow:"
        b" /d\nDisallow: /d\n"
    )
    found = check_report.check(Rules("x", body))["findings"]
    assert [one["code"] for one in found] == [
        "closed-to-robot",
        "blank-line-between-agents",
        "misspelt-field",
        "allow-after-disallow",
        "empty-disallow-first",
        "comment-after-directive",
        "duplicate-rule",
    ]
    ranks = [FINDINGS[one["code"]].rank for one in found]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/a, /b, /c", '"/a, /b, /c" has 3 paths in one line: write 3 lines.'),
        ("/a /b", '"/a /b" has 2 paths in one line: write 2 lines.'),
        ("/a b", 'There is a space in "/a b".'),
    ],
)
def test_several_paths_in_one_line_are_counted(path, message):
    """Otherwise the space itself is the mistake."""
    found = lint(f"User-agent: *\nDisallow: {path}\n".encode())
    assert [one.message for one in found if one.code == "space-in-path"] == [message]
