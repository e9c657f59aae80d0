"""Real files, which are not part of the repository.

A folder ``robots/`` of files, and ``google_verdicts.jsonl.gz``, which says of a file,
an agent and a URL what Google's parser decided and by which line (0: by none).
"""

from __future__ import annotations

import gzip
import json
import os
from functools import cache
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).parents[4]
CORPUS = Path(
    os.environ.get("MANDELBOT_CORPUS") or _REPOSITORY.parent / "shared" / "corpus"
)

needs_corpus = pytest.mark.skipif(
    not (CORPUS / "robots").is_dir(),
    reason=(
        f"no corpus in {CORPUS}: the environment variable MANDELBOT_CORPUS names its"
        " folder"
    ),
)


def one_in(number: int, *, nightly: int = 1):
    """Judge one file in so many, and more of them each night."""
    values = [number, pytest.param(nightly, marks=pytest.mark.thorough)]
    return pytest.mark.parametrize("one_in", values)


@cache
def read_files():
    """Return the bodies by the files' names, read once for all tests of a process."""
    return {
        path.name: path.read_bytes() for path in sorted((CORPUS / "robots").iterdir())
    }


@cache
def read_verdicts():
    """Return what Google's parser says, a list for each file's name; read once, too."""
    by_file = {name: [] for name in read_files()}
    with gzip.open(CORPUS / "google_verdicts.jsonl.gz", "rt") as lines:
        for line in map(json.loads, lines):
            by_file[line["file"]].append(line)
    return by_file
