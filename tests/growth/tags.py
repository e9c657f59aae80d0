"""Pages and headers that are as slow to read as anyone could make them."""

from __future__ import annotations

from mandelbot import tags

from growth import Row, numbered, repeated

_HEAD = b"<html><head>"
_META = b"<meta name=robots content='"
_PAGES = {
    "name= in a tag without end": repeated(b"name=", _HEAD + b"<meta a "),
    "name = in a tag without end": repeated(b"name = ", _HEAD + b"<meta a "),
    "name=& in a tag without end": repeated(b"name=&", _HEAD + b"<meta a "),
    "names in a tag without end": repeated(b"name=robots ", _HEAD + b"<meta "),
    "attributes": repeated(b"a= ", b"<meta name=robots "),
    "attributes, no two alike": numbered(b"a%d=b ", b"<meta name=robots "),
    "quotes": repeated(b"'", b"<meta name=robots a="),
    "both quotes": repeated(b"'\"", b"<meta name=robots a="),
    "open values": repeated(b'<meta name="'),
    "spaces in a tag": repeated(b" ", b"<meta", b"name=robots content=x>"),
    "slashes in a tag": repeated(b"/", b"<meta", b"name=robots content=x>"),
    "tags for us": repeated(b"<meta name=robots content=noindex>"),
    "tags for others": repeated(b"<meta name=otherbot content=noindex>"),
    "tags, escaped": repeated(b"<meta name='&#114;obots' content=noindex>"),
    "tags for nobody": repeated(b'<meta property="og:x" content="y">'),
    "tags with nothing": repeated(b"<meta>"),
    "ends of tags": repeated(b"</a>", _META + b"x'>"),
    "lone <": repeated(b"<", b"", _META + b"x'>"),
    "</ and <": repeated(b"</<!", b"", _META + b"x'>"),
    "comments": repeated(b"<!-- > -->", b"", _META + b"x'>"),
    "open comments": repeated(b"<!--", b"", _META + b"x'>"),
    "comments of hyphens": repeated(b"-", b"<!--", _META + b"x'>"),
    "scripts": repeated(b"<script></script>", b"", _META + b"x'>"),
    "open scripts": repeated(b"<script>", b"", _META + b"x'>"),
    "templates": repeated(b"<template>", b"", _META + b"x'>"),
    "bodies": repeated(b"><body ", b"<!--"),
    "ends of heads": repeated(b"</head "),
    "lines after the head": repeated(b"\n", b"</head>", b"<p>"),
    "directives": repeated(b"noindex,", _META, b"'>"),
    "directives, no two alike": numbered(b"a%d,", _META),
    "dates": repeated(b"unavailable_after:1,", _META, b"'>"),
    "dates in all tags": repeated(_META + b"unavailable_after:1 Jan," * 170 + b"'>"),
    "a long name": repeated(b"a", b"<meta content=x name='", b"robots'>"),
    "a name of digits": repeated(b"1", b"<meta content=x name='robots&#", b"'>"),
    "escapes in a name": repeated(b"&amp", b"<meta content=x name='robots", b"'>"),
    "UTF-16 that is none": repeated(b"\x00\xd8", b"\xff\xfe"),
    "ISO-2022-JP that is none": repeated(b"\xff", b"\x1b$B<meta "),
    "octets": repeated(b"\xff", _META, b"'>"),
}
_HEADERS = {
    "directives": repeated(b"noindex,"),
    "agents": repeated(b"a:"),
    "agents, no two alike": numbered(b"a%d:"),
    "numbers": repeated(b"1:"),
    "commas": repeated(b","),
    "dates": repeated(b"unavailable_after: Tue, 25 Jun 2027,"),
    "dates that are none": repeated(b"unavailable_after: 1,"),
    "max-": repeated(b"max-snippet:1:"),
    "spaces": repeated(b" ", b"noindex", b"nofollow"),
    "octets": repeated(b"\xff"),
}


def _in_lines(value):
    return [
        ("X-Robots-Tag", value[at : at + 4_000]) for at in range(0, len(value), 4_000)
    ]


def _said(value):
    return tags.robot_tags(_in_lines(value), value, "Examplebot")


ROWS = (
    Row(
        "tags.robot_tags",
        lambda page: tags.robot_tags([], page, "Examplebot"),
        _PAGES,
        "pages",
    ),
    Row(
        "tags.robot_tags",
        lambda lines: tags.robot_tags(lines, b"", "Examplebot"),
        _HEADERS,
        "headers",
        _in_lines,
    ),
    Row("tags.RobotTags.none", lambda said: said.none, _HEADERS, prepare=_said),
    Row(
        "tags.RobotTags.decided_by",
        lambda said: (said.decided_by("noindex"), said.decided_by("unavailable_after")),
        _HEADERS,
        prepare=_said,
    ),
)

NOT_FROM_OUTSIDE = {
    "tags.RobotTags.is_unavailable": "two times",
}
