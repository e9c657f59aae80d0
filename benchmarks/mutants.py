"""Which wrong lines the tests notice.

Usage: python benchmarks/mutants.py [SEED [NUMBER [LEAST]]]

Draws so many lines (40) of the code that decides when a site is requested, breaks each
in turn in a copy of the repository, and runs the tests nearest to it there. Prints a
row for each, and exits with 1 if fewer than LEAST (none) are noticed: a line that
nobody notices needs a test, or does nothing. The tests run until the first fails;
where they come to no end, the line is noticed.

A line is broken in one of the ways of `Breaker`: a comparison flipped, ``and`` and
``or`` swapped, ``not`` dropped, a number one higher, another value returned, a
statement deleted. Without a SEED it is the day of the year, so that each night draws
others.
"""

from __future__ import annotations

import ast
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = "scrapy_mandelbot"
CRAWLS = "tests/crawls/test_{}.py"
ABOUT_PAUSES = ("pause", "sections", "no_answer", "statuses", "says_no", "down")
ABOUT_RULES = ("rules", "answers", "broken_off", "copies", "verdict", "first_contact")
NEAREST = {
    "politeness": (["politeness", "throttle"], (*ABOUT_PAUSES, "pace", "concurrency")),
    "throttle": (
        ["throttle", "politeness"],
        (*ABOUT_PAUSES, "pace", "together", "paused_by_hand", "two_crawls"),
    ),
    "fetching": (
        ["fetching"],
        (*ABOUT_RULES, "down", "credentials", "proxies", "led_inside", "two_crawls"),
    ),
    "scheduling": (
        ["scheduling"],
        ("schedulers", "jobdir", "pause", "sections", "outside_the_queue"),
    ),
    "downloadermiddlewares": (
        [],
        (*ABOUT_PAUSES, *ABOUT_RULES, "outside_the_queue", "refusal_function"),
    ),
    "downloadermiddlewares/signing": (["signing"], ()),
    "spidermiddlewares": (
        ["spidermiddlewares"],
        ("spellings", "nothing_opens", "rules"),
    ),
}
"""By folder or module: folders of tests, then tests of crawls."""
FOLDERS = [name for name in NEAREST if "/" not in name]
NO_LINES = ("__repr__", "__str__", "describe", "as_text")
"""Functions whose value only people read."""
WORKERS = 2
ENDLESS = 600  # seconds of the processor for a group of tests
LONGEST = 3_600  # seconds of the clock, whatever else the machine does


class Mutant(NamedTuple):
    """One broken line."""

    path: str
    """From the root of the repository."""
    line: int
    way: str
    before: str
    after: str
    text: str
    """Of the whole module."""


class Breaker(ast.NodeVisitor):
    """Collects ways to break a module: places in its text, and what to put there."""

    OPPOSITES = (
        (ast.Lt, "<", ">="),
        (ast.LtE, "<=", ">"),
        (ast.Gt, ">", "<="),
        (ast.GtE, ">=", "<"),
        (ast.Eq, "==", "!="),
        (ast.NotEq, "!=", "=="),
        (ast.Is, "is", "is not"),
        (ast.IsNot, "is not", "is"),
        (ast.In, "in", "not in"),
        (ast.NotIn, "not in", "in"),
    )

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line.encode()))
        self._is_in_function = False
        self.found: list[tuple[int, int, str, str]] = []
        """Start and end in bytes, the way, and the new text."""

    def _put(self, node: ast.AST, way: str, new: str) -> None:
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[node.end_lineno - 1] + node.end_col_offset
        self.found.append((start, end, way, new))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Look at the body of a function; its defaults and annotations stay."""
        if node.name in NO_LINES:
            return
        was = self._is_in_function
        self._is_in_function = True
        for one in node.body:
            self.visit(one)
        self._is_in_function = was

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 -- the name ast calls

    def visit_If(self, node: ast.If) -> None:
        """Leave imports for type checkers alone."""
        if getattr(node.test, "id", "") != "TYPE_CHECKING":
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leave annotations alone."""
        if node.value is not None:
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Flip the first comparison."""
        for kind, _, opposite in self.OPPOSITES:
            if self._is_in_function and isinstance(node.ops[0], kind):
                first = f"{ast.unparse(node.left)} {opposite} "
                rest = ast.unparse(node.comparators[0])
                if len(node.ops) == 1:
                    self._put(node, "comparison", f"({first}{rest})")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Swap ``and`` and ``or``."""
        if self._is_in_function:
            word = " or " if isinstance(node.op, ast.And) else " and "
            new = word.join(f"({ast.unparse(one)})" for one in node.values)
            self._put(node, "and/or", f"({new})")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Drop ``not``."""
        if self._is_in_function and isinstance(node.op, ast.Not):
            self._put(node, "not", f"bool({ast.unparse(node.operand)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Raise a number by one."""
        is_number = (
            isinstance(node.value, (int, float)) and type(node.value) is not bool
        )
        if self._is_in_function and is_number:
            self._put(node, "number", repr(node.value + 1))

    def visit_JoinedStr(self, _node: ast.JoinedStr) -> None:
        """Leave texts alone."""

    def visit_Return(self, node: ast.Return) -> None:
        """Return something else."""
        if node.value is not None:
            value = ast.unparse(node.value)
            is_none = isinstance(node.value, ast.Constant) and node.value.value is None
            self._put(node.value, "return", "True" if is_none else f"not ({value})")
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Delete a call."""
        if self._is_in_function and isinstance(node.value, ast.Call):
            self._put(node, "deleted", "pass")
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Delete an assignment to an attribute; without a name nothing would run."""
        if self._is_in_function and isinstance(node.targets[0], ast.Attribute):
            self._put(node, "deleted", "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Delete what adds."""
        self._put(node, "deleted", "pass")
        self.generic_visit(node)


def mutants(seed: str, number: int) -> list[Mutant]:
    """Draw broken lines: folders, modules and ways take turns."""
    chance = random.Random(seed)
    drawn: list[Mutant] = []
    seen = set()
    while len(drawn) < number:
        folder = FOLDERS[len(drawn) % len(FOLDERS)]
        paths = sorted((ROOT / PACKAGE / folder).glob("[!_]*.py"))
        mutant = _draw(chance, chance.choice(paths))
        if mutant is not None and (mutant.path, mutant.line) not in seen:
            seen.add((mutant.path, mutant.line))
            drawn.append(mutant)
    return drawn


def _draw(chance: random.Random, path: Path) -> Mutant | None:
    text = path.read_text("utf-8")
    breaker = Breaker(text)
    breaker.visit(ast.parse(text))
    ways = sorted({way for _, _, way, _ in breaker.found})
    if not ways:
        return None
    way = chance.choice(ways)
    start, end, _, new = chance.choice([one for one in breaker.found if one[2] == way])
    octets = text.encode()
    broken = (octets[:start] + new.encode() + octets[end:]).decode()
    ast.parse(broken)
    before = " ".join(octets[start:end].decode().split())
    line = octets[:start].count(b"\n") + 1
    name = path.relative_to(ROOT).as_posix()
    return Mutant(name, line, way, before, new, broken)


def groups(mutant: Mutant) -> list[tuple[str, ...]]:
    """Return the tests that may notice a line, the nearest first.

    Those of crawls that name its module, and those of its folder's table.
    """
    place = Path(mutant.path)
    folder = place.parent.name
    folders, crawls = NEAREST.get(f"{folder}/{place.stem}", NEAREST[folder])
    module = mutant.path.removesuffix(".py").replace("/", ".")
    naming = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if module in path.read_text("utf-8")
    ]
    units = tuple(f"tests/{one}" for one in folders)
    named = tuple(one for one in naming if not one.startswith(units or ("none",)))
    others = tuple(CRAWLS.format(one) for one in crawls)
    nearest = (*units, *named)
    rest = tuple(one for one in others if one not in nearest)
    return [one for one in (nearest, rest) if one]


def copy_of(folder: Path) -> Path:
    """Copy what the repository has, as it stands here."""
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT)
    for name in names.decode().split("\0"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def failure(copy: Path, tests: tuple[str, ...]) -> str:
    """Run tests in a copy until the first fails; return which, "" if none does."""
    path = os.pathsep.join([str(copy), str(copy / "packages/mandelbot/src")])
    command = [sys.executable, "-B", "-m", "pytest", "-qx", "-n0", "-pno:cacheprovider"]
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": path, "MANDELBOT_EXAMPLES": "few"},
            capture_output=True,
            text=True,
            timeout=LONGEST,
            preexec_fn=end_at_last,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "no end"
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        return "no end"
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines(), "?"]
    named = [line for line in lines if line.startswith(("FAILED ", "ERROR tests"))]
    return (named or lines)[0]


def end_at_last() -> None:
    """Limit the processor time of this process."""
    resource.setrlimit(resource.RLIMIT_CPU, (ENDLESS, ENDLESS))


def noticed(mutant: Mutant, copies: SimpleQueue[Path]) -> str:
    """Return the test that notices a broken line; "": none does."""
    copy = copies.get()
    place = copy / mutant.path
    kept = place.read_text("utf-8")
    place.write_text(mutant.text, "utf-8")
    try:
        return next(filter(None, (failure(copy, one) for one in groups(mutant))), "")
    finally:
        place.write_text(kept, "utf-8")
        copies.put(copy)


def main(seed: str = "", number: str = "40", least: str = "0") -> None:
    """Draw them, break them, and print who noticed."""
    seed = seed or f"{datetime.now(timezone.utc):%j}"
    drawn = mutants(seed, int(number))
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for worker in range(WORKERS):
            place = Path(folder, str(worker))
            place.mkdir()
            copies.put(copy_of(place))
        print(f"seed {seed}, {len(drawn)} lines", flush=True)
        with ThreadPoolExecutor(WORKERS) as pool:
            look = partial(noticed, copies=copies)
            rows = []
            for mutant, failed in zip(drawn, pool.map(look, drawn), strict=True):
                rows.append(failed)
                print(
                    f"{'' if failed else 'NOT '}noticed  {mutant.path}:{mutant.line}"
                    f" {mutant.way}: {mutant.before[:60]} -> {mutant.after[:60]}"
                    f"  [{failed[:100]}]",
                    flush=True,
                )
    count = sum(map(bool, rows))
    print(f"{count} of {len(rows)} noticed; again: mutants.py {seed} {number}")
    if count < int(least):
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
