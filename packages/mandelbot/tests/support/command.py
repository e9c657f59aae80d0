"""Runs ``mandelbot`` in a process of its own, which imports nothing but the library."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

LONGEST = 60  # seconds of a run


class Command:
    """What runs it."""

    def run(
        self,
        folder: Path,
        *arguments: object,
        stdin: bytes = b"",
        most_written: int | None = None,
        **environ: str,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run ``mandelbot`` in a folder, and wait for it.

        `most_written` is how many octets a file may have, as on a disk that is full.
        """
        limited = None if most_written is None else partial(limit_files, most_written)
        return subprocess.run(
            [sys.executable, "-m", "mandelbot", *map(str, arguments)],
            cwd=folder,
            input=stdin,
            env={**os.environ, **environ},
            capture_output=True,
            check=False,
            timeout=LONGEST,
            preexec_fn=limited,
        )


def limit_files(octets: int) -> None:
    """Let no file of this process grow beyond so many octets: writing fails then."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (octets, octets))
