"""The list of robots that people choose from."""

from __future__ import annotations

import re

from mandelbot.findings.agent_checks import ROBOT_NAMES
from mandelbot.robotstxt import RobotsTxt
from mandelbot.robotstxt.agents import product_tokens
from mandelbot.robotstxt.known_robots import KINDS, KNOWN_ROBOTS


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
