"""Each reader of bytes from outside is known, and costs what it reads and no more.

A site chooses what it sends: 39 KB of a refusal took 5 s and 1 GiB once, because no
list had a line that decoded it.
"""

from __future__ import annotations

import ast
from functools import cache

import pytest
from mandelbot.tags import robot_tags
from support.package_source import PACKAGES

from growth.counting import cost_of
from growth.readers import BOMB, NOT_DRIVEN, READERS

DECODES = {
    "loads",
    "raw_decode",
    "decompress",
    "decompressobj",
    "unpack",
    "GzipFile",
    "feed",
    "fromstring",
    "HttpCompressionMiddleware",
}
"""Names whose use unpacks or parses bytes."""
PARSES = {"RobotsTxt", "TdmFile", "http_sf", "Protego", "parser"}
"""What has a ``parse`` that does."""
RESPONSES = {"response", "packed", "download", "error", "fetched", "found", "answer"}
"""Whose ``body``, ``text`` or ``headers`` come from outside."""
LOOKS_UP = {"get", "getlist", "items"}
"""Methods of ``headers``, which are as much a site's as the body."""
LINEAR = 4.4  # times as much for an input four times as long
FLAT = 1.2  # of the memory for what is cut or read in turns, and of a turn
STEP = 5_000  # bytecodes, and
BYTES = 65_536  # bytes, that no input of this size decides about


def name_of(node):
    return getattr(node, "attr", getattr(node, "id", ""))


def reads(node):
    """Tell whether a node unpacks, decodes or parses bytes from outside."""
    if isinstance(node, ast.Attribute) and node.attr in LOOKS_UP:
        return isinstance(node.value, ast.Name) and node.value.id == "headers"
    if isinstance(node, ast.Attribute) and node.attr in {"body", "text", "headers"}:
        return isinstance(node.ctx, ast.Load) and name_of(node.value) in RESPONSES
    if isinstance(node, ast.Attribute) and node.attr == "parse":
        return name_of(node.value) in PARSES
    return isinstance(node, (ast.Attribute, ast.Name)) and name_of(node) in DECODES


def readers_in(node, names=()):
    """Yield the qualified names of the functions that read."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from readers_in(child, (*names, child.name))
            continue
        if reads(child):
            yield ".".join(names)
        yield from readers_in(child, names)


@cache
def found():
    """Return each function of the packages that reads: its file, and its name."""
    return {
        f"{source.name}/{where}:{name}"
        for source in PACKAGES
        for where, tree in source.trees.items()
        for name in readers_in(tree)
    }


def driven():
    return {name for one in READERS for name in one.functions}


def test_every_function_that_reads_bytes_from_outside_is_known():
    """A new one is driven by a reader, or its reason is given."""
    unknown = {
        name for name in found() - driven() if not name.startswith(tuple(NOT_DRIVEN))
    }
    assert unknown == set()


def test_what_is_known_is_there():
    """A function that was renamed or removed takes its line along."""
    gone = {name for name in driven() if name not in found()}
    idle = {
        start
        for start in NOT_DRIVEN
        if not any(one.startswith(start) for one in found())
    }
    assert gone == set()
    assert idle == set()


@pytest.mark.parametrize(
    "source",
    [
        "def f(response): return json.loads(response.body)",
        "def f(answer): return answer.text",
        "class A:\n    def f(self, body): return zlib.decompressobj().decompress(body)",
        "def f(value): return http_sf.parse(value)",
        "def f(crawler): return HttpCompressionMiddleware",
        "def f(response): return response.headers",
        "def f(headers): return headers.getlist('Link')",
    ],
)
def test_a_new_function_that_reads_is_seen(source):
    """Whatever it reads with."""
    assert set(readers_in(ast.parse(source))) <= {"f", "A.f"}
    assert list(readers_in(ast.parse(source)))


@pytest.mark.parametrize("reader", [pytest.param(one, id=one.name) for one in READERS])
def test_a_reader_costs_what_it_reads(reader):
    """Four times the input takes 4.4 times the bytecodes and memory at the most.

    What unpacks to more than is read takes no more memory; no turn gets longer.
    """
    ran = set()
    for shape, make in reader.inputs.items():
        cost_of(reader.read, make(64))  # loads what is loaded late
        small, large = (
            cost_of(reader.read, make(times * reader.size)) for times in (1, 4)
        )
        ran |= small.functions
        most = FLAT if shape == BOMB else LINEAR
        assert large.bytecodes <= LINEAR * small.bytecodes + STEP, shape
        assert large.memory <= most * small.memory + BYTES, shape
        if large.turns > 1:
            assert large.longest <= FLAT * small.longest + STEP, shape
    for function in reader.functions:
        where, _, name = function.partition(":")
        last = name.rpartition(".")[2]
        names = {last, "__init__"} if last[0].isupper() else {last}
        assert any(file.endswith(where) and one in names for file, one in ran), (
            f"{function} did not run"
        )


def test_a_reader_that_unpacks_all_is_seen():
    """The measure itself."""
    import zlib

    small, large = (
        cost_of(zlib.decompress, zlib.compress(b"\0" * size))
        for size in (1_000_000, 4_000_000)
    )
    assert large.memory > FLAT * small.memory + BYTES


def test_of_many_meta_tags_only_those_that_are_read_cost():
    """A page of 8,000 takes little more than one of 1,000: 100 are read."""
    few, many = (
        cost_of(
            lambda body: robot_tags([], body, "bot"),
            b"<head>" + b"<meta name=robots content=noai>" * number,
        )
        for number in (1_000, 8_000)
    )
    assert many.bytecodes <= FLAT * few.bytecodes + STEP
