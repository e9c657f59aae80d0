"""Where each tag stood, and which one decided."""

from __future__ import annotations

import copy
import pickle
from datetime import datetime, timedelta, timezone

import pytest

from mandelbot import RobotTag, RobotTags, robot_tags

PAGE = b"""<html><head>
<meta name="robots" content="noindex, max-snippet:50">

<meta name="otherbot" content="nofollow"><meta name="examplebot" content="noindex, x">
"""
HEADERS = [("X-Robots-Tag", "noarchive, examplebot: max-snippet:7, otherbot: noindex")]


def test_every_tag_is_kept_with_where_it_stood():
    """Those that apply: header or page, the robot named, the text, the line."""
    assert robot_tags(HEADERS, PAGE, "Examplebot").sources == (
        RobotTag("header", "noarchive"),
        RobotTag("header", "max-snippet:7", agent="examplebot"),
        RobotTag("meta", "noindex", line=2),
        RobotTag("meta", "max-snippet:50", line=2),
        RobotTag("meta", "noindex", agent="examplebot", line=4),
        RobotTag("meta", "x", agent="examplebot", line=4),
    )


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ("noarchive", "X-Robots-Tag: noarchive"),
        ("max_snippet", "X-Robots-Tag: examplebot: max-snippet:7"),
        ("noindex", 'noindex in <meta name="robots"> on line 2'),
    ],
)
def test_the_tag_that_decided_can_be_named(field, sentence):
    """The first that says what holds, as a sentence for a log."""
    assert str(robot_tags(HEADERS, PAGE, "Examplebot").decided_by(field)) == sentence


@pytest.mark.parametrize(
    "field", ["nofollow", "unavailable_after", "max_video_preview"]
)
def test_no_tag_decides_what_none_says(field):
    """A field that is as it is without tags was decided by none."""
    assert robot_tags(HEADERS, PAGE, "Examplebot").decided_by(field) is None


def test_everyone_has_no_name():
    """What a header says to "robots" or "*" is said to all."""
    tags = robot_tags(
        [("X-Robots-Tag", "robots: noindex, *: nofollow")], b"", "Examplebot"
    )
    assert tags.sources == (
        RobotTag("header", "noindex"),
        RobotTag("header", "nofollow"),
    )


def test_none_is_both():
    """As the directive of that name."""
    assert robot_tags([("X-Robots-Tag", "nofollow, noindex")], b"", "a").none
    assert not robot_tags([("X-Robots-Tag", "noindex")], b"", "a").none


def test_unavailable_is_a_question_of_time():
    """From the moment that the tag names."""
    tags = robot_tags([("X-Robots-Tag", "unavailable_after: 2027-06-25")], b"", "a")
    moment = datetime(2027, 6, 25, tzinfo=timezone.utc)
    assert not tags.is_unavailable(moment)
    assert tags.is_unavailable(moment + timedelta(seconds=1))
    assert not RobotTags().is_unavailable(moment)


def test_they_are_values():
    """They cannot be changed, and can be pickled and copied: meta goes to JOBDIR."""
    tags = robot_tags(HEADERS, PAGE, "Examplebot")
    assert pickle.loads(pickle.dumps(tags)) == copy.deepcopy(tags) == tags
    assert hash(tags) == hash(copy.copy(tags))
    with pytest.raises(AttributeError):
        tags.noindex = False


def test_the_head_is_read_up_to_a_limit():
    """A tag after 256 KiB of head is not seen, one before is."""
    tag = b"<meta name=robots content=noindex>"
    filling = b"<style>" + b"a" * 262_144 + b"</style>"
    assert robot_tags((), b"<head>" + tag + filling, "a").noindex
    assert not robot_tags((), b"<head>" + filling + tag, "a").noindex
    nearly = filling[: 262_144 - len(tag) - 8] + b"</style>"
    assert robot_tags((), nearly + tag, "a").noindex
