"""What must hold of the packages' modules, and a table of their size.

A machine judges whether modules import each other in circles, and whether one is named
like a module of the standard library. ``lint-imports`` judges the layers, and
``benchmarks/gates.py`` what a page costs.

Size is looked at in review: no test fails by it. ``python tests/test_gates.py --since
REF`` prints what rose since a commit, with the module where it did; without it, the
table is printed, with the figures of the last release. ``--release`` prints those of
today as they stand below.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.package_source import PACKAGES, ROOT, Source, packages

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_CIRCLES = 0
"""In all packages together."""

LONG_MODULE = 450
MANY_IMPORTED_NAMES = 15
MANY_METHODS = 25
LINES_OF_A_STORY = 25

LAST_RELEASE = {
    "modules": 190,
    "modules at the top": 9,
    "modules of more than 450 lines": 14,
    "modules with several stories": 8,
    "modules that import more than 15 names": 2,
    "circles of imports": 3,
    "lines": 43098,
    "lines of code": 29573,
    "knobs": 59,
    "public methods of the largest class": 25,
    'private docstrings "Return ..."': 53,
}
"""All packages together; until 0.1.0 is released, on 28 November 2026."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


# Circles


def imported(package: Source, where: str) -> dict[str, set[str]]:
    """Return the modules of its package that a module imports, with their names."""
    found = defaultdict(set)
    for node in package.nodes[where]:
        if isinstance(node, ast.ImportFrom):
            if (node.module or "").split(".")[0] != package.name:
                continue
            folder = place_of(package, node.module)
            for alias in node.names:
                inner = f"{folder}/{alias.name}".lstrip("/")
                module = module_at(package, inner) or module_at(package, folder)
                # "as" the same name offers it to others, as a name in __all__ does.
                found[module] |= {alias.name} if alias.name != alias.asname else set()
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == package.name:
                    module = module_at(package, place_of(package, alias.name))
                    found[module].add(alias.name)
    return found


def place_of(package: Source, module: str) -> str:
    return module.replace(".", "/").removeprefix(package.name).lstrip("/")


def module_at(package: Source, place: str) -> str:
    candidates = f"{place}.py", f"{place}/__init__.py".lstrip("/")
    return next((one for one in candidates if one in package.trees), "")


def circles(package: Source) -> list[list[str]]:
    """Return the groups of modules that all import each other, directly or not."""
    imports = {
        where: {one for one in imported(package, where) if one}
        for where in package.trees
    }
    reached = {where: {where} for where in imports}
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
        for where in imports
    }
    return sorted(list(group) for group in groups if len(group) > 1)


def test_few_modules_import_each_other():
    """A module of a circle cannot be read, tested or moved without all of it."""
    assert sum(len(circles(one)) for one in PACKAGES) <= MOST_CIRCLES


def test_a_circle_is_found_in_each_package(tmp_path):
    """Those of ``packages/`` count as the add-on's do."""
    for folder in ("scrapy_mandelbot", "packages/other/src/other"):
        package = tmp_path / folder
        (package / "room").mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "a.py").write_text(f"from {package.name}.room import b\n")
        (package / "room" / "__init__.py").touch()
        (package / "room" / "b.py").write_text(f"import {package.name}.a\n")
        (package / "c.py").write_text(f"from {package.name}.a import b\n")
    found = [(one.name, circles(one)) for one in packages(tmp_path)]
    expected = [["a.py", "room/b.py"]]
    assert found == [("scrapy_mandelbot", expected), ("other", expected)]


# Names of the standard library


def test_nothing_is_named_like_a_module_of_the_standard_library():
    """Python looks beside the file that it runs first, and so do editors."""
    names = {
        part.removesuffix(".py")
        for package in PACKAGES
        for where in package.trees
        for part in where.split("/")
    }
    assert names & sys.stdlib_module_names == set()


MAIN_MODULES = [
    package.folder / where
    for package in PACKAGES
    for where in package.trees
    if where.endswith("__main__.py")
]


def test_a_file_of_the_package_runs_from_inside():
    """``python scrapy_mandelbot/console.py`` works: editors run the file they show."""
    addon = PACKAGES[0]
    names = [one for one in top_level_modules(addon) if not one.startswith("__")]
    inside = f"""
import runpy
import sys
sys.path[:0] = [{str(addon.folder)!r}]
for name in {names!r}:
    runpy.run_path({str(addon.folder)!r} + "/" + name)
"""
    subprocess.run([sys.executable, "-c", inside], cwd=ROOT, check=True)


@pytest.mark.parametrize("main", MAIN_MODULES, ids=str)
def test_the_main_module_runs_from_inside(main):
    """Its folder is then the first in which Python looks for modules."""
    inside = f"""
import runpy
import sys
sys.path[0] = {str(main.parent)!r}
sys.argv[1:] = ["check", "-"]
runpy.run_path({str(main)!r}, run_name="__main__")
"""
    subprocess.run(
        [sys.executable, "-c", inside],
        cwd=ROOT,
        input="User-agent: *\nDisallow: /x\n",
        text=True,
        capture_output=True,
        check=True,
    )


# The table: lines


def lines(package: Source, where: str) -> int:
    return len(package.texts[where].splitlines())


@cache
def code_lines(package: Source, where: str) -> int:
    """Count lines that are not docstrings, imports, comments or blank.

    A string under an attribute counts as code, as it does in a table of names.
    """
    text = package.texts[where].splitlines()
    code = {
        number
        for number, line in enumerate(text, 1)
        if line.strip() and line.strip() != "if TYPE_CHECKING:"
    }
    # a line of a text may begin like a comment
    quoted: set[int] = set()
    for node in package.nodes[where]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            code -= rows(node)
        elif isinstance(node, ast.Constant | ast.JoinedStr):
            if node.lineno != node.end_lineno:
                quoted |= rows(node)
        elif has_docstring(node):
            code -= rows(node.body[0])
    commented = {
        number for number, line in enumerate(text, 1) if line.lstrip().startswith("#")
    }
    return len(code - (commented - quoted))


def has_docstring(node: ast.AST) -> bool:
    return isinstance(node, Definition | ast.Module) and bool(ast.get_docstring(node))


def rows(node: ast.AST) -> set[int]:
    return set(range(node.lineno, node.end_lineno + 1))


def top_level_modules(package: Source) -> list[str]:
    return [where for where in package.trees if "/" not in where]


# The table: stories


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
    is_plain = isinstance(statement, ast.Assign)
    targets = statement.targets if is_plain else [statement.target]
    return [
        node.id
        for one in targets
        for node in ast.walk(one)
        if isinstance(getattr(node, "ctx", None), ast.Store)
        and isinstance(node, ast.Name)
        if node.id not in {"logger", "__all__"}  # these link nothing
    ]


def has_several_stories(tree: ast.Module) -> bool:
    return sum(size >= LINES_OF_A_STORY for size in stories(tree)) > 1


def test_parts_that_name_each_other_are_one_story():
    """By a name of any kind; a logger links nothing, a line between the parts does."""
    apart = "logger = 1\nA = 1\ndef f():\n    logger\n    A\nclass C:\n    x = logger\n"
    assert stories(ast.parse(apart)) == [4, 2]
    assert stories(ast.parse(apart + "def g(c: C): f\n")) == [7]
    assert stories(ast.parse(apart + "f.c = C\n")) == [6]


# The table: names


@cache
def imported_names(package: Source, where: str) -> int:
    """Count the package's names that a module imports and does not offer to others."""
    offered = set()
    for node in package.trees[where].body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            offered = {
                one.value for one in ast.walk(node) if isinstance(one, ast.Constant)
            }
    return len(set().union(*imported(package, where).values()) - offered)


def knobs(package: Source) -> int:
    """Count the settings, and the keys of those that are dicts; the add-on has all."""
    if package is not PACKAGES[0]:
        return 0
    from scrapy_mandelbot.settings.config import OPTIONS, setting_defaults

    return len(setting_defaults()) + sum(len(keys) for keys in OPTIONS.values())


def most_methods(package: Source, where: str) -> int:
    """Count the public methods and properties of a module's largest class."""
    return max(
        (
            sum(isinstance(part, Function) and part.name[0] != "_" for part in one.body)
            for one in package.nodes[where]
            if isinstance(one, ast.ClassDef)
        ),
        default=0,
    )


def return_docstrings(tree: ast.Module) -> int:
    """Count the private functions whose docstring is one line, "Return ..."."""
    docstrings = [ast.get_docstring(node) or "" for node in private_functions(tree)]
    return sum(one.startswith("Return") and "\n" not in one for one in docstrings)


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


# The table


@cache
def figures(package: Source) -> dict[str, int]:
    """Return what is counted in a package, by what it is called in the table."""
    modules = package.trees
    return {
        "modules": len(modules),
        "modules at the top": len(top_level_modules(package)),
        f"modules of more than {LONG_MODULE} lines": sum(
            lines(package, one) > LONG_MODULE for one in modules
        ),
        "modules with several stories": sum(map(has_several_stories, modules.values())),
        f"modules that import more than {MANY_IMPORTED_NAMES} names": sum(
            imported_names(package, one) > MANY_IMPORTED_NAMES for one in modules
        ),
        "circles of imports": len(circles(package)),
        "lines": sum(lines(package, one) for one in modules),
        "lines of code": sum(code_lines(package, one) for one in modules),
        "knobs": knobs(package),
        "public methods of the largest class": max(
            most_methods(package, one) for one in modules
        ),
        'private docstrings "Return ..."': sum(
            map(return_docstrings, modules.values())
        ),
    }


def together(counted: list[dict[str, int]]) -> dict[str, int]:
    """Add up the figures of packages; a largest one is that of the largest."""
    return {
        name: (max if "largest" in name else sum)(one[name] for one in counted)
        for name in counted[0]
    }


def test_the_table_has_what_the_last_release_had():
    """A figure without another beside it says nothing."""
    assert list(LAST_RELEASE) == list(figures(PACKAGES[0]))


def test_figures_of_packages_are_added_up():
    """A package that moves out of another changes no sum."""
    counted = [figures(one) for one in PACKAGES]
    assert together(counted)["modules"] == sum(len(one.trees) for one in PACKAGES)
    assert together([{"a largest": 2, "b": 3}, {"a largest": 5, "b": 7}]) == {
        "a largest": 5,
        "b": 10,
    }


# What rose


def measures(package: Source, where: str) -> dict[str, int]:
    """Return what is looked at in a module; what is within its bound counts as 0."""
    tree = package.trees[where]
    found = {
        "lines": (lines(package, where), LONG_MODULE),
        "stories": (sum(size >= LINES_OF_A_STORY for size in stories(tree)), 1),
        "imported names": (imported_names(package, where), MANY_IMPORTED_NAMES),
        "public methods of a class": (most_methods(package, where), MANY_METHODS),
        'private docstrings "Return ..."': (return_docstrings(tree), 0),
    }
    return {
        what: figure if figure > bound else 0 for what, (figure, bound) in found.items()
    }


def risen(before: list[Source], now: list[Source]) -> Iterator[str]:
    """Yield the figures that rose between two trees, with their modules."""
    old_ones = {one.name: one for one in before}
    for package in now:
        old = old_ones.get(package.name)
        known = {} if old is None else old.trees
        for where in package.trees:
            was = measures(old, where) if where in known else {}
            for what, figure in measures(package, where).items():
                if figure > was.get(what, 0):
                    change = f"{was.get(what, 0)} -> {figure}"
                    yield f"{package.name}/{where}: {what} {change}"
        circle_before = [] if old is None else circles(old)
        for circle in circles(package):
            if circle not in circle_before:
                yield f"{package.name}: a circle of imports: {' '.join(circle)}"


def test_what_rose_is_named_with_its_module(tmp_path):
    """A figure within its bound, or one that was as high before, is not."""
    trees = []
    for name, count in (("before", 440), ("now", 460)):
        package = tmp_path / name / "scrapy_mandelbot"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "long.py").write_text("a = 1\n" * 500)
        (package / "longer.py").write_text("a = 1\n" * count)
        (package / "short.py").write_text("a = 1\n" * (count - 100))
        trees.append(packages(tmp_path / name))
    assert list(risen(*trees)) == ["scrapy_mandelbot/longer.py: lines 0 -> 460"]


def print_risen(ref: str) -> None:
    """Print what rose since a commit."""
    with tempfile.TemporaryDirectory() as folder:
        archive = ["git", "archive", ref, "scrapy_mandelbot", "packages"]
        held = subprocess.run(archive, cwd=ROOT, stdout=subprocess.PIPE, check=True)
        subprocess.run(["tar", "-x", "-C", folder], input=held.stdout, check=True)
        rows = list(risen(packages(Path(folder)), PACKAGES))
    print(f"Rose since {ref} (nothing fails by it):")
    for row in rows or ["(nothing)"]:
        print(f"    {row}")


def main() -> None:
    if "--since" in sys.argv[1:-1]:
        print_risen(sys.argv[sys.argv.index("--since") + 1])
        return
    counted = [figures(one) for one in PACKAGES]
    today = together(counted)
    if "--release" in sys.argv[1:]:
        for what, figure in today.items():
            print(f"    {what!r}: {figure},")
        return
    names = "".join(f"{one.name:>18}" for one in PACKAGES)
    print(f"{'':40}{'last release':>14}{'today':>10}{names}")
    for what, figure in today.items():
        row = f"{what:40}{LAST_RELEASE[what]:14,}{figure:10,}"
        print(row + "".join(f"{one[what]:18,}" for one in counted))
    for package in PACKAGES:
        print_modules(package)


def print_modules(package: Source) -> None:
    """Print the modules that the figures count."""
    modules = package.trees
    long = [
        f"{one} {lines(package, one)}"
        for one in modules
        if lines(package, one) > LONG_MODULE
    ]
    several = [one for one, tree in modules.items() if has_several_stories(tree)]
    many = [
        f"{one} {imported_names(package, one)}"
        for one in modules
        if imported_names(package, one) > MANY_IMPORTED_NAMES
    ]
    found = {
        f"more than {LONG_MODULE} lines": long,
        "several stories": several,
        f"more than {MANY_IMPORTED_NAMES} imported names": many,
        "circles of imports": [" ".join(one) for one in circles(package)],
    }
    for what, rows in found.items():
        print(f"\n{package.name}: {what}")
        for row in rows or ["(none)"]:
            print(f"    {row}")


if __name__ == "__main__":
    main()
