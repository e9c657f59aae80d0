"""What the findings say of readers, compared with the readers: each dialect, Protego,
urllib.
"""

from __future__ import annotations

import re

import pytest
from protego import Protego

from mandelbot import DIALECTS
from mandelbot.findings import FINDINGS, Severity, lint
from mandelbot.fix import normalize
from mandelbot.fix.effects import FIRST_MATCH, OWN_URLLIB, PROTEGO, READERS
from mandelbot.fix.questions import SITE

# Not by the newer rules of Python's parser: few Pythons have them.
ASKED = {
    name: read
    for name, read in READERS.items()
    if name != OWN_URLLIB or name == FIRST_MATCH
}
OF_GOOGLE, ALL, NONE = {"google"}, set(ASKED), set()
STAR = "User-agent: *\n"

# A finding, what it says of readers, a file, and who keeps Foobot out of /a by it.
CASES = [
    ("missing-colon", "and Protego,", f"{STAR}Disallow /a\n", {"google", PROTEGO}),
    (
        "missing-colon",
        "most others ignore",
        "User-agent *\nDisallow: /a\n",
        {"google", PROTEGO},
    ),
    ("semicolon-for-colon", "where white space", f"{STAR}Disallow; /a\n", OF_GOOGLE),
    ("semicolon-for-colon", "Robots ignore such", f"{STAR}Disallow;/a\n", NONE),
    ("misspelt-field", "and Protego,", f"{STAR}Disalow: /a\n", {"google", PROTEGO}),
    ("misspelt-field", "and Protego,", f"{STAR}Dissallow: /a\n", {"google", PROTEGO}),
    (
        "misspelt-field",
        "and Protego,",
        "useragent: *\nDisallow: /a\n",
        {"google", PROTEGO},
    ),
    ("misspelt-field", "some misspellings", f"{STAR}Diallow: /a\n", NONE),
    (
        "misspelt-field",
        "some misspellings",
        "User-agents: *\nDisallow: /a\n",
        OF_GOOGLE,
    ),
    ("directive-outside-group", "no robot", "Disallow: /a\n", NONE),
    (
        "directive-outside-group",
        "no robot",
        "Disallow: /a\nUser-agent: x\nAllow: /\n",
        NONE,
    ),
    (
        "repeated-star",
        "Protego among them",
        f"{STAR}Disallow: /b\n\n{STAR}Disallow: /a\n",
        ALL - {"rep1994", "rep2008", "extended2", FIRST_MATCH},
    ),
    (
        "double-slash",
        "Robots match only URLs that have both",
        f"{STAR}Disallow: //a\n",
        NONE,
    ),
    ("no-leading-slash", "matches nothing", f"{STAR}Disallow: a\n", NONE),
    ("empty-agent", "no robot", "User-agent:\nDisallow: /a\n", {FIRST_MATCH}),
    (
        "full-url",
        "to Google, Protego",
        f"{STAR}Disallow: {SITE}/a\n",
        ALL - {"google", "rfc9309", PROTEGO, FIRST_MATCH},
    ),
    (
        "full-url",
        "the host that it names",
        f"{STAR}Disallow: https://other.example/a\n",
        NONE,
    ),
    ("star-in-agent", "a * by itself", "User-agent: *bot\nDisallow: /a\n", NONE),
    (
        "several-directives",
        "matches nothing",
        f"{STAR}Disallow: /b Disallow: /a\n",
        NONE,
    ),
    ("no-field", "skip the line", f"{STAR}: /a\n", NONE),
    ("not-a-directive", "skip it", f"{STAR}/a\n", NONE),
    ("empty-file", "All robots", "", NONE),
    ("regular-expression", "literally", f"{STAR}Disallow: /(a|b)\n", NONE),
    (
        "own-group-drops-rules",
        "ignores",
        f"{STAR}Disallow: /a\n\nUser-agent: Foobot\nDisallow: /b\n",
        NONE,
    ),
    (
        "star-before-robots",
        "no dialect",
        f"{STAR}Disallow:\n\nUser-agent: Foobot\nDisallow: /a\n",
        ALL,
    ),
    (
        "star-before-robots",
        "no dialect",
        f"{STAR}Disallow: /a\n\nUser-agent: Foobot\nDisallow:\n",
        NONE,
    ),
    ("name-for-all", "no robot", "User-agent: All\nDisallow: /a\n", NONE),
    ("name-for-all", "no robot", "User-agent: .*\nDisallow: /a\n", NONE),
    ("quoted-name", "no robot", 'User-agent: "Foobot"\nDisallow: /a\n', NONE),
    ("quoted-name", "no robot", "User-agent: '*'\nDisallow: /a\n", NONE),
    ("star-in-agent", "Protego", "User-agent: *Foobot*\nDisallow: /a\n", {PROTEGO}),
    (
        "invisible-character",
        "a part of the value",
        f"{STAR}Disallow: /a\u200b\n",
        NONE,
    ),
    (
        "invisible-character",
        "Parsers in Python",
        f"{STAR}Disallow: /a\xa0\n",
        {PROTEGO, FIRST_MATCH},
    ),
]


def closed_by(body: str, path: str = "/a") -> set[str]:
    """Return who keeps Foobot out of a path."""
    readers = {name: read(body.encode()) for name, read in ASKED.items()}
    return {
        name for name, allowed in readers.items() if not allowed(SITE + path, "Foobot")
    }


@pytest.mark.parametrize(("code", "says", "body", "readers"), CASES)
def test_a_finding_says_what_the_readers_do(code, says, body, readers):
    """The sentence has these words, the file has the finding, and the readers decide
    so.
    """
    assert says in FINDINGS[code].why
    assert code in {one.code for one in lint(body.encode())}
    assert closed_by(body) == readers


def test_all_sentences_about_all_or_one_reader_are_compared():
    """Of the findings about lines: those with none, all, only, no robot, no dialect,
    Protego.
    """
    said = re.compile(
        r"\b(all robots|only Google|no robot|no dialect|Protego)\b", re.IGNORECASE
    )
    elsewhere = {
        *("status-not-found", "only-in-capitals"),  # of the delivery
        *("sitemap-in-group", "closed-to-all"),  # no decision
    }
    found = {code for code, kind in FINDINGS.items() if said.search(kind.why)}
    assert found - elsewhere <= {code for code, *_ in CASES}


def test_no_dialect_stops_at_the_group_for_all():
    """As the note of `star-before-robots` says."""
    assert not any(dialect.star_stops for dialect in DIALECTS.values())


REPLACED = {
    "Disallow: /a\nDisallow: /b\n": "what lines 2 to 3 close",
    "Disallow: /a\nAllow: /a/b\nDisallow: /b\n": "what 2 rules from line 2 on close",
    "Disallow: /a\n": "what line 2 closes",
}


@pytest.mark.parametrize("rules", REPLACED)
@pytest.mark.parametrize(
    "own", ["Allow: /\n", "Disallow: /zz\n", "Crawl-delay: 5\n", "Disallow: /*z\n"]
)
def test_a_search_engine_may_fetch_what_its_group_does_not_repeat(rules, own):
    """Its first finding is the warning, and each reader in use lets it in."""
    body = f"{STAR}{rules}\nUser-agent: Googlebot\n{own}"
    (found,) = [
        one for one in lint(body.encode()) if one.code == "own-group-drops-rules"
    ]
    assert found.severity is Severity.WARNING
    assert (
        found.message
        == f"Googlebot may fetch {REPLACED[rules]} to others: its own group replaces"
        " the group for *."
    )
    paths = re.findall("Disallow: (.*)", rules)
    for read in (READERS["google"], READERS["rfc9309"], READERS[PROTEGO]):
        assert all(read(body.encode())(SITE + path, "Googlebot") for path in paths)


@pytest.mark.parametrize(
    "body",
    [
        f"{STAR}Allow: /\n\nUser-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n",
        f"{STAR}Disallow: /admin/\n\nUser-agent: GPTBot\nDisallow: /\n",
        f"{STAR}Disallow: /\n\nUser-agent: Googlebot\nAllow: /\n",  # only these
        f"{STAR}Disallow: /\n\nUser-agent: Googlebot\nDisallow: /a\n",
        f"{STAR}Disallow: /a\n\nUser-agent: Googlebot\nDisallow:\n",  # so it is meant
        f"{STAR}Disallow: /a\n\nUser-agent: Twitterbot\nAllow: /\n",  # a preview
        f"{STAR}Disallow: *?sort=\n\nUser-agent: Bingbot\nDisallow: /\n",
        # What robots that obey the first match, or end a group at a blank line, read
        # otherwise.
        f"{STAR}Allow: /\nDisallow: /a\n\nDisallow: /b\n",
        f"{STAR}Disallow:\nDisallow: /a\n",
        "User-agent: Mediapartners-Google*\nDisallow: /a\n",
        f"{STAR}Disallow: /typo3temp/*.css.*.gzip\n",
        f"User-agent: GPTBot\nDisallow: /\n\n{STAR}Sitemap: {SITE}/sitemap.xml/\n",
        f"{STAR}Disallow: /a.pdf\n\nUser-agent: Googlebot\nDisallow: /*.pdf$\n",
    ],
)
def test_an_ordinary_file_has_no_warning(body):
    """The group for * first, then robots that may fetch less, or nothing, or
    everything.
    """
    assert [
        one for one in lint(body.encode()) if one.severity >= Severity.WARNING
    ] == []


@pytest.mark.parametrize("agent", ["useragent: *", "User agent: *", "User-agent *"])
def test_what_follows_a_misspelt_agent_is_not_called_ignored(agent):
    """Google's robots and Protego obey it: the one error is the misspelt line."""
    body = f"{agent}\nDisallow: /a\n"
    assert {one.line for one in lint(body.encode())} == {1}
    assert closed_by(body) == {"google", PROTEGO}
    assert not Protego.parse(body).can_fetch(SITE + "/a", "Foobot")


def test_a_robot_is_named_as_the_file_names_it():
    """Not the first of its group, which may be for all."""
    body = f"{STAR}Disallow: /a\n\n{STAR}User-agent: Googlebot\n"
    (found,) = [
        one for one in lint(body.encode()) if one.code == "own-group-drops-rules"
    ]
    assert (found.line, found.message.partition(" may ")[0]) == (5, "Googlebot")


def test_what_a_correction_opens_is_booked_on_robots_that_exist():
    """Here the normal form opens /a to all robots of Google's that the file does not
    name.
    """
    named = b"User-agent: Foo\nDisallow: /b\nUser-agent: Bar\nDisallow: /c\n"
    body = b"useragent: *\nDisallow: /a\n" + named
    correction = normalize(body, alone=True)
    effects = {one.reader: one for one in correction.effects}
    url = f"{SITE}/a"
    assert (url, "others") in effects["google"].opened
    for read in (READERS["google"], READERS[PROTEGO]):
        assert [
            read(one)(url, "Otherbot") for one in (body, correction.text.encode())
        ] == [
            False,
            True,
        ]
