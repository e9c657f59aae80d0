"""The package as a house: how large its rooms, modules and classes are, and what they are called.

What is over a bound stands in a table with its figure of today. A figure may fall, and the table
has to fall with it; it may not rise.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import scrapy_mandelbot

PACKAGE = Path(scrapy_mandelbot.__file__).parent
TREES = {
    path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8"))
    for path in sorted(PACKAGE.rglob("*.py"))
}
CLASSES = [
    (where, one)
    for where, tree in TREES.items()
    for one in ast.walk(tree)
    if isinstance(one, ast.ClassDef)
]

MOST_MODULES = 201
MOST_LINES = 45_062
LINES_OF_A_MODULE = 450
LONGER: dict[str, int] = {}
METHODS_OF_A_CLASS = 25
MORE: dict[str, int] = {}
LINES_WITH_PRIVATE_ATTRIBUTES = 38
OVERRIDES: dict[str, set[str]] = {}


def lines(where: str) -> int:
    return len((PACKAGE / where).read_text("utf-8").splitlines())


def over(figures: dict[str, int], bound: int) -> dict[str, int]:
    return {name: figure for name, figure in figures.items() if figure > bound}


def test_the_package_is_no_larger():
    """What is added makes room for itself."""
    assert len(TREES) <= MOST_MODULES
    assert sum(map(lines, TREES)) <= MOST_LINES


def test_a_module_tells_one_story():
    """It fits in the head; the longer ones are those of the table, and no longer than there."""
    assert over({where: lines(where) for where in TREES}, LINES_OF_A_MODULE) == LONGER


def test_a_class_answers_for_one_thing():
    """Its public methods and properties can be counted on a screen."""
    methods = {
        one.name: sum(
            isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and part.name[0] != "_"
            for part in one.body
        )
        for _, one in CLASSES
    }
    assert over(methods, METHODS_OF_A_CLASS) == MORE


def test_no_name_of_a_class_stands_for_two():
    """A search for it finds one class; an underscore does not tell two apart."""
    places = defaultdict(list)
    for where, one in CLASSES:
        places[one.name.lstrip("_")].append(where)
    assert {name: those for name, those in places.items() if len(those) > 1} == {}


def test_no_name_of_a_module_stands_for_two():
    """But a room's main module may be called as the room; the command must be, as Scrapy has it."""
    places = defaultdict(set)
    for where in TREES:
        *rooms, name = where.removesuffix("/__init__.py").removesuffix(".py").split("/")
        if rooms[-1:] != [name] and where != "commands/robots.py":
            places[name].add(where)
    assert {name: those for name, those in places.items() if len(those) > 1} == {}


@pytest.mark.parametrize("where", TREES)
def test_no_module_overrides_a_private_name_of_another(where):
    """What a class leaves to those that build on it has a public name."""
    bases = {one.name: (place, one) for place, one in CLASSES}
    for one in ast.walk(TREES[where]):
        if not isinstance(one, ast.ClassDef):
            continue
        for base in one.bases:
            place, known = bases.get(getattr(base, "id", ""), (where, one))
            if place == where:
                continue
            private = {
                part.name
                for part in known.body
                if isinstance(part, ast.FunctionDef) and part.name.startswith("_")
                if not part.name.startswith("__")
            }
            mine = {part.name for part in one.body if isinstance(part, ast.FunctionDef)}
            assert private & mine == OVERRIDES.get(one.name, set())


def test_a_file_that_is_named_is_there():
    """In a docstring or comment: without a folder a neighbour, with one the only such file."""
    folders = PACKAGE, PACKAGE.parent / "tests", PACKAGE.parent / "benchmarks"
    there = [path.as_posix() for folder in folders for path in folder.rglob("*.*")]
    for where in TREES:
        text = (PACKAGE / where).read_text("utf-8")
        for name in re.findall(r"`+([\w/]+\.(?:py|lua|js|css))`+", text):
            if "/" in name:
                found = [path for path in there if path.endswith(f"/{name}")]
                assert len(found) == 1, (where, name, found)
            else:
                assert (PACKAGE / where).with_name(name).exists(), (where, name)


def test_tests_go_by_what_is_public():
    """What a test asks for by a private name, no change can move; there are ever fewer of these."""
    ours = {
        name
        for tree in TREES.values()
        for one in ast.walk(tree)
        for name in (getattr(one, "attr", ""), getattr(one, "name", ""), getattr(one, "id", ""))
        if isinstance(getattr(one, "ctx", ast.Store()), ast.Store)
    }
    found = {
        (path, one.lineno)
        for path in Path(__file__).parent.rglob("*.py")
        for one in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(one, ast.Attribute) and one.attr in ours - {"_replace", "_version"}
        if one.attr.startswith("_") and one.attr[:2] != "__"
        if getattr(one.value, "id", "") not in {"self", "cls"}
    }
    assert len(found) <= LINES_WITH_PRIVATE_ATTRIBUTES


def test_the_statuses_that_pause_a_site_stand_once():
    """Wherever a law needs them, it takes them from there."""
    places = [
        where
        for where, tree in TREES.items()
        for one in ast.walk(tree)
        if isinstance(one, ast.Set | ast.List | ast.Tuple)
        if {503, 429} <= {getattr(part, "value", None) for part in one.elts}
    ]
    assert places == ["robots/outcome.py"]
