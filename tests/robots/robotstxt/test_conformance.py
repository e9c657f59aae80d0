"""conformance/: the tables are those of the cases, the runner runs, its page is true."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import docutils.core
import docutils.utils
import pytest

from scrapy_mandelbot.robots.robotstxt import DIALECTS, RobotsTxt

FOLDER = Path(__file__).parents[3] / "conformance"
MAKE = runpy.run_path(str(FOLDER / "make.py"))
RUN = runpy.run_path(str(FOLDER / "run.py"))
PAGE = (FOLDER / "README.rst").read_text(encoding="utf-8")
SCHEMA = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}


def fits(value, schema):
    """Whether a value is as the schema says, by the words that it uses."""
    if "$ref" in schema:
        return fits(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(
        value is None if one == "null" else type(value) is TYPES[one] for one in types
    ):
        return False
    if "oneOf" in schema and sum(fits(value, one) for one in schema["oneOf"]) != 1:
        return False
    if isinstance(value, dict):
        known = schema.get("properties", {})
        closed = schema.get("additionalProperties", True) is False
        return (
            set(schema.get("required", ())) <= value.keys()
            and not (closed and value.keys() - known.keys())
            and all(fits(value[name], one) for name, one in known.items() if name in value)
        )
    if isinstance(value, list):
        items = schema.get("items", {})
        return len(value) >= schema.get("minItems", 0) and all(fits(one, items) for one in value)
    return not isinstance(value, int) or value >= schema.get("minimum", value)


@pytest.mark.parametrize("name", sorted(MAKE["DOCUMENTS"]))
def test_the_table_is_that_of_the_cases(name):
    """`python conformance/make.py` would change nothing; and it is as the schema says."""
    text = (FOLDER / "tables" / f"{name}.json").read_text(encoding="ascii")
    assert text == MAKE["table_text"](name)
    assert fits(json.loads(text), SCHEMA)


def test_every_table_is_one_of_a_document():
    """And every document has one."""
    assert {path.stem for path in RUN["TABLES"]} == MAKE["DOCUMENTS"].keys()


def test_the_schema_tells_wrong_tables():
    """A name that is not known, one that is missing, a value of another kind."""
    table = json.loads(MAKE["table_text"]("rep2008"))
    for wrong in ({"line": 0}, {"line": "1"}, {"allowed": 1}, {"url": None}, {"more": 1}):
        case = {**table["cases"][0], "expected": [{"url": "/", "allowed": True, **wrong}]}
        assert not fits({**table, "cases": [case]}, SCHEMA)
    for wrong in ({"expected": []}, {"body_base64": "x"}, {"agent": 1}, {"number": 0}):
        assert not fits({**table, "cases": [{**table["cases"][0], **wrong}]}, SCHEMA)
    assert fits(table, SCHEMA)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_this_package_passes(dialect):
    """Every answer of every table, in each of its dialects."""

    def allowed(octets, agent, url):
        return RobotsTxt.parse(octets, dialect=dialect).allowed(url, agent)

    asked = 0
    for path in RUN["TABLES"]:
        table = json.loads(path.read_text(encoding="ascii"))
        for case, one, said in RUN["answers"](table, [dialect], allowed):
            assert said == one["allowed"], (table["name"], case["number"])
            asked += 1
    assert asked > 30


def run(*arguments):
    return subprocess.run(
        [sys.executable, "run.py", *arguments],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_runner_tells_what_fails():
    """How many of each table, each failure where that is asked for, and an exit code."""
    good = run("parsers:mandelbot")
    assert (good.returncode, good.stderr) == (0, "")
    counts = re.findall(r"^\w+ +(\d+) of (\d+)$", good.stdout, re.MULTILINE)
    assert len(counts) == good.stdout.count("\n") >= 5
    assert all(one == other for one, other in counts)
    bad = run("parsers:urllib", "rfc9309", "--failures")
    assert bad.returncode == 1
    assert re.search(r"^  \d+, .+: .+ '/.+': (True|False|'.+Error.*')$", bad.stdout, re.MULTILINE)


def test_the_page_shows_what_the_runner_prints():
    """For Protego in the version that is named, where it is that one which is installed."""
    from importlib.metadata import version

    shown = re.search(r"    \$ python run.py parsers:protego\n((?:    .*\n)+)", PAGE)[1]
    text = "".join(f"{line[4:]}\n" for line in shown.splitlines())
    result = run("parsers:protego")
    assert result.returncode == 1
    if re.search(r"Protego ([\d.]*\d)", PAGE)[1] == version("protego"):
        assert result.stdout == text
    warnings = docutils.utils.Reporter.WARNING_LEVEL
    docutils.core.publish_doctree(PAGE, settings_overrides={"halt_level": warnings})


def test_the_runner_can_be_read_in_a_minute():
    """Fifty lines of code and no more."""
    text = (FOLDER / "run.py").read_text(encoding="utf-8")
    lines = text.partition('"""\n\n')[2].splitlines()
    assert len([line for line in lines if line.strip()]) <= 50


def test_a_dialect_that_is_none_is_an_error():
    """All of no questions is nothing that a parser passes."""
    done = run("parsers:protego", "gogle")
    assert done.returncode == 1
    assert "there is no dialect gogle: it is one of " in done.stderr
