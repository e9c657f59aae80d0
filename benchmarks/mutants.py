"""Which wrong lines the tests notice.

Usage: python benchmarks/mutants.py [SEED,... [NUMBER [LEAST]]]

Draws so many lines (40) of the code that decides when a site is requested, for each
seed, breaks each in turn in a copy of the repository, and runs the tests nearest to it
there. Prints a row for each, and exits with 1 if fewer than LEAST (none) of a seed are
noticed, or if one could not be judged. A line that nobody notices needs a test, or does
nothing.

Which tests are near is recorded first: the tests of the folders of `NEAREST` and of
crawls run once, unbroken, and ``nearest_tests.py`` notes which functions each of them
runs. What it noted is kept in ``build/nearest`` for the next run on the same files, so
that other seeds begin at once. Only those that run its function run for a line, its
folder's first, until the first fails. The line is noticed if what ran passes with the
line as it was:

- a test fails: that test, after those that ran before it;
- the run ends with an error that names no test, as a module that cannot be imported
  does: all tests of the line;
- the run comes to no end, by `Bound`: it uses `TIMES` as many seconds of the processor
  as its tests took when they were recorded, and `START` more, or fewer than `LITTLE` of
  them in `IDLE` seconds: all tests of the line, within the same bound.

A test that fails with the line as it was is left out, and the others judge. Where none
of them notices the line either, or where the run fails for all of them, the line could
not be judged.

A line is broken in one of the ways of `Breaker`: a comparison flipped, ``and`` and
``or`` swapped, ``not`` dropped, a number one higher (0.0 very high), another value
returned, a statement deleted. Without a SEED it is the day of the year, so that each
night draws others.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from functools import partial
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from nearest_tests import first_line

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build/nearest"
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
        (
            *ABOUT_PAUSES,
            *ABOUT_RULES,
            "cross_submits",
            "outside_the_queue",
            "refusal_function",
        ),
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
# Exit codes of pytest.
RAN = (0, 1)  # all have run, and passed or not
NO_TESTS = 5  # none of those that were wanted is there
LONG = 120.0  # seconds of the processor that the tests of one line take
START = 60.0  # seconds of the processor that pytest may take besides its tests
TIMES = 4  # as long as when they were recorded, tests may take
IDLE = 120.0  # seconds of the clock in which tests that go on use the processor
LITTLE = 2.0  # seconds of the processor, for that: a crawl that waits has timers
LONG_RECORDING = 3_600.0  # seconds of the processor
MOST_MEMORY = 4 * 2**30  # bytes of a process: a line may make a list without end
NOTICED = "noticed"
UNNOTICED = "NOT noticed"
UNJUDGED = "could NOT be judged"
NONE_FOUND = "none of its tests is found"


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

    def as_json(self) -> list[Any]:
        """Return a form that JSON takes."""
        return [
            self.node,
            self.seconds,
            {path: sorted(lines) for path, lines in self.ran.items()},
        ]

    @classmethod
    def of_json(cls, kept: list[Any]) -> Test:
        """Return the test whose form this is."""
        node, seconds, ran = kept
        lines = {path: frozenset(numbers) for path, numbers in ran.items()}
        return cls(node, seconds, lines)


class Bound(NamedTuple):
    """When a run of tests counts as one without an end."""

    processor: float
    """Seconds of the processor, all of its processes together."""
    idle: float = IDLE
    """Seconds of the clock in which they use fewer than `LITTLE` of the processor."""

    @classmethod
    def of(cls, tests: Sequence[Test]) -> Bound:
        """Return the bound of tests that were recorded."""
        return cls(START + TIMES * sum(one.seconds for one in tests))


class Ended(NamedTuple):
    """How a run of tests ended."""

    code: int
    is_hanging: bool
    lines: list[str]
    """What it printed."""


class Failure(NamedTuple):
    """Why a run of tests did not pass."""

    node: str
    """Of the test that failed; "" where none is named."""
    text: str


class Verdict(NamedTuple):
    """What is known of a broken line."""

    word: str
    """NOTICED, UNNOTICED or UNJUDGED."""
    why: str
    """The failure that noticed it, or that hides whether it is noticed."""


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
    """Return the first line of the function at a line of a module; 0 outside of
    functions.
    """
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    tree = ast.parse(path.read_text("utf-8"))
    around = [
        first_line(one)
        for one in ast.walk(tree)
        if isinstance(one, functions) and first_line(one) <= line <= one.end_lineno
    ]
    return max(around, default=0)


def copy_of(folder: Path) -> Path:
    """Copy what the repository has, as it stands here."""
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT)
    for name in names.decode().split("\0"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def pytest_in(
    copy: Path, options: list[str], variables: dict[str, str], bound: Bound
) -> Ended:
    """Run pytest in a copy until it ends or reaches a bound."""
    path = [copy, copy / "packages/mandelbot/src", copy / "benchmarks"]
    own = {
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "MANDELBOT_EXAMPLES": "few",
        "MOST_MEMORY": str(MOST_MEMORY),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    command = [sys.executable, "-m", "pytest", *OPTIONS, *options]
    with (copy / "output.txt").open("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            command,
            cwd=copy,
            env={**os.environ, **own, **variables},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        is_hanging = reaches(bound, process)
        if is_hanging:
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        output.seek(0)
        return Ended(code, is_hanging, output.read().splitlines())


def reaches(bound: Bound, process: subprocess.Popen[bytes]) -> bool:
    """Wait until a process ends or reaches a bound; return whether it reaches it."""
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
        if now > used + LITTLE:
            used = now
            since = time.monotonic()
        if now > bound.processor or time.monotonic() > since + bound.idle:
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


def nearest_tests_of(copy: Path) -> list[Test]:
    """Return which functions each test runs, as kept from the last run on these files,
    else recorded now and kept."""
    kept = KEPT / f"{digest_of(copy)}.json"
    if not kept.exists():
        tests = recorded(copy)
        KEPT.mkdir(parents=True, exist_ok=True)
        for old in KEPT.glob("*.json"):
            old.unlink()
        kept.write_text(json.dumps([one.as_json() for one in tests]), "utf-8")
    return [Test.of_json(one) for one in json.loads(kept.read_text("utf-8"))]


def digest_of(copy: Path) -> str:
    """Return a digest of the names and contents of the Python files of a copy."""
    digest = hashlib.sha256()
    for path in sorted(copy.rglob("*.py")):
        digest.update(f"{path.relative_to(copy)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


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
    options = ["-q", f"-n{WORKERS}", *paths]
    ended = pytest_in(copy, options, variables, Bound(LONG_RECORDING))
    print("\n".join(ended.lines[-5:]), flush=True)
    if ended.is_hanging or ended.code not in RAN:
        sys.exit("the tests did not run to their end, with nothing broken")
    tests = []
    for file in copy.glob("functions-*"):
        for line in file.read_text("utf-8").splitlines():
            node, seconds, ran = json.loads(line)
            lines = {
                Path(path).relative_to(copy).as_posix(): frozenset(numbers)
                for path, numbers in ran.items()
            }
            tests.append(Test(node, seconds, lines))
    if not tests:  # pytest itself failed, with the exit code of a test that does
        sys.exit("no test passed, with nothing broken")
    return tests


def nearest(mutant: Mutant, tests: list[Test]) -> list[Test]:
    """Return the tests that run a line's function, `LONG` seconds of them; those that
    run any of its module, where none does: what is outside of functions runs before.

    Those of its folder first, then those about it, then others; the quickest of each
    first.
    """
    begins = near(mutant)
    function = function_of(ROOT / mutant.path, mutant.line)
    running = [one for one in tests if function in one.ran.get(mutant.path, ())]
    if not running:
        running = [one for one in tests if mutant.path in one.ran]

    def distance(test: Test) -> tuple[int, float]:
        places = [at for at, one in enumerate(begins) if test.node.startswith(one)]
        return (min([*places, len(begins)]), test.seconds)

    seconds = 0.0
    chosen: list[Test] = []
    for test in sorted(running, key=distance):
        seconds += test.seconds
        if seconds > LONG and chosen:
            break
        chosen.append(test)
    return chosen


def failure(copy: Path, nodes: list[str], bound: Bound) -> Failure | None:
    """Run tests in a copy until the first fails; return why, None if all pass."""
    (copy / "chosen.json").write_text(json.dumps(nodes), "utf-8")
    files = list(dict.fromkeys(node.partition("::")[0] for node in nodes))
    variables = {"TESTS_WANTED": str(copy / "chosen.json")}
    ended = pytest_in(copy, ["-qx", "-n0", *files], variables, bound)
    if ended.is_hanging:
        used = f"{bound.processor:.0f} s of the processor, or {bound.idle:.0f} s idle"
        return Failure("", f"no end: {used}")
    if ended.code == 0:
        return None
    if ended.code == NO_TESTS:
        return Failure("", NONE_FOUND)
    for line in ended.lines:
        kind, _, rest = line.partition(" ")
        node = rest.partition(" - ")[0]
        if kind in {"FAILED", "ERROR"} and node in nodes:
            return Failure(node, line)
    errors = [line for line in ended.lines if line.startswith("ERROR ")]
    return Failure("", (errors or ended.lines[-1:] or [f"exit code {ended.code}"])[0])


def put(place: Path, text: str) -> None:
    """Write a module anew. What it was compiled to before goes: Python would take that
    for a text of the same length and second.
    """
    place.write_text(text, "utf-8")
    for compiled in place.parent.glob(f"__pycache__/{place.stem}.*"):
        compiled.unlink()


def judged(
    mutant: Mutant, chosen: list[Test], copy: Path, bound: Bound | None = None
) -> Verdict:
    """Return whether tests notice a broken line, in a copy that is whole, and left so.

    What fails has to pass with the line as it was. A single test that does not is left
    out, and the others judge.
    """
    bound = bound or Bound.of(chosen)
    place = copy / mutant.path
    whole = place.read_text("utf-8")
    nodes = [one.node for one in chosen]
    left_out = ""
    while nodes:
        put(place, mutant.text)
        try:
            failed = failure(copy, nodes, bound)
        finally:
            put(place, whole)
        if failed is None:
            break
        if failed.text == NONE_FOUND:  # the line decides which tests there are
            return Verdict(UNJUDGED, NONE_FOUND)
        ran = nodes[: nodes.index(failed.node) + 1] if failed.node else nodes
        otherwise = failure(copy, ran, bound)
        if otherwise is None:
            return Verdict(NOTICED, failed.text)
        left_out = f"unbroken: {otherwise.text}"
        if not otherwise.node:
            break
        nodes.remove(otherwise.node)
    if left_out:
        return Verdict(UNJUDGED, left_out)
    return Verdict(UNNOTICED, "" if chosen else "no test runs it")


def looked_at(mutant: Mutant, tests: list[Test], copies: SimpleQueue[Path]) -> Verdict:
    """Return whether the nearest tests notice a broken line, in the next free copy."""
    chosen = nearest(mutant, tests)
    copy = copies.get()
    try:
        return judged(mutant, chosen, copy)
    finally:
        copies.put(copy)


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
        tests = nearest_tests_of(Path(folder, "0"))
        look = partial(looked_at, tests=tests, copies=copies)
        with ThreadPoolExecutor(WORKERS) as pool:
            verdicts = pool.map(look, every)
            counts = [
                printed(seed, zip(drawn[seed], verdicts, strict=False))
                for seed in named
            ]
    if any(one[UNJUDGED] or one[NOTICED] < int(least) for one in counts):
        sys.exit(1)


def printed(seed: str, rows: Iterable[tuple[Mutant, Verdict]]) -> Counter[str]:
    """Print the row of each line as it comes; return how often each word was given."""
    print(f"seed {seed}", flush=True)
    counts: Counter[str] = Counter()
    for mutant, verdict in rows:
        counts[verdict.word] += 1
        print(
            f"{verdict.word}  {mutant.path}:{mutant.line}"
            f" {mutant.way}: {mutant.before[:60]} -> {mutant.after[:60]}"
            f"  [{verdict.why[:160]}]",
            flush=True,
        )
    total = counts.total()
    print(
        f"{counts[NOTICED]} of {total} noticed, {counts[UNJUDGED]} could not be judged;"
        f" again: mutants.py {seed} {total}",
        flush=True,
    )
    return counts


if __name__ == "__main__":
    main(*sys.argv[1:])
