"""Fuzz the library, guided by coverage, with what a site may send.

Usage::

    pip install -e .[fuzz]
    python fuzz/run.py [SECONDS [FOLDER ...] [TARGET ...]]

Each target (all of them, if none is named) runs for so many seconds, 60 unless said,
one after the other. A folder adds the targets of its ``*_invariants.py``. Printed is
how many inputs each got and what it found: the smallest input of each kind, as a Python
literal, and the sentence that does not hold. Inputs that reached new code are kept for
the next run in ``fuzz/corpus/TARGET``. Exits with 0 if all held, else with 1.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
import traceback
from contextlib import redirect_stderr
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Target = tuple[Callable[[bytes], None], list[bytes], list[bytes]]
    """The function, its seeds, and words that inputs are made of."""

HERE = Path(__file__).parent
SLOW = 2.0  # processor seconds, of code that counts its branches
LONGEST = 2_000  # bytes of an input
ATTEMPTS = 400  # to make an input smaller that was found


def targets(folders: Sequence[Path] = (HERE,)) -> dict[str, Target]:
    """Return by name what is fuzzed, from the ``*_invariants.py`` of the folders.

    They are imported here, while imports are instrumented.
    """
    tests = HERE.parent / "tests"
    sys.path += [str(tests), str(tests / "support"), str(tests / "robotstxt")]
    found: dict[str, Target] = {}
    for folder in folders:
        sys.path.append(str(folder))
        for path in sorted(folder.glob("*_invariants.py")):
            found.update(import_module(path.stem).TARGETS)
    return found


def broken(function: Callable[[bytes], None], data: bytes) -> tuple[str, str]:
    """Return the kind and the text of the input's failure; empty if all holds."""
    began = time.process_time()
    try:
        function(data)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        frames = traceback.extract_tb(error.__traceback__)
        kind = (
            f"{type(error).__name__} at"
            f" {Path(frames[-1].filename).name}:{frames[-1].lineno}"
        )
        return kind, str(error)[:500]
    took = time.process_time() - began
    if took > SLOW:
        return ("slow", f"{took:.1f} s for {len(data)} bytes")
    return ("", "")


def smaller(function: Callable[[bytes], None], data: bytes, kind: str) -> bytes:
    """Return the smallest part found that fails in the same way."""
    size = len(data) // 2
    left = ATTEMPTS
    while size and left:
        for start in range(0, len(data), size):
            less = data[:start] + data[start + size :]
            left -= 1
            if not left:
                break
            if broken(function, less)[0] == kind:
                data = less
                break
        else:
            size //= 2
    return data


def fuzz(name: str, target: Target, seconds: int) -> None:
    """Fuzz one target in this process, and end it."""
    import atheris  # noqa: PLC0415 - only who fuzzes needs it

    function, seeds, words = target
    found: set[str] = set()

    def check(data: bytes) -> None:
        kind, said = broken(function, data)
        if not kind or kind in found:
            return
        found.add(kind)
        if kind != "slow":
            data = smaller(function, data, kind)
            said = broken(function, data)[1]
        print(f"FOUND {name}: {kind}\n  {data!r}\n  {said}", flush=True)

    corpus = HERE / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="seeds"))
    for number, seed in enumerate(seeds):
        (folder / str(number)).write_bytes(seed)
    options = [f"-max_total_time={seconds}", f"-max_len={LONGEST}"]
    if words:
        dictionary = folder.with_suffix(".dictionary")
        escaped = ("".join(f"\\x{octet:02x}" for octet in word) for word in words)
        dictionary.write_text("".join(f'"{word}"\n' for word in escaped))
        options.append(f"-dict={dictionary}")
    options += [
        "-timeout=60",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus), str(folder)], check)
    atheris.Fuzz()


def run(name: str, target: Target, seconds: int) -> bool:
    """Fuzz one target in its own process, print the result, return whether all held."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as output:
        began = time.monotonic()
        # one that has imported and instrumented the package takes 3 seconds
        fuzzer = os.fork()
        if not fuzzer:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            os.chdir(folder)
            tempfile.tempdir = folder
            try:
                fuzz(name, target, seconds)
            except BaseException:  # noqa: BLE001 - it must not go on as its parent
                traceback.print_exc()
            os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(fuzzer, 0)[1])
        took = time.monotonic() - began
        output.seek(0)
        said = output.read().decode("utf-8", "replace")
    executed = re.search(r"number_of_executed_units:\s*(\d+)", said)
    inputs = int(executed[1]) if executed else 0
    found = re.findall(r"^FOUND .*\n.*\n.*$", said, re.MULTILINE)
    died = code != 0 or not inputs
    print(f"{name:<22}{took:>8.0f}{inputs:>12,}{len(found) + died:>7}", flush=True)
    for finding in found:
        print(finding, flush=True)
    if died:
        print(f"  it ended with exit code {code}:\n{said[-3_000:]}", flush=True)
    return not found and not died


def main(arguments: list[str]) -> int:
    """Fuzz all targets, or those that are named."""
    import atheris  # noqa: PLC0415 - only who fuzzes needs it

    seconds = int(arguments[0]) if arguments else 60
    folders = [Path(one).resolve() for one in arguments[1:] if Path(one).is_dir()]
    with (
        redirect_stderr(StringIO()),
        atheris.instrument_imports(include=["mandelbot", "scrapy_mandelbot"]),
    ):
        known = targets([HERE, *folders])
    names = [one for one in arguments[1:] if not Path(one).is_dir()] or list(known)
    if unknown := set(names) - set(known):
        sys.exit(
            f"no targets: {', '.join(sorted(unknown))}. There are {', '.join(known)}"
        )
    print(f"{'target':<22}{'seconds':>8}{'inputs':>12}{'found':>7}")
    held = [run(name, known[name], seconds) for name in names]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
