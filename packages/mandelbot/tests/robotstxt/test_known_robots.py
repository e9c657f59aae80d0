"""The list of robots that people choose from."""

from __future__ import annotations

import re

from mandelbot import RobotsTxt, known_robot_verdict, lint
from mandelbot.findings.agent_checks import ROBOT_NAMES
from mandelbot.robotstxt.agents import GOOGLES_CRAWLERS, product_tokens
from mandelbot.robotstxt.known_robots import (
    FALLBACKS,
    IGNORE_STAR,
    KINDS,
    KNOWN_ROBOTS,
    dialect_of,
)

STAR = b"User-agent: *\nDisallow: /\n"
YANDEX = (
    "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
    "Mozilla/5.0 (compatible; YandexImages/3.0; +http://yandex.com/bots)",
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 8_1 like Mac OS X) AppleWebKit/600.1.4"
        " (KHTML, like Gecko) Version/8.0 Mobile/12B411 Safari/600.1.4 (compatible;"
        " YandexMobileBot/3.0; +http://yandex.com/bots)"
    ),
)


def test_each_row_is_whole():
    """A unique name, a kind that has words, an operator, a page and a date."""
    names = [robot.name.lower() for robot in KNOWN_ROBOTS]
    assert len(set(names)) == len(names) > 50
    for robot in KNOWN_ROBOTS:
        assert robot.kind in KINDS, robot
        assert robot.operator, robot
        assert re.fullmatch(r"https://[a-z0-9.\-]+(/\S*)?", robot.source), robot
        assert re.fullmatch(r"20\d\d(-(0[1-9]|1[0-2]))?", robot.dated), robot


def test_robots_of_a_kind_stand_together_in_the_order_of_kinds():
    """Lists show them so."""
    kinds = [robot.kind for robot in KNOWN_ROBOTS]
    assert list(dict.fromkeys(kinds)) == list(KINDS)
    assert kinds == sorted(kinds, key=list(KINDS).index)


def test_each_name_finds_its_own_group():
    """It is what a User-agent line has, and what the robot is looked for by."""
    for robot in KNOWN_ROBOTS:
        body = f"User-agent: *\nDisallow:\n\nUser-agent: {robot.name}\nDisallow: /\n"
        assert not RobotsTxt.parse(body.encode()).allowed("/", robot.name), robot
        assert product_tokens(robot.name) == (robot.name.lower(),)


def test_no_name_is_taken_for_a_misspelt_one():
    """The list of spellings has them all."""
    assert {robot.name.lower() for robot in KNOWN_ROBOTS} <= set(ROBOT_NAMES)


def test_the_fall_backs_of_googles_robots_are_those_of_its_dialect():
    """They are written down twice: the dialect asks for no table of robots."""
    googles = {(of, to) for of, groups in GOOGLES_CRAWLERS for to in groups}
    named = {
        (one.name.lower(), one.group.lower())
        for one in FALLBACKS
        if "google" in one.name.lower()
    }
    assert named == googles


def test_each_documented_reading_has_a_source_and_a_date():
    """A page of its operator, and when it was compared."""
    for one in (*FALLBACKS, *IGNORE_STAR):
        assert re.fullmatch(r"https://[a-z0-9.\-]+/\S*", one.source), one
        assert re.fullmatch(r"20\d\d(-(0[1-9]|1[0-2]))?", one.dated), one


def test_a_whole_header_finds_the_group_that_the_robot_falls_back_to():
    """As its name alone does."""
    body = b"User-agent: Yandex\nDisallow: /\n\nUser-agent: *\nDisallow:\n"
    for header in (*YANDEX, "YandexBot"):
        verdict = known_robot_verdict(RobotsTxt.parse(body), "/a", header)
        assert (verdict.allowed, verdict.agent) == (False, "Yandex"), header


def test_robots_for_advertisements_obey_only_groups_that_name_them():
    """Google's documents say so of four; a group that names one is obeyed."""
    for robot in IGNORE_STAR:
        header = f"Mozilla/5.0 (compatible; {robot.name}; +http://www.google.com/bot)"
        for agent in (robot.name, robot.name.lower(), header):
            verdict = known_robot_verdict(RobotsTxt.parse(STAR), "/a", agent)
            assert (verdict.allowed, verdict.agent) == (True, None), agent
            assert verdict.reason == verdict.STAR_IGNORED
            own = STAR + f"\nUser-agent: {robot.name}\nDisallow: /b\n".encode()
            assert known_robot_verdict(RobotsTxt.parse(own), "/a", agent).allowed
            assert not known_robot_verdict(RobotsTxt.parse(own), "/b", agent).allowed


def test_all_other_robots_obey_the_group_for_all():
    """The parser itself knows no robot by name."""
    ignoring = {one.name for one in IGNORE_STAR}
    for robot in KNOWN_ROBOTS:
        verdict = known_robot_verdict(RobotsTxt.parse(STAR), "/a", robot.name)
        assert verdict.allowed == (robot.name in ignoring), robot
        assert not RobotsTxt.parse(STAR).allowed("/a", robot.name)


def test_the_dialect_of_a_robot_is_found_by_its_header():
    """By any of its names."""
    header = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
    assert dialect_of(header) == dialect_of("Googlebot") == "google"
    assert dialect_of("Mandelbot/1.0 (+https://example.com/)") == "mandelbot"
    assert dialect_of(["Examplebot", "AdsBot-Google"]) == "google"
    assert dialect_of("Examplebot/1.0 (like Gecko)") is None


def test_a_file_that_closes_all_names_the_robots_that_ignore_it():
    """Those that no group closes out."""

    def said(body):
        robots = RobotsTxt.parse(body)
        return next(str(one) for one in lint(robots) if one.code == "closed-to-all")

    assert all(one.name in said(STAR) for one in IGNORE_STAR)
    names = "".join(f"User-agent: {one.name}\n" for one in IGNORE_STAR)
    closed = names.encode() + STAR
    assert not any(one.name in said(closed) for one in IGNORE_STAR)
