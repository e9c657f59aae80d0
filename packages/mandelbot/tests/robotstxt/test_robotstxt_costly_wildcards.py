"""A decision compares a bounded number of characters; a URL that would cost more is
forbidden.
"""

from __future__ import annotations

from itertools import islice

import pytest
from corpus import needs_corpus, one_in, read_files

from mandelbot import DIALECTS, RobotsTxt
from mandelbot.robotstxt.index import FEW, MOST_COMPARED
from mandelbot.robotstxt.patterns import Pattern
from mandelbot.robotstxt.verdict import Verdict

SITE = "https://example.com"
MANY = 1_000
LONG = MOST_COMPARED // MANY  # characters of a path, at most
STARS = "".join(f"Disallow: /*a*a*a{number:x}b\n" for number in range(MANY))
FEW_STARS = "".join(f"Disallow: /*a*a*a{number:x}b\n" for number in range(FEW))
GLOBS = "Robot-version: 2.0\n" + STARS.replace("*a*", "*?*")

# the rules; the dialect; a path; whether it is allowed; whether the rules are compared
CASES = {
    "as long as may be": (STARS, "mandelbot", "/" + "a" * (LONG - 1), True, True),
    "longer": (STARS, "mandelbot", "/" + "a" * LONG, False, False),
    "longer, Google's robots": (STARS, "google", "/" + "a" * LONG, False, False),
    "escapes count as compared": (
        STARS,
        "mandelbot",
        "/" + "%61" * (LONG - 1),
        True,
        True,
    ),
    "a query counts": (STARS, "mandelbot", "/?" + "a" * LONG, False, False),
    "few rules": (FEW_STARS, "mandelbot", "/" + "a" * 1_500, True, True),
    "rules of another directory": (
        *(STARS.replace("/*", "/x/*"), "mandelbot", "/" + "a" * LONG, True, True),
    ),
    "rules of an outer directory": (
        *(STARS + "Disallow: /x/*b\n", "mandelbot", "/x/" + "a" * LONG, False, False),
    ),
    "a longer rule allows": (
        *(f"{STARS}Allow: /{'a' * 30}\n", "mandelbot", "/" + "a" * LONG, True, True),
    ),
    "a longer rule forbids": (
        *(
            f"{STARS}Disallow: /{'a' * 30}\n",
            "mandelbot",
            "/" + "a" * LONG,
            False,
            True,
        ),
    ),
    "no wildcards in 1994": (STARS, "rep1994", "/" + "a" * LONG, True, True),
    "globs": (GLOBS, "extended2", "/" + "a" * LONG, False, False),
    "short, with globs": (GLOBS, "extended2", "/" + "a" * (LONG // 2), True, True),
    "plain rules": (
        STARS.replace("*", ""),
        "mandelbot",
        "/" + "a" * 20_000,
        True,
        True,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_first_and_all_later_decisions_agree(case):
    """Whatever decides: a scan, an index, all rules."""
    rules, dialect, path, allowed, is_compared = case
    robots = RobotsTxt.parse(f"User-agent: *\n{rules}".encode(), dialect=dialect)
    for number in range(50):
        assert robots.allowed(SITE + path, "bot") == allowed, number
    explained = RobotsTxt.parse(f"User-agent: *\n{rules}".encode(), dialect=dialect)
    for number in range(10):
        verdict = explained.verdict(SITE + path, "bot")
        assert verdict.allowed == allowed, number
        assert (
            verdict.is_too_costly
            == (not is_compared)
            == (verdict.reason == Verdict.TOO_COSTLY)
        )
    assert explained.allowed(SITE + path, "bot") == allowed


def test_robots_txt_itself_stays_allowed():
    """However many rules there are."""
    robots = RobotsTxt.parse(b"User-agent: *\n" + b"Disallow: *a\n" * 39_000)
    assert robots.allowed(SITE + "/robots.txt", "bot")
    assert robots.verdict(SITE + "/robots.txt", "bot").allowed


@pytest.mark.parametrize("repeated", ["a", "-ab", "ab-"])
@pytest.mark.parametrize("rules", [20_000, 4 * MANY, FEW + 1, 1])
def test_no_decision_compares_more(monkeypatch, rules, repeated):
    """Neither all rules in one place nor a key that is in the URL many times costs."""
    compared = 0
    matches = Pattern.matches

    def counted(self, target):
        nonlocal compared
        compared += len(target)
        return matches(self, target)

    monkeypatch.setattr(Pattern, "matches", counted)
    body = "User-agent: *\n" + f"Disallow: /*{repeated}*{repeated}*z$\n" * rules
    robots = RobotsTxt.parse(body.encode())
    for length in (100, 500, 2_000, 8_000):
        for _ in range(3):
            compared = 0
            robots.allowed(f"{SITE}/{repeated * (length // len(repeated))}z", "bot")
            assert compared <= max(MOST_COMPARED, FEW * length) * 1.01


@needs_corpus
@one_in(4)
def test_no_real_file_has_so_many(one_in):
    """URLs of 8,192 characters, as long as any that is requested, are compared with all
    rules.
    """
    for name, body in list(read_files().items())[::one_in]:
        for dialect in DIALECTS:
            robots = RobotsTxt.parse(body, dialect=dialect)
            for agent in ("*", "Googlebot"):
                verdict = robots.verdict(f"{SITE}/{'a' * 8_191}", agent)
                assert not verdict.is_too_costly, name


LARGE = f"User-agent: *\n{STARS}Allow: /a*1b$\nDisallow: /x\nDisallow: /é*\n".encode()
ASKED = [
    "/",
    "/robots.txt",
    "/aa1b",
    "/aab",
    "/x",
    "/xaaa7cb",
    "/%C3%A9",
    "/" + "a" * LONG,
]


BEGUN = [0, 1, 20, None]
"""How many steps are taken before the first decision; None: all."""


@pytest.mark.parametrize(
    ("dialect", "taken"),
    [
        pytest.param(
            dialect,
            taken,
            id=f"{dialect}, {taken} steps",
            # one dialect with globs and one without have all
            marks=[pytest.mark.thorough]
            * (taken in {0, 20} and dialect not in {"mandelbot", "extended2"}),
        )
        for dialect in DIALECTS
        for taken in BEGUN
    ],
)
def test_a_file_that_is_prepared_in_steps_decides_the_same(dialect, taken):
    """Whether all steps are taken before, or some; and whoever takes them."""
    robots, at_once = (RobotsTxt.parse(LARGE, dialect=dialect) for _ in range(2))
    steps = robots.decider("bot").preparing(SITE)
    assert robots.decider("bot").preparing(SITE) is steps
    count = sum(1 for _ in islice(steps, taken))
    # rules, read and ranked
    assert count >= (2 * MANY // 32 if taken is None else taken)
    assert (robots.decider("bot").preparing(SITE) is None) == (taken is None)
    decided = [at_once.allowed(SITE + path, "bot") for path in ASKED * 2]
    assert [robots.allowed(SITE + path, "bot") for path in ASKED * 2] == decided
    for _ in steps:
        pass
    assert [robots.allowed(SITE + path, "bot") for path in ASKED * 2] == decided
    assert robots.decider("bot").preparing(SITE) is None


def test_what_is_no_url_needs_no_steps():
    decider = RobotsTxt.parse(LARGE).decider("bot")
    assert decider.preparing("mailto:bot@example.com") is None
