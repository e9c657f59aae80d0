"""The size of the package as a reader meets it.

``python tests/test_gates.py`` prints all figures. Downward only; upward is decided by
the maintainers in an issue.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from support.package_source import NODES, TEXTS, TREES

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
NAME = "scrapy_mandelbot"
PACKAGE = ROOT / NAME

MOST_MODULES = 190
MOST_TOP_LEVEL_MODULES = 9
MOST_LINES = 39_760
MOST_CODE_LINES = 26_300
LINES_OF_A_MODULE = 450
LONGER: dict[str, int] = {}
MOST_KNOBS = 59
MOST_IMPORTED_NAMES = 15
MORE_IMPORTED_NAMES: dict[str, int] = {}
MOST_IMPORTED_NAMES_OF_TEN = 16.5
"""The average of the ten modules that import most."""
MOST_CIRCLES = 3
MOST_RETURN_DOCSTRINGS = 53
LINES_OF_A_STORY = 25
SEVERAL_STORIES: set[str] = {
    "engine.py",
}
NAMES_OF_THE_STANDARD_LIBRARY: set[str] = set()

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


# Lines


def lines(where: str) -> int:
    return len(TEXTS[where].splitlines())


@cache
def code_lines(where: str) -> int:
    """Count lines that are no docstring, import, comment or blank line.

    A string under an attribute counts as code, as it does in a table of names.
    """
    code = {
        number
        for number, line in enumerate(TEXTS[where].splitlines(), 1)
        if line.strip() and line.strip() != "if TYPE_CHECKING:"
    }
    quoted: set[int] = set()  # a line of a text may begin like a comment
    for node in NODES[where]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            code -= rows(node)
        elif (
            isinstance(node, ast.Constant | ast.JoinedStr)
            and node.lineno != node.end_lineno
        ):
            quoted |= rows(node)
        elif isinstance(node, Definition | ast.Module) and ast.get_docstring(
            node, clean=False
        ):
            code -= rows(node.body[0])
    commented = {
        number
        for number, line in enumerate(TEXTS[where].splitlines(), 1)
        if line.lstrip().startswith("#")
    }
    return len(code - (commented - quoted))


def rows(node: ast.AST) -> set[int]:
    return set(range(node.lineno, node.end_lineno + 1))


def test_the_package_is_no_larger():
    """What is added makes room for itself."""
    assert len(TREES) <= MOST_MODULES
    assert len(top_level_modules()) <= MOST_TOP_LEVEL_MODULES
    assert sum(map(lines, TREES)) <= MOST_LINES
    assert sum(map(code_lines, TREES)) <= MOST_CODE_LINES
    assert longer() == LONGER


def longer() -> dict[str, int]:
    return {where: lines(where) for where in TREES if lines(where) > LINES_OF_A_MODULE}


def top_level_modules() -> list[str]:
    return [where for where in TREES if "/" not in where]


# Stories


def stories(tree: ast.Module) -> list[int]:
    """Return the lines of each part of a module, the largest first.

    What a module defines belongs to the part whose definitions it names, or which name
    it.
    """
    defined: dict[str, ast.stmt] = {}
    for statement in tree.body:
        for name in names_defined(statement):
            defined[name] = statement
    part_of = {name: name for name in defined}

    def part(name: str) -> str:
        while part_of[name] != name:
            name = part_of[name]
        return name

    for statement in tree.body:
        named = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        together = [
            name for name in (*names_defined(statement), *named) if name in defined
        ]
        for one, other in pairwise(together):
            part_of[part(one)] = part(other)
    sizes = Counter({part(name): 0 for name in defined})
    for statement in {id(one): one for one in defined.values()}.values():
        sizes[part(names_defined(statement)[0])] += len(rows(statement))
    return [size for _, size in sizes.most_common()]


def names_defined(statement: ast.stmt) -> list[str]:
    if isinstance(statement, Definition):
        return [statement.name]
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return []
    targets = (
        statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    )
    return [
        node.id
        for one in targets
        for node in ast.walk(one)
        if isinstance(getattr(node, "ctx", None), ast.Store)
        and isinstance(node, ast.Name)
        if node.id not in {"logger", "__all__"}  # these link nothing
    ]


def with_several_stories() -> set[str]:
    return {
        where
        for where, tree in TREES.items()
        if sum(size >= LINES_OF_A_STORY for size in stories(tree)) > 1
    }


def test_a_module_holds_one_story():
    """Its larger parts name each other; the list of the others only gets shorter."""
    assert with_several_stories() == SEVERAL_STORIES


def test_parts_that_name_each_other_are_one_story():
    """By a name of any kind; a logger links nothing, and a line between the parts does."""
    apart = "logger = 1\nA = 1\ndef f():\n    logger\n    A\nclass C:\n    x = logger\n"
    assert stories(ast.parse(apart)) == [4, 2]
    assert stories(ast.parse(apart + "def g(c: C): f\n")) == [7]
    assert stories(ast.parse(apart + "f.c = C\n")) == [6]


# Knobs


def test_there_are_not_too_many_knobs():
    """Settings, and the keys of those that are dicts: the page lists those that the
    code reads.
    """
    assert sorted(knobs_of_the_page()) == sorted(knobs())
    assert len(knobs()) <= MOST_KNOBS


def knobs() -> list[str]:
    from scrapy_mandelbot.settings.config import OPTIONS, setting_defaults

    return [
        *setting_defaults(),
        *(f"{name}.{key}" for name in OPTIONS for key in OPTIONS[name]),
    ]


def knobs_of_the_page() -> list[str]:
    text = (ROOT / "docs" / "settings.rst").read_text("utf-8")
    settings = re.findall(r"^((?:MANDELBOT|ROBOTSTXT)_[A-Z_]+)\n~", text, re.MULTILINE)
    entries = re.split(r"^([A-Z_]+)\n~+\n", text, flags=re.MULTILINE)
    options = [
        f"{name}.{key}"
        for name, entry in zip(entries[1::2], entries[2::2], strict=True)
        for key in re.findall(
            r"^``(\w+)`` \(``.+``\): ", entry.partition("\n\n\n")[0], re.MULTILINE
        )
    ]
    return settings + options


# Imports


def imported(where: str) -> dict[str, set[str]]:
    """Return the modules of the package that a module imports, with the names from
    each.
    """
    found = defaultdict(set)
    for node in NODES[where]:
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").split(".")[0] == NAME
        ):
            folder = node.module.replace(".", "/").removeprefix(NAME).lstrip("/")
            for alias in node.names:
                module = module_at(f"{folder}/{alias.name}".lstrip("/")) or module_at(
                    folder
                )
                # "as" the same name offers it to others, as a name in __all__ does.
                found[module] |= {alias.name} if alias.name != alias.asname else set()
        elif isinstance(node, ast.Import):
            for alias in node.names:
                folder = alias.name.replace(".", "/")
                if folder.split("/")[0] == NAME:
                    found[module_at(folder.removeprefix(NAME).lstrip("/"))].add(
                        alias.name
                    )
    return found


def module_at(place: str) -> str:
    candidates = f"{place}.py", f"{place}/__init__.py".lstrip("/")
    return next((one for one in candidates if one in TREES), "")


@cache
def imported_names(where: str) -> int:
    """Count the names of the package that a module imports for itself, and does not
    offer.
    """
    offered = set()
    for node in TREES[where].body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            offered = {
                one.value for one in ast.walk(node) if isinstance(one, ast.Constant)
            }
    return len(set().union(*imported(where).values()) - offered)


def more_imported_names() -> dict[str, int]:
    return {
        where: imported_names(where)
        for where in TREES
        if imported_names(where) > MOST_IMPORTED_NAMES
    }


def imported_names_of_ten() -> float:
    return sum(sorted(map(imported_names, TREES))[-10:]) / 10


def test_a_module_imports_few_names_of_the_package():
    """Who reads one need not know many others; the table of the exceptions only gets
    shorter.
    """
    assert more_imported_names() == MORE_IMPORTED_NAMES
    assert imported_names_of_ten() <= MOST_IMPORTED_NAMES_OF_TEN


def circles() -> list[list[str]]:
    """Return the groups of modules each of which imports, by way of others, all of the
    group.
    """
    imports = {where: {one for one in imported(where) if one} for where in TREES}
    reached = {where: {where} for where in TREES}
    while True:
        further = {
            where: those.union(*(reached[one] for one in imports[where]))
            for where, those in reached.items()
        }
        if further == reached:
            break
        reached = further
    groups = {
        tuple(sorted(one for one in reached[where] if where in reached[one]))
        for where in TREES
    }
    return sorted(list(group) for group in groups if len(group) > 1)


def test_few_modules_import_each_other():
    """A module of a circle cannot be read, tested or moved without all of it."""
    assert len(circles()) <= MOST_CIRCLES


# Names of the standard library


def names_of_the_standard_library() -> set[str]:
    names = {part.removesuffix(".py") for where in TREES for part in where.split("/")}
    return names & sys.stdlib_module_names


def test_nothing_is_named_like_a_module_of_the_standard_library():
    """Python looks beside the file that it runs first, and so do editors and debuggers."""
    assert names_of_the_standard_library() == NAMES_OF_THE_STANDARD_LIBRARY


def test_a_file_of_the_package_runs_from_inside():
    """As ``python scrapy_mandelbot/console.py``, by which an editor runs the file that
    it shows.
    """
    inside = f"""
import runpy
import sys
sys.path[:0] = [{str(PACKAGE)!r}]
for name in {[one for one in top_level_modules() if one[:2] != "__"]!r}:
    runpy.run_path({str(PACKAGE)!r} + "/" + name)
"""
    subprocess.run(
        [sys.executable, "-c", inside],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )


# Words


def return_docstrings() -> list[str]:
    """Return where docstrings of private functions are one line that begins with
    "Return".
    """
    return [
        f"{where}:{node.lineno}"
        for where, tree in TREES.items()
        for node in private_functions(tree)
        for said in [ast.get_docstring(node) or ""]
        if said.startswith("Return") and "\n" not in said
    ]


def private_functions(
    inside: ast.AST, *, is_private: bool = False
) -> Iterator[Function]:
    """Yield functions of private names, of private classes and within functions."""
    for node in ast.iter_child_nodes(inside):
        name = getattr(node, "name", None) or ""
        private = is_private or (name.startswith("_") and not name.endswith("__"))
        if isinstance(node, Function) and private:
            yield node
        yield from private_functions(
            node, is_private=private or isinstance(node, Function)
        )


def test_docstrings_of_private_functions_say_more_than_their_names():
    """What name and types say, "Return ..." says again."""
    assert len(return_docstrings()) <= MOST_RETURN_DOCSTRINGS


def main() -> None:
    figures = {
        "MOST_MODULES": len(TREES),
        "MOST_TOP_LEVEL_MODULES": len(top_level_modules()),
        "MOST_LINES": sum(map(lines, TREES)),
        "MOST_CODE_LINES": sum(map(code_lines, TREES)),
        "MOST_KNOBS": len(knobs()),
        "MOST_IMPORTED_NAMES_OF_TEN": imported_names_of_ten(),
        "MOST_CIRCLES": len(circles()),
        "MOST_RETURN_DOCSTRINGS": len(return_docstrings()),
    }
    print(f"{'gate':30} {'now':>8} {'most':>8}")
    for name, figure in figures.items():
        print(f"{name:30} {figure:8,} {globals()[name]:8,}")
    tables = {
        "LONGER": longer(),
        "SEVERAL_STORIES": sorted(with_several_stories()),
        "MORE_IMPORTED_NAMES": more_imported_names(),
        "NAMES_OF_THE_STANDARD_LIBRARY": sorted(names_of_the_standard_library()),
        "circles": circles(),
    }
    for name, table in tables.items():
        print(f"\n{name} ({len(table)})")
        for row in table.items() if isinstance(table, dict) else table:
            print("   ", *([row] if isinstance(row, str) else row))


if __name__ == "__main__":
    main()
