"""No test and no part of ``.ci/run`` is left out everywhere.

CONTRIBUTING.rst has a table.
"""

from __future__ import annotations

import configparser
import re

from examples import PROFILES
from pages import ROOT

CI = (ROOT / ".ci" / "run").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.rst").read_text()
TABLE = CONTRIBUTING.partition("What runs where\n---")[2].partition("\n\n\n")[0]
WORKFLOWS = "".join(path.read_text() for path in (ROOT / ".github").rglob("*.yml"))
HELPERS = re.compile(
    r"alone|as_readers|copy|environment|find_|for_|on_|packages|part$|step|with_|.*tools$"
)
SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg")


def parts() -> set[str]:
    """Return the parts of ``.ci/run``: its functions, but those that they call."""
    functions = re.findall(r"^(\w+)\(\) \{", CI, re.MULTILINE)
    return {name for name in functions if not HELPERS.match(name)}


def test_every_part_runs_in_a_workflow_and_is_in_the_table():
    """A part that none of them runs would hold nothing."""
    for part in parts():
        assert re.search(rf"(?:\.ci/run|part:).*\b{part}\b", WORKFLOWS), part
        assert part in {"tests", "night", "fuzzing"} or f"``{part}``" in TABLE, part


def test_markers_and_profiles_are_in_the_table():
    """What README's command leaves out, the others run."""
    for line in SETUP["tool:pytest"]["markers"].strip().splitlines():
        assert f"``{line.partition(':')[0]}``" in TABLE
    assert all(f"``{name}``" in TABLE for name in PROFILES)
    assert '-m "not slow and not thorough"' in SETUP["tool:pytest"]["addopts"]
    assert CI.count("export MANDELBOT_EXAMPLES=half\n") == 2  # "tests" and "slow"
    assert '-m pytest -n auto -m "slow and not thorough"' in CI
    assert (
        'MANDELBOT_EXAMPLES=random build/tools/bin/python -m pytest -q -n auto -m ""'
        in CI
    )


def test_a_number_of_examples_is_that_of_the_profile():
    """Hypothesis itself takes no share of a number that a test names."""
    for path in (ROOT / "tests").rglob("*.py"):
        assert not re.search(r"max_examples=\d", path.read_text(encoding="utf-8")), path
