"""Small changes to the code, one by one, and which of them the tests of their room notice.

Usage::

    python benchmarks/mutations.py [ROOM ...] [--changes N] [--seed S] [--seconds T] [--list]

ROOM     sites, throttle, queue, rules, store, job, fleet, middlewares, report: those named, else
         all; the changes are drawn from them by how many there could be
changes  how many in all (100)
seed     which ones (1)
seconds  after which the tests of a room are ended; what they have not noticed is not noticed (60)
list     print the changes and change nothing

A change turns a comparison or a condition round, leaves out a call or an assignment, takes the
other of ``and`` and ``or``, ``min`` and ``max``, or makes a number one more. It is made in a copy
of the repository; the tests of its room are run there until the first that fails. What no test
noticed is printed at the end: it is a test that is missing, or code that does nothing.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "scrapy_mandelbot"
ROOMS = {
    "fleet": (["fleet"], ["fleet"]),
    "job": (["job"], ["job"]),
    "middlewares": (
        ["downloadermiddlewares.py", "spidermiddlewares.py"],
        [
            *(f"crawls/test_{one}.py" for one in ("pause", "rules", "answers")),
            *(f"crawls/test_{one}.py" for one in ("robot_tags", "robot_tags_obeyed")),
            "crawls/test_outside_the_queue.py",
        ],
    ),
    "queue": (["queue"], ["queue"]),
    "report": (
        ["report"],
        [
            "report",
            *(f"crawls/test_{one}.py" for one in ("report", "status", "metrics")),
        ],
    ),
    "rules": (
        ["rules"],
        [
            "rules",
            *(f"crawls/test_{one}.py" for one in ("rules", "answers", "broken_off")),
            *(f"crawls/test_{one}.py" for one in ("comments", "no_answer")),
        ],
    ),
    "sites": (["sites"], ["sites"]),
    "store": (["store"], ["store"]),
    "throttle": (["throttle"], ["throttle"]),
}
OTHER = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
NOT_LOOKED_AT = {"__repr__", "__str__", "in_words"}  # what is said of it is for people


class Change(NamedTuple):
    """One small change: the ``number``-th node of a file, walked through in order."""

    room: str
    file: str
    number: int
    line: int
    words: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.words}"


def candidates(room: str) -> Iterator[Change]:
    """Yield what could be changed in a room."""
    for place in ROOMS[room][0]:
        path = ROOT / PACKAGE / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            name = file.relative_to(ROOT / PACKAGE).as_posix()
            for number, node in enumerate(nodes(ast.parse(file.read_text("utf-8")))):
                words = changed(copy.deepcopy(node))[1]
                if words:
                    yield Change(room, name, number, node.lineno, words)


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements and expressions of a module that do something, in order."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef) and child.name in NOT_LOOKED_AT:
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Expr) and "logger." in ast.unparse(child):
            continue
        if isinstance(child, ast.Raise | ast.Assert | ast.arguments | ast.JoinedStr):
            continue
        is_annotation = isinstance(child, ast.AnnAssign) and child.value is None
        if isinstance(child, ast.stmt | ast.expr) and not is_annotation:
            yield child
        yield from nodes(child)


def changed(node: ast.AST) -> tuple[ast.AST, str]:
    """Return a node changed, and what was done; the words are empty where nothing can be."""
    before = ast.unparse(node)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER:
        node.ops[0] = OTHER[type(node.ops[0])]()
    elif isinstance(node, ast.BoolOp) or (isinstance(node, ast.BinOp) and type(node.op) in OTHER):
        node.op = OTHER[type(node.op)]()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand, f"{before} -> {ast.unparse(node.operand)}"
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in NAMES:
        node.func = ast.Name(NAMES[node.func.id], ast.Load())
    elif isinstance(node, ast.If | ast.IfExp | ast.While) and isinstance(
        node.test, ast.Name | ast.Attribute | ast.Call
    ):
        test = ast.unparse(node.test)
        node.test = ast.UnaryOp(ast.Not(), node.test)
        return node, f"if {test} -> if not"
    elif isinstance(node, ast.Constant) and type(node.value) in {int, float}:
        node.value += 1
    elif (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)) or (
        isinstance(node, ast.Assign | ast.AugAssign)
        and isinstance(getattr(node, "target", None) or node.targets[0], ast.Attribute)
    ):
        return ast.Pass(), f"without {before.splitlines()[0]}"
    else:
        return node, ""
    return node, f"{before} -> {ast.unparse(node)}".replace("\n", " ")


def apply(change: Change, root: Path) -> str:
    """Make a change in a copy; return the text of the file as it was."""
    file = root / PACKAGE / change.file
    text = file.read_text("utf-8")
    tree = ast.parse(text)
    wanted = next(node for n, node in enumerate(nodes(tree)) if n == change.number)

    class Exchange(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if node is wanted:
                return ast.copy_location(changed(node)[0], node)
            return self.generic_visit(node)

    file.write_text(ast.unparse(ast.fix_missing_locations(Exchange().visit(tree))), "utf-8")
    return text


def is_noticed(change: Change, root: Path, seconds: float) -> bool:
    """Return whether a test of the room fails in time."""
    tests = [f"tests/{one}" for one in ROOMS[change.room][1]]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "2", "-p", "no:cacheprovider"]
    try:
        run = subprocess.run(
            [*command, *tests],
            cwd=root,
            env={"PATH": "/usr/sbin:/usr/bin:/bin", "PYTHONPATH": str(root), "LC_ALL": "C.UTF-8"},
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"not in {seconds:g} s: {change}", flush=True)
        return False
    if run.returncode not in {0, 1, 2}:
        sys.exit(f"the tests did not run: {run.stdout.decode()[-2000:]}")
    return run.returncode != 0


def main() -> None:
    """Make the changes, and say which were noticed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rooms", nargs="*", choices=[*ROOMS, []], metavar="ROOM")
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    there = [one for room in arguments.rooms or ROOMS for one in candidates(room)]
    chance = random.Random(arguments.seed)
    changes = sorted(chance.sample(there, min(arguments.changes, len(there))))
    if arguments.list:
        print(*changes, sep="\n")
        return
    noticed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "repository")
        no_copies = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, root, ignore=no_copies, symlinks=True)
        for change in changes:
            text = apply(change, root)
            is_seen = is_noticed(change, root, arguments.seconds)
            (root / PACKAGE / change.file).write_text(text, "utf-8")
            noticed[change.room] += is_seen
            if not is_seen:
                print(f"not noticed: {change}", flush=True)
    made = Counter(change.room for change in changes)
    for room, number in sorted(made.items()):
        print(f"{room:<12} {noticed[room]:>3} of {number:>3}")
    print(f"{'all':<12} {noticed.total():>3} of {made.total():>3} noticed")


if __name__ == "__main__":
    main()
