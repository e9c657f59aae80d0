"""The README says what is there, and all of it."""

from __future__ import annotations

import re

import docutils.core
import docutils.utils
import pytest
from pages import README, ROOT


def commands() -> list[str]:
    """Return the commands for a fresh machine."""
    blocks = re.findall(r"\.\. code-block:: console\n\n((?:    .*\n)+)", README)
    return [block.strip() for block in blocks if "venv" in block]


def test_ci_runs_the_second_command_letter_for_letter():
    """What a newcomer types to pass the tests is what is run before anything lands."""
    _sample, test = commands()
    assert test in (ROOT / ".ci" / "run").read_text().splitlines()


DOCUMENTS = [path.relative_to(ROOT) for path in ROOT.glob("**/*.rst")]
INSTALLED = {".venv", "venv", "build"}
FOR_SPHINX = {"docs/api.rst", "docs/index.rst", "docs/recipes/index.rst"}  # it reads all of docs


@pytest.mark.parametrize(
    "path",
    [path for path in DOCUMENTS if path.parts[0] not in INSTALLED and str(path) not in FOR_SPHINX],
    ids=str,
)
def test_documents_are_well_formed(path):
    """Every .rst file can be rendered without a complaint."""
    text = (ROOT / path).read_text()
    docutils.core.publish_string(
        text,
        source_path=str(ROOT / path),
        writer="null",
        settings_overrides={
            "halt_level": docutils.utils.Reporter.INFO_LEVEL + 1,
            "report_level": docutils.utils.Reporter.SEVERE_LEVEL,
        },
    )
