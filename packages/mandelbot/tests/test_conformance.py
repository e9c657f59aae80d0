"""conformance/: the tables hold the cases, the runner runs, its page is true."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import docutils.core
import docutils.utils
import pytest
from schemas import fits

from mandelbot import DIALECTS

FOLDER = Path(__file__).parents[1] / "conformance"
MAKE = runpy.run_path(str(FOLDER / "make.py"))
RUN = runpy.run_path(str(FOLDER / "run.py"))
PARSERS = runpy.run_path(str(FOLDER / "parsers.py"))
PAGE = (FOLDER / "README.rst").read_text(encoding="utf-8")
SCHEMA = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [*MAKE["DOCUMENTS"], *MAKE["OTHERS"]])
def test_the_cases_are_those_of_the_tables(name):
    """`python conformance/make.py` would change nothing; and they are as the schema
    says.
    """
    text = (FOLDER / "cases" / f"{name}.jsonl").read_text(encoding="ascii")
    assert text == MAKE["lines_of"](name)
    assert all(fits(json.loads(line), SCHEMA, SCHEMA) for line in text.splitlines())


def test_every_file_is_one_of_a_document():
    """And every document has one."""
    assert {path.stem for path in RUN["FILES"]} == {*MAKE["DOCUMENTS"], *MAKE["OTHERS"]}


def test_the_schema_finds_wrong_cases():
    """A name that is not known, one that is missing, a value of another kind."""
    case = json.loads(MAKE["lines_of"]("rep2008").splitlines()[0])
    for wrong in (
        {"line": 0},
        {"line": "1"},
        {"expected": 1},
        {"url": None},
        {"more": 1},
    ):
        assert not fits(
            {**case, "questions": [{"expected": True, **wrong}]}, SCHEMA, SCHEMA
        )
    for wrong in (
        {"questions": []},
        {"input": {"file": "x"}},
        {"kind": 1},
        {"more": 1},
    ):
        assert not fits({**case, **wrong}, SCHEMA, SCHEMA)
    assert fits(case, SCHEMA, SCHEMA)


@pytest.mark.parametrize("name", [*sorted(DIALECTS), *MAKE["OTHERS"]])
def test_this_package_passes(name):
    """Every answer of every file, in each of its dialects, and of every other kind."""
    asked = 0
    for path in RUN["FILES"]:
        for case, question, expected in RUN["questions_of"](path, {name}):
            assert MAKE["plain"](PARSERS["mandelbot"](question)) == expected, case["id"]
            asked += 1
    assert asked > 10


def run(*arguments):
    return subprocess.run(
        [sys.executable, "run.py", *arguments],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_runner_prints_what_fails():
    """Counts for each file, failures on request, and an exit status."""
    good = run(f"{sys.executable} parsers.py mandelbot")
    assert (good.returncode, good.stderr) == (0, "")
    counts = re.findall(r"^\w+ +([\d,]+) of ([\d,]+)$", good.stdout, re.MULTILINE)
    assert len(counts) == good.stdout.count("\n") >= 5
    assert all(one == other for one, other in counts)
    bad = run("--failures", f"{sys.executable} parsers.py urllib", "rfc9309")
    assert bad.returncode == 1
    assert re.search(
        r"^  rfc9309/\d+, .+: .+ '.+': (True|False|'.+')$", bad.stdout, re.MULTILINE
    )


@pytest.mark.parametrize("command", ["true", f"{sys.executable} parsers.py no_parser"])
def test_a_program_that_does_not_answer_has_no_score(command):
    """Nor has one that answers other kinds alone."""
    done = run(command)
    assert done.returncode == 1
    assert ": 0 answers to " in done.stderr
    none = run(f"{sys.executable} parsers.py protego", "usage")
    assert (none.returncode, none.stdout) == (1, "all              0 of 0\n")


def test_a_program_that_stops_is_told_the_case(tmp_path):
    """And the question, so that it can be asked by itself."""
    program = tmp_path / "stops.py"
    program.write_text(
        "for n, line in enumerate(open(0)):\n"
        "    if n == 7: raise SystemExit('bad question')\n"
        "    print('{\"answer\": true}')\n"
    )
    done = run(f"{sys.executable} {program}", "rfc9309")
    assert done.returncode == 1
    said = re.search(
        r": 7 answers to [\d,]+ questions; the first .* is (\S+), ", done.stderr
    )
    asked = [
        one for path in RUN["FILES"] for one in RUN["questions_of"](path, {"rfc9309"})
    ]
    assert said[1] == asked[7][0]["id"]
    assert json.dumps(asked[7][1]) in done.stderr


def test_the_page_shows_what_the_runner_prints():
    """For Protego in the version that is named, where it is that one which is
    installed.
    """
    from importlib.metadata import version

    shown = re.search(
        r'    \$ python run.py "python parsers.py protego"\n((?:    .*\n)+)', PAGE
    )[1]
    text = "".join(f"{line[4:]}\n" for line in shown.splitlines())
    result = run(f"{sys.executable} parsers.py protego")
    assert result.returncode == 1
    if re.search(r"Protego ([\d.]*\d)", PAGE)[1] == version("protego"):
        assert result.stdout == text
    warnings = docutils.utils.Reporter.WARNING_LEVEL
    docutils.core.publish_doctree(PAGE, settings_overrides={"halt_level": warnings})


def test_the_table_of_the_page_has_this_packages_scores(monkeypatch):
    """``python conformance/table.py`` prints it."""
    monkeypatch.setitem(sys.modules, "run", SimpleNamespace(**RUN))
    table = runpy.run_path(str(FOLDER / "table.py"))
    scores, failures = RUN["score"](
        f"{sys.executable} {FOLDER / 'parsers.py'} mandelbot", table["NAMES"]
    )
    assert not failures
    cells = ["{} of {}".format(*scores[column]) for column in table["COLUMNS"]]
    assert re.search("(?m)^mandelbot .*" + " +".join(cells) + "$", PAGE)
    assert len(re.findall(r"(?m)^\S.* +\d+ of \d+ +\d+ of \d+ ", PAGE)) >= 8
