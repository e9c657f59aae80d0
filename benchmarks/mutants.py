"""Which wrong lines the tests notice.

Usage: python benchmarks/mutants.py [SEED,... [NUMBER [LEAST]]]

Draws so many lines (40) of the code that decides when a site is requested, for each
seed, breaks each in turn in a copy of the repository, and runs the tests nearest to it
there. Prints a row for each, and exits with 1 if fewer than LEAST (none) of a seed are
noticed: a line that nobody notices needs a test, or does nothing.

Which tests are near is recorded first: the tests of the folders of `NEAREST` and of
crawls run once, unbroken, and ``nearest_tests.py`` notes which functions each of them
runs. Only those that run its function run for a line, its folder's first, until the
first fails; where they come to no end, the line is noticed. A test that also fails with
the line as it was counts for nothing.

A line is broken in one of the ways of `Breaker`: a comparison flipped, ``and`` and
``or`` swapped, ``not`` dropped, a number one higher (0.0 very high), another value
returned, a statement deleted. Without a SEED it is the day of the year, so that each
night draws others.
"""

from __future__ import annotations

import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from functools import partial
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from types import CodeType
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
OPTIONS = ["-p", "no:cacheprovider", "-p", "nearest_tests"]
WORKERS = 2
NO_TESTS = 5  # exit code of pytest: none of those that were wanted is there
LONG = 120.0  # seconds of the processor that the tests of one line take
ENDLESS = 600.0  # seconds of the processor after which tests come to no end
IDLE = 120.0  # seconds of the clock without any use of the processor


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


class Test(NamedTuple):
    """What is known of a test before anything is broken."""

    node: str
    seconds: float
    """Of the processor."""
    ran: dict[str, frozenset[int]]
    """First lines of functions, by path from the root of the repository."""


class Ended(NamedTuple):
    """How a run of tests ended."""

    code: int
    is_hanging: bool
    lines: list[str]
    """What it printed."""


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
        if not self._is_in_function or not is_number:
            return
        # as a time, 1.0 is as long past as 0.0
        is_time = isinstance(node.value, float) and not node.value
        self._put(node, "number", "1e12" if is_time else repr(node.value + 1))

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


def near(mutant: Mutant) -> list[str]:
    """Return the tests of its folder, and those of crawls that are about it: how their
    nodes begin, the nearest first.
    """
    place = Path(mutant.path)
    folder = place.parent.name
    folders, crawls = NEAREST.get(f"{folder}/{place.stem}", NEAREST[folder])
    return [
        *(f"tests/{one}/" for one in folders),
        *(CRAWLS.format(one) for one in crawls),
    ]


def function_of(path: Path, line: int) -> int:
    """Return the first line of the function at a line of a module."""
    first = 0
    codes = [compile(path.read_text("utf-8"), path, "exec")]
    while codes:
        code = codes.pop()
        lines = [one for _, _, one in code.co_lines() if one]
        if min(lines) <= line <= max(lines):
            first = max(first, code.co_firstlineno)
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
    return first


def copy_of(folder: Path) -> Path:
    """Copy what the repository has, as it stands here."""
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT)
    for name in names.decode().split("\0"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def pytest_in(copy: Path, options: list[str], variables: dict[str, str]) -> Ended:
    """Run pytest in a copy until it ends, or does nothing for long."""
    path = [copy, copy / "packages/mandelbot/src", copy / "benchmarks"]
    own = {"PYTHONPATH": os.pathsep.join(map(str, path)), "MANDELBOT_EXAMPLES": "few"}
    command = [sys.executable, "-B", "-m", "pytest", *OPTIONS, *options]
    with (copy / "output.txt").open("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            command,
            cwd=copy,
            env={**os.environ, **own, **variables},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        is_hanging = has_come_to_rest(process)
        if is_hanging:
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        output.seek(0)
        return Ended(code, is_hanging, output.read().splitlines())


def has_come_to_rest(process: subprocess.Popen[bytes]) -> bool:
    """Wait for its end, until it has used no time of the processor for `IDLE` seconds
    or more than `ENDLESS` of it in all.
    """
    used = 0.0
    since = time.monotonic()
    while True:
        try:
            process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            pass
        else:
            return False
        now = processor_time(process.pid)
        if now > used + 0.05:
            used = now
            since = time.monotonic()
        if used > ENDLESS or time.monotonic() > since + IDLE:
            return True


def processor_time(group: int) -> float:
    """Return the seconds that a group of processes, and what they started, have
    used.
    """
    ticks = 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text("utf-8").rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[2]) == group:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def recorded(copy: Path) -> list[Test]:
    """Run all tests that may be near once, whole, and return which functions each
    runs."""
    begins = [f"{copy / PACKAGE / folder}/" for folder in FOLDERS]
    (copy / "begins.json").write_text(json.dumps(begins), "utf-8")
    variables = {
        "FUNCTIONS_OF": str(copy / "begins.json"),
        "FUNCTIONS_RUN": str(copy / "functions-"),
    }
    folders = sorted({one for folders, _ in NEAREST.values() for one in folders})
    paths = [*(f"tests/{one}" for one in folders), "tests/crawls"]
    ended = pytest_in(copy, ["-q", f"-n{WORKERS}", *paths], variables)
    print("\n".join(ended.lines[-5:]), flush=True)
    if ended.is_hanging:
        sys.exit("the tests came to no end, with nothing broken")
    tests = []
    for file in copy.glob("functions-*"):
        for line in file.read_text("utf-8").splitlines():
            node, seconds, ran = json.loads(line)
            lines = {
                Path(path).relative_to(copy).as_posix(): frozenset(numbers)
                for path, numbers in ran.items()
            }
            tests.append(Test(node, seconds, lines))
    return tests


def nearest(mutant: Mutant, tests: list[Test]) -> list[str]:
    """Return the tests that run a line's function, `LONG` seconds of them.

    Those of its folder first, then those about it, then others; the quickest of each
    first.
    """
    begins = near(mutant)
    function = function_of(ROOT / mutant.path, mutant.line)
    running = [one for one in tests if function in one.ran.get(mutant.path, ())]

    def distance(test: Test) -> tuple[int, float]:
        places = [at for at, one in enumerate(begins) if test.node.startswith(one)]
        return (min([*places, len(begins)]), test.seconds)

    seconds = 0.0
    nodes = []
    for test in sorted(running, key=distance):
        seconds += test.seconds
        if seconds > LONG and nodes:
            break
        nodes.append(test.node)
    return nodes


def failure(copy: Path, nodes: list[str]) -> str:
    """Run tests in a copy until the first fails; return which, "" if none does."""
    (copy / "chosen.json").write_text(json.dumps(nodes), "utf-8")
    files = list(dict.fromkeys(node.partition("::")[0] for node in nodes))
    variables = {"TESTS_WANTED": str(copy / "chosen.json")}
    ended = pytest_in(copy, ["-qx", "-n0", *files], variables)
    if ended.is_hanging:
        return "no end"
    if ended.code in {0, NO_TESTS}:
        return ""
    begins = ("FAILED tests/", "ERROR tests/")
    named = [line for line in ended.lines if line.startswith(begins)]
    return (named or ended.lines[-1:] or ["?"])[0]


def noticed(mutant: Mutant, tests: list[Test], copies: SimpleQueue[Path]) -> str:
    """Return the test that notices a broken line; "": none does.

    One that fails with the line as it was, too, notices nothing.
    """
    nodes = nearest(mutant, tests)
    copy = copies.get()
    place = copy / mutant.path
    kept = place.read_text("utf-8")
    try:
        while nodes:
            place.write_text(mutant.text, "utf-8")
            failed = failure(copy, nodes)
            place.write_text(kept, "utf-8")
            node = failed.removeprefix("FAILED ").partition(" - ")[0]
            if node not in nodes or not failure(copy, [node]):
                return failed
            nodes.remove(node)
    finally:
        place.write_text(kept, "utf-8")
        copies.put(copy)
    return ""


def main(seeds: str = "", number: str = "40", least: str = "0") -> None:
    """Draw them, break them, and print who noticed."""
    named = (seeds or f"{datetime.now(timezone.utc):%j}").split(",")
    drawn = {seed: mutants(seed, int(number)) for seed in named}
    every = list(chain.from_iterable(drawn.values()))
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for worker in range(WORKERS):
            place = Path(folder, str(worker))
            place.mkdir()
            copies.put(copy_of(place))
        tests = recorded(Path(folder, "0"))
        look = partial(noticed, tests=tests, copies=copies)
        with ThreadPoolExecutor(WORKERS) as pool:
            results = pool.map(look, every)
            counts = [
                printed(seed, zip(drawn[seed], results, strict=False)) for seed in named
            ]
    if min(counts) < int(least):
        sys.exit(1)


def printed(seed: str, rows: Iterable[tuple[Mutant, str]]) -> int:
    """Print the row of each line as it comes; return how many were noticed."""
    print(f"seed {seed}", flush=True)
    count = total = 0
    for mutant, failed in rows:
        total += 1
        count += bool(failed)
        print(
            f"{'' if failed else 'NOT '}noticed  {mutant.path}:{mutant.line}"
            f" {mutant.way}: {mutant.before[:60]} -> {mutant.after[:60]}"
            f"  [{failed[:100]}]",
            flush=True,
        )
    print(f"{count} of {total} noticed; again: mutants.py {seed} {total}", flush=True)
    return count


if __name__ == "__main__":
    main(*sys.argv[1:])
