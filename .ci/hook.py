"""Run the hook that the page "Command" shows as pre-commit does, with a new wheel.

Usage: python .ci/hook.py WHEEL

The page's lines go into the configuration of a new repository; only the name of the
library is replaced by the wheel. A file with a mistake must fail, one without must
pass, and what pre-commit installs is counted. Its installation is timed: processor time
is held, as the other one depends on the machine and on the package index.

Exits with 0 if all of this holds, else with 1.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "packages" / "mandelbot" / "docs" / "command.rst"
MOST_PACKAGES = 5  # the library and four that it needs
MOST_BYTES = 6_000_000
MOST_SECONDS = 8.0  # of processor time, to install the hook
TOOLS = {"pip", "setuptools", "wheel", "pre_commit_placeholder_package"}


def configuration(wheel: Path) -> str:
    """Return the page's configuration, for a wheel in place of the index."""
    page = PAGE.read_text(encoding="utf-8")
    (hook,) = re.findall(r"(?m)^    - repo: local\n(?:(?:    .*)?\n)+", page)
    named = "additional_dependencies: [mandelbot]"
    if named not in hook:
        sys.exit(f"docs/command.rst: the hook has no line {named!r}")
    hook = hook.replace(named, f'additional_dependencies: ["{wheel}"]')
    return f"repos:\n{textwrap.indent(textwrap.dedent(hook), '  ')}"


def run(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    """Run the hook on a robots.txt."""
    (folder / "robots.txt").write_text(body, encoding="utf-8")
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)  # noqa: S607
    return pre_commit(folder, "run", "--all-files", "--verbose")


def install(folder: Path) -> tuple[float, float]:
    """Install the hook; return its seconds, and those of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    pre_commit(folder, "install-hooks")
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds, used


def pre_commit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pre-commit in the repository."""
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", *arguments],
        cwd=folder,
        env={**os.environ, "PRE_COMMIT_HOME": str(folder.parent / "home")},
        capture_output=True,
        text=True,
        check=False,
    )


def installed(home: Path) -> tuple[set[str], int]:
    """Return the packages that pre-commit installed, and their bytes."""
    (site,) = home.glob("*/py_env-*/lib/python*/site-packages")
    names = {one.name.partition("-")[0].lower() for one in site.glob("*.dist-info")}
    ours = [
        path
        for path in site.rglob("*")
        if path.is_file()
        and path.relative_to(site).parts[0].partition("-")[0].lower() not in TOOLS
        and path.relative_to(site).parts[0] not in {"_distutils_hack", "pkg_resources"}
    ]
    return names - TOOLS, sum(path.stat().st_size for path in ours)


def main(wheel: Path) -> int:
    """Make the repository, and look."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "site"
        folder.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)  # noqa: S607
        (folder / ".pre-commit-config.yaml").write_text(configuration(wheel))
        seconds, used = install(folder)
        wrong = run(folder, "User-agent: *\nDisalow: /x\n")
        right = run(folder, "User-agent: *\nDisallow: /x\n")
        names, size = installed(Path(temporary) / "home")
    print(f"{len(names)} packages, {size / 1e6:.1f} MB: {', '.join(sorted(names))}")
    print(f"installed in {seconds:.1f} s, {used:.1f} s of processor time")
    held = {
        "a mistake fails": wrong.returncode == 1 and "misspelt-field" in wrong.stdout,
        "a correct file passes": right.returncode == 0,
        f"at most {MOST_PACKAGES} packages": len(names) <= MOST_PACKAGES,
        f"at most {MOST_BYTES / 1e6:.0f} MB": size <= MOST_BYTES,
        f"at most {MOST_SECONDS:.0f} s of processor time": used <= MOST_SECONDS,
    }
    for what, holds in held.items():
        print(f"{'ok' if holds else 'NOT SO'}: {what}")
    if not all(held.values()):
        print(wrong.stdout, wrong.stderr, right.stdout, right.stderr, sep="\n")
    return 0 if all(held.values()) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
