"""What the guides for maintainers name exists: files, classes, methods, parts of CI.

A newcomer follows CONTRIBUTING.rst and the design pages; what was renamed or has left
leads nowhere.
"""

from __future__ import annotations

import ast
import configparser
import re
from collections import defaultdict
from functools import cache
from importlib import resources
from pathlib import Path

import pytest
from mandelbot.cli.output import robots_page
from support.package_source import PACKAGES, ROOT, statements

LIBRARY = ROOT / "packages" / "mandelbot"
SOURCE = LIBRARY / "src"
GUIDES = {
    "CONTRIBUTING.rst": (ROOT, ROOT / "scrapy_mandelbot", SOURCE),
    "docs/design.rst": (ROOT, ROOT / "scrapy_mandelbot", SOURCE),
    "packages/mandelbot/docs/design.rst": (ROOT, LIBRARY, SOURCE / "mandelbot", SOURCE),
}
"""Each guide, with the folders from which it names files."""
OF_OTHERS = {
    "Retry-After",
    "PYTHONDONTWRITEBYTECODE",
    "inf",
    "process_response",
    "pypi",
    "redis-server",
    "response_downloaded",
    "urllib",
}
"""Names that others have given: Python, Scrapy, HTTP, the package index."""
OF_TESTS = ("tests/support", "packages/mandelbot/tests/cases", "tests/test_gates.py")
"""Where tests define what a guide may name."""

_PATH = re.compile(r"[\w.-]*/[\w./-]*|[\w-]+\.(?:cfg|d|py|rst|tsv|yml)")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_IN_DRAWING = re.compile(r"\b[A-Z][a-z]+[A-Za-z]*\.[a-z_]+\b|\b(?:[A-Z][a-z]+){2,}\b")


def text_of(guide: str) -> str:
    return (ROOT / guide).read_text("utf-8")


def quoted(guide: str) -> set[str]:
    """Return what a guide writes as code: names, paths, commands."""
    return set(re.findall(r"``([^`]+)``", text_of(guide)))


def drawn(guide: str) -> set[str]:
    """Return the names in a guide's drawings."""
    blocks = re.findall(r"(?m)^::\n\n((?:    .*\n|\n)+)", text_of(guide))
    return {name for block in blocks for name in _IN_DRAWING.findall(block)}


def is_there(path: str, folders: tuple[Path, ...]) -> bool:
    workflow = ROOT / ".github" / "workflows" / path
    return workflow.is_file() or any((folder / path).exists() for folder in folders)


@cache
def members() -> dict[str, set[str]]:
    """Return what each class has, of itself or of those that it is made of."""
    found: dict[str, set[str]] = defaultdict(set)
    bases: dict[str, set[str]] = defaultdict(set)
    for tree in _trees():
        for node in statements(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            bases[node.name] |= {ast.unparse(base) for base in node.bases}
            for inner in statements(node):
                found[node.name] |= _defined(inner)
    for name, those in bases.items():
        for base in those & found.keys():
            found[name] |= found[base]
    return found


@cache
def names() -> set[str]:
    """Return every name that the packages define, and those of their modules."""
    found = {part for package in PACKAGES for part in _modules(package)}
    for tree in _trees():
        for node in statements(tree):
            found |= _defined(node)
    return found


@cache
def _trees() -> list[ast.Module]:
    paths = [path for one in OF_TESTS for path in _files(ROOT / one)]
    parsed = [ast.parse(path.read_text("utf-8")) for path in paths]
    return [*parsed, *(tree for package in PACKAGES for tree in package.trees.values())]


def _files(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(place.glob("*.py"))


def _modules(package) -> set[str]:
    parts = (where.removesuffix(".py").split("/") for where in package.trees)
    return {package.name, *(part for each in parts for part in each)}


def _defined(node: ast.AST) -> set[str]:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return {node.name}
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        plain = {one.id for one in targets if isinstance(one, ast.Name)}
        return plain | {one.attr for one in targets if isinstance(one, ast.Attribute)}
    return set()


@cache
def words() -> set[str]:
    """Return what the guides name and no module defines: parts, markers, kinds."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    markers = re.findall(r"(?m)^(\w+):", setup["tool:pytest"]["markers"])
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    parts = re.findall(r"(?m)^(\w+)\(\) \{", ci)
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    kinds = re.findall(r'(?m)^directory = "(\w+)"', pyproject)
    examples = LIBRARY / "tests" / "support" / "examples.py"
    profiles = re.findall(r'"(\w+)"', examples.read_text("utf-8"))
    workflows = [path.stem for path in (ROOT / ".github" / "workflows").iterdir()]
    options = {option for section in setup for option in setup[section]}
    return {*markers, *parts, *kinds, *profiles, *workflows, *options}


@cache
def environment() -> str:
    """Return what may read an environment variable or a setting."""
    paths = [ROOT / ".ci" / "run", *LIBRARY.glob("tests/support/*.py")]
    paths += [*ROOT.glob("tests/support/*.py")]
    texts = [text for package in PACKAGES for text in package.texts.values()]
    return "\n".join([*texts, *(path.read_text("utf-8") for path in paths)])


def exists(name: str) -> bool:
    """Tell whether a name of code, or a word of the project, is there."""
    if name in OF_OTHERS or name in words():
        return True
    if name.startswith("MANDELBOT_"):
        option = name.removeprefix("MANDELBOT_").lower()
        return name in environment() or f"{option}:" in environment()
    first, *rest = name.split(".")
    for owner, member in zip([first, *rest], rest, strict=False):
        if owner in members() and member not in members()[owner]:
            return False
    return all(part in names() for part in (first, *rest))


@pytest.mark.parametrize("guide", GUIDES)
def test_each_file_that_a_guide_names_is_there(guide):
    """In the repository, or in the package that the guide is about."""
    found = {word for one in quoted(guide) for word in one.split()}
    paths = {
        one
        for one in found
        if _PATH.fullmatch(one) and not one.startswith("/") and "SLUG" not in one
    }
    assert len(paths) >= 5
    assert {one for one in paths if not is_there(one, GUIDES[guide])} == set()


@pytest.mark.parametrize("guide", GUIDES)
def test_each_name_of_code_in_a_guide_is_defined(guide):
    """A class, a method, a setting, a part of .ci/run: also in the drawings."""
    quotes = {one for one in quoted(guide) if _NAME.fullmatch(one)}
    named = {one for one in quotes if not _PATH.fullmatch(one)} | drawn(guide)
    assert len(named) >= 20
    assert {one for one in named if not exists(one)} == set()


def test_the_scripts_of_the_page_name_modules_of_the_parser():
    """Their comments say which module reads as they do."""
    folder = resources.files(robots_page)
    text = "".join(
        folder.joinpath(name).read_text("utf-8") for name in ("read.js", "decide.js")
    )
    named = set(re.findall(r"\b([a-z_]+\.py)\b", text))
    assert len(named) >= 5
    parser = SOURCE / "mandelbot" / "robotstxt"
    assert {one for one in named if not (parser / one).is_file()} == set()


def test_a_name_that_has_left_is_told():
    """Else these tests would hold nothing."""
    assert exists("Site.decide")
    assert not exists("Site.decides_no_more")
    assert not exists("HEADER_OF_THE_TABLE")
    assert not is_there("politeness/outcome.py", GUIDES["CONTRIBUTING.rst"])
