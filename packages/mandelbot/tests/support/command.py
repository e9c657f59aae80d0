"""Runs ``mandelbot`` in a process of its own, which imports nothing but the library."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LONGEST = 60  # seconds of a run


class Command:
    """What runs it."""

    def run(
        self, folder: Path, *arguments: object, stdin: bytes = b"", **environ: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Run ``mandelbot`` in a folder, and wait for it."""
        return subprocess.run(
            [sys.executable, "-m", "mandelbot", *map(str, arguments)],
            cwd=folder,
            input=stdin,
            env={**os.environ, **environ},
            capture_output=True,
            check=False,
            timeout=LONGEST,
        )
