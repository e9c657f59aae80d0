"""Look whether the subjects of new commits can be read in a list.

Usage: python .ci/subjects.py

A subject has at most 72 characters. Commits of before `SINCE`, when nothing held this,
and merges are not looked at; nor is anything without a history, as an unpacked archive.
Of a shallow clone those are looked at that it has.

Exits with 1 and names the commits whose subjects are too long, else with 0.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SINCE = "2026-11-30T00:00:00Z"
"""When a commit was made that this looks at first."""
LONGEST = 72
"""Characters: what ``git log --oneline`` and pages of commits show of a subject."""


def too_long(log: str) -> list[str]:
    """Return the lines of a log, ``HASH SUBJECT``, whose subjects are too long."""
    found = []
    for line in log.splitlines():
        subject = line.partition(" ")[2]
        if len(subject) > LONGEST:
            found.append(line)
    return found


def git(folder: Path, *arguments: str) -> str | None:
    """Return what git prints; None: there is no git, or no repository."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return run.stdout


def log_of(folder: Path) -> str:
    """Return the new commits of a repository, a line each; none if it is none."""
    top = git(folder, "rev-parse", "--show-toplevel")
    if top is None or Path(top.strip()).resolve() != folder.resolve():
        return ""
    new = ["log", "--no-merges", f"--since={SINCE}", "--format=%h %s"]
    return git(folder, *new) or ""


def main() -> int:
    """Look at the history of this repository."""
    found = too_long(log_of(ROOT))
    for line in found:
        excess = len(line.partition(" ")[2]) - LONGEST
        print(f"A subject has {excess} characters too many: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
