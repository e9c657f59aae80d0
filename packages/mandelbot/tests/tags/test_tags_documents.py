"""The documents' own examples and rules, from the tables in tests/cases."""

from __future__ import annotations

from dataclasses import fields

from cases import robot_meta_tags, robot_tags_decided
from cases import robot_tags as robot_tag_cases
from tables import each_row

from mandelbot import RobotTags, robot_tags

CASES = (*robot_tag_cases.CASES, *robot_meta_tags.CASES, *robot_tags_decided.CASES)
VALUES = [
    one.name for one in fields(RobotTags) if one.name not in {"unknown", "sources"}
]


@each_row("case", CASES)
def test_the_case_holds(case):
    """The tags say what the document has them say, and nothing else."""
    tags = robot_tags(case.all_headers, case.octets, case.agent)
    nothing = RobotTags()
    said = {
        name: getattr(tags, name)
        for name in VALUES
        if getattr(tags, name) != getattr(nothing, name)
    }
    assert said == case.means, case.says
    assert tags.unknown == case.unknown, case.says


@each_row("case", CASES)
def test_headers_may_be_bytes(case):
    """As Scrapy has them."""
    headers = [(name.encode(), value.encode()) for name, value in case.all_headers]
    in_bytes = robot_tags(headers, case.octets, case.agent)
    assert in_bytes == robot_tags(case.all_headers, case.octets, case.agent)
