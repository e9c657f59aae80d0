"""The names of modules, classes and files, and who uses private ones.

``python tests/test_gates.py`` prints sizes, by which no test fails.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from support.package_source import PACKAGE, PACKAGES, TEXTS, TREES
from tables import each_row

pytestmark = pytest.mark.slow  # reads all modules; the part "code" of .ci/run asks it

LINES_WITH_PRIVATE_ATTRIBUTES = 36
OVERRIDES: dict[str, set[str]] = {}
EMPTIES = {
    ("mandelbot", "files.py"): "what replaces a file; devices are written into",
    ("scrapy_mandelbot", "commands/identity_verb.py"): "a new file, by O_EXCL",
    ("scrapy_mandelbot", "job/spool.py"): "a number in a job's folder",
    ("scrapy_mandelbot", "report/lost_requests.py"): "grows line by line in a run",
}
"""Modules that open files for writing, and why they leave no half of an old one."""


@cache
def classes() -> list[tuple[str, ast.ClassDef]]:
    return [
        (where, one)
        for where, tree in TREES.items()
        for one in ast.walk(tree)
        if isinstance(one, ast.ClassDef)
    ]


def test_no_name_of_a_class_stands_for_two():
    """A search for it finds one class; an underscore does not tell two apart."""
    places = defaultdict(list)
    for where, one in classes():
        places[one.name.lstrip("_")].append(where)
    assert {name: those for name, those in places.items() if len(those) > 1} == {}


def test_no_name_of_a_module_stands_for_two():
    """A folder's main module may have the folder's name; the command has the name
    Scrapy runs.

    A module of a middleware folder is named after what it does to a request or
    response, as Scrapy's own are: the name may be that of the pure module below it,
    never of another middleware.
    """
    places = defaultdict(set)
    middlewares = defaultdict(set)
    for where in TREES:
        *rooms, name = where.removesuffix("/__init__.py").removesuffix(".py").split("/")
        if rooms in (["downloadermiddlewares"], ["spidermiddlewares"]):
            middlewares[name].add(where)
        elif rooms[-1:] != [name] and where != "commands/robots.py":
            places[name].add(where)
    assert {name: those for name, those in middlewares.items() if len(those) > 1} == {}
    assert {name: those for name, those in places.items() if len(those) > 1} == {}


@each_row("where", TREES)
def test_no_module_overrides_a_private_name_of_another(where):
    """What a class leaves to those that build on it has a public name."""
    bases = {one.name: (place, one) for place, one in classes()}
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
    """In a docstring or comment: beside or below the module, or by its path from the
    top.
    """
    tops = (
        PACKAGE,
        PACKAGE.parent,
        PACKAGE.parent / "tests",
        PACKAGE.parent / "benchmarks",
    )
    missing = [
        (where, named)
        for where in TREES
        for named in re.findall(
            r"`+([\w/]+\.(?:py|lua|js|css))`+", (PACKAGE / where).read_text()
        )
        if not any((PACKAGE / where).parent.rglob(named))
        if not any((top / named).is_file() for top in tops)
    ]
    assert missing == []


def test_tests_use_public_names():
    """What a test asks for by a private name, no change can move; there are ever fewer
    of these.
    """
    ours = {
        name
        for tree in TREES.values()
        for one in ast.walk(tree)
        if isinstance(getattr(one, "ctx", ast.Store()), ast.Store)
        for name in (
            getattr(one, "attr", ""),
            getattr(one, "name", ""),
            getattr(one, "id", ""),
        )
        if name and name.startswith("_") and name[:2] != "__"
    } - {"_replace", "_version"}
    found = {
        (path, one.lineno)
        for path in Path(__file__).parent.rglob("*.py")
        for one in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(one, ast.Attribute) and one.attr in ours
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
    assert places == []  # the library has them


def opens_for_writing(node):
    """Tell whether a node is a call that empties a file."""
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name in {"write_bytes", "write_text", "write_to_textfile"}:
        return True
    given = [*node.args, *(one.value for one in node.keywords)]
    modes = [one.value for one in given if isinstance(one, ast.Constant)]
    return name in {"open", "fdopen"} and any(
        isinstance(mode, str) and mode[:1] in {"w", "x"} for mode in modes
    )


def test_a_file_is_replaced_as_a_whole_by_one_function():
    """Opening empties it: a full disk would leave a part of its owner's rules."""
    found = {
        (source.name, where)
        for source in PACKAGES
        for where, nodes in source.nodes.items()
        if any(map(opens_for_writing, nodes))
    }
    assert found == set(EMPTIES)


def test_only_the_tally_counts():
    """A number that others change, too, is wrong for whoever adds to one of them."""
    by_hand = re.compile(r"\btally\.\w+ [-+]?= ")
    found = [where for where, text in TEXTS.items() if by_hand.search(text)]
    assert found == []


_QUESTION = re.compile(r"_?(is|has|are|may|can|was|needs|takes|will)_")
_CHANGES = frozenset(
    {"add", "append", "clear", "discard", "extend", "insert", "move_to_end", "pop"}
    | {"popitem", "remove", "setdefault", "update"}
)


def owner_of(node: ast.expr) -> str | None:
    """Return the variable of which something is an attribute or an item."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def written_by(node: ast.AST) -> list[ast.expr]:
    """Return what a statement writes, or the container that a call changes."""
    if isinstance(node, (ast.Assign, ast.Delete)):
        return [one for target in node.targets for one in ast.walk(target)]
    if isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        return [*ast.walk(node.target)]
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return []
    return [node.func.value] if node.func.attr in _CHANGES else []


def acts(question: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function changes an attribute of one of its arguments."""
    arguments = {one.arg for one in question.args.args}
    return any(
        isinstance(one, (ast.Attribute, ast.Subscript)) and owner_of(one) in arguments
        for node in ast.walk(question)
        for one in written_by(node)
    )


def test_a_question_changes_nothing():
    """Whoever asks twice must not change the crawl: what acts has a verb."""
    functions = [
        (f"{package.name}/{where}", one)
        for package in PACKAGES
        for where, nodes in package.nodes.items()
        for one in nodes
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    assert len(functions) > 3_000
    found = [
        f"{where}: {one.name}"
        for where, one in functions
        if _QUESTION.match(one.name) and acts(one)
    ]
    assert found == []
