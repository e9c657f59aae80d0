"""The README is short and correct; every document is well formed."""

from __future__ import annotations

import ast
import re
import sys
import textwrap

import docutils.core
import docutils.utils
import pytest
from pages import PAGES, README, ROOT, page

sys.path.insert(0, str(ROOT / "benchmarks"))
from quotes import PAGES as QUOTING
from quotes import QUOTES, RESULTS, with_figures


def commands() -> list[str]:
    """Return the commands for a fresh machine."""
    blocks = re.findall(r"\.\. code-block:: console\n\n((?:    .*\n)+)", README)
    return [block.strip() for block in blocks if "-m venv" in block]


def test_it_is_short():
    """The install line is in the first screen, and the whole page is fewer than 100
    lines.
    """
    assert len(README.partition("pip install ")[0].split()) <= 120
    assert README.count("\n") < 100


def test_its_links_lead_somewhere():
    """Every page and picture that it names is a file of the repository."""
    named = re.findall(r"<([\w/.]+)>`_|image:: (\S+)", README)
    assert len(named) > 20
    for document, picture in named:
        assert (ROOT / (document or picture)).is_file()


def test_figures_are_what_the_command_printed():
    """The tables of the comparison are in the results of the benchmarks."""
    results = (ROOT / "benchmarks" / "RESULTS.rst").read_text(encoding="utf-8")
    printed = re.findall(r"(?m)^=+(?:  =+)+\ntrouble .*\n(?:.+\n)+", page("compare"))
    assert len(printed) == 1
    assert textwrap.indent(printed[0], "    ") in results


def test_the_picture_shows_what_the_first_row_says():
    """One run of it: its refusals are within those of all runs."""
    row = page("compare").partition("\na 503 for five seconds  ")[2].partition("\n")[0]
    stock, _, ours = re.findall(r"(\d+ of \d+), ([\d\u2013]+) refusals", row)
    picture = (ROOT / "docs" / "pictures" / "outage.svg").read_text(encoding="utf-8")
    drawn = re.findall(r"(\d+ of \d+) pages, (\d+) refusals", picture)
    assert drawn[0] == stock
    least, most = map(int, ours[1].split("\u2013"))
    assert drawn[1][0] == ours[0]
    assert least <= int(drawn[1][1]) <= most


def test_the_results_name_the_gates_as_they_are_held():
    """``python benchmarks/results.py gates`` writes them anew."""
    tree = ast.parse((ROOT / "benchmarks" / "gates.py").read_text(encoding="utf-8"))
    gates = next(
        ast.literal_eval(one.value)
        for one in tree.body
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "GATES"
    )
    results = (ROOT / "benchmarks" / "RESULTS.rst").read_text(encoding="utf-8")
    printed = re.findall(r"^    (\S.*?) +[\d.]+  gate +([\d.]+)", results, re.MULTILINE)
    assert {name: float(gate) for name, gate in printed} == gates


@pytest.mark.parametrize("page", QUOTING)
def test_a_page_quotes_the_figures_of_the_results(page):
    """``python benchmarks/quotes.py`` writes them into it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    printed = RESULTS.read_text(encoding="utf-8")
    assert with_figures(page, text, printed) == text


def test_a_figure_that_no_command_printed_stops_the_results():
    """Rather than leave an old one on the page."""
    page = QUOTES[0].page
    text = (ROOT / page).read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"no (line|table) "):
        with_figures(page, text, "(not run)")


def test_the_results_are_one_page():
    """A command writes it, and it has all that the command writes."""
    results = (ROOT / "benchmarks" / "RESULTS.rst").read_text(encoding="utf-8")
    assert results.count("\n") <= 170
    programs = re.findall(
        r"^``python benchmarks/(\w+\.py).*``::$", results, re.MULTILINE
    )
    assert len(programs) == 7
    assert all((ROOT / "benchmarks" / name).is_file() for name in programs)


def test_documents_name_benchmarks_that_are_there():
    """A figure comes with the command that prints it."""
    for path in (ROOT / "README.rst", *PAGES):
        for name in re.findall(
            r"benchmarks/(\w+\.\w+)", path.read_text(encoding="utf-8")
        ):
            assert (ROOT / "benchmarks" / name).is_file(), path


def test_ci_runs_the_second_command_letter_for_letter():
    """What a newcomer types to pass the tests is what is run before anything lands."""
    _sample, test = commands()
    assert test in (ROOT / ".ci" / "run").read_text().splitlines()


DOCUMENTS = [path.relative_to(ROOT) for path in ROOT.glob("**/*.rst")]
INSTALLED = {".venv", "venv", "build"}
FOR_SPHINX = {
    "docs/api.rst",
    "docs/changes.rst",
    "docs/index.rst",
    "docs/recipes/index.rst",
    "packages/mandelbot/docs/api.rst",
    "packages/mandelbot/docs/index.rst",
}  # it reads all pages


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in DOCUMENTS
        if path.parts[0] not in INSTALLED and str(path) not in FOR_SPHINX
    ],
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
