"""docs/findings.rst and docs/corrections.rst match the code."""

from __future__ import annotations

import ast
import doctest
import re
import runpy
from pathlib import Path

import docutils.core
import docutils.utils
import pytest

from mandelbot.findings import FINDINGS, Delivery, Severity, lint, lint_delivery

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "findings.rst").read_text(encoding="utf-8")
EXAMPLES = runpy.run_path(str(DOCS / "examples.py"))
SECTIONS = dict(EXAMPLES["SECTION"].findall(PAGE))


def octets(text):
    """Return what an example of a file stands for."""
    text = re.sub(r"\[([^\[\]]+) (\d+) times\]", lambda run: run[1] * int(run[2]), text)
    return text.encode().decode("unicode_escape").encode("latin-1")


def delivery(text):
    """Return a Delivery with these arguments."""
    call = ast.parse(f"Delivery({text})", mode="eval").body
    return Delivery(
        **{word.arg: ast.literal_eval(word.value) for word in call.keywords}
    )


def lines(findings, code):
    """Return where there is a finding of this code."""
    return [finding.line for finding in findings if finding.code == code]


def test_the_page_explains_each_severity():
    """Each once, before the entries that begin with it."""
    listed = re.findall(
        r"^\*([a-z]+)\*\n    ", PAGE.partition("\n\n\n")[0], re.MULTILINE
    )
    assert listed == [severity.name.lower() for severity in reversed(Severity)]


def test_each_finding_has_its_section():
    """Every finding is explained, in the order of the catalogue."""
    assert list(SECTIONS) == list(FINDINGS)


@pytest.mark.parametrize("code", list(FINDINGS))
def test_the_section_says_what_the_code_says(code):
    """Severity, text and reason are those of the code, and the example gives the
    finding.

    At the line said, and the good example does not.
    """
    kind, section = FINDINGS[code], SECTIONS[code]
    said = " ".join(section.replace("\\*", "*").split())
    assert said.startswith(f"*{kind.severity}* {kind.text} {kind.why} ")
    example = EXAMPLES["examples"](PAGE)[code]
    if "line" in example:
        assert lines(lint(octets(example["found"])), code) == [example["line"]]
        assert lines(lint(octets(example["clean"])), code) == []
    else:
        assert len(lines(lint_delivery(delivery(example["found"])), code)) == 1
        assert lines(lint_delivery(delivery(example["clean"])), code) == []


def test_the_command_has_the_examples_of_the_page():
    """``python docs/examples.py`` writes them."""
    assert EXAMPLES["FILE"].read_text("utf-8") == EXAMPLES["written"](PAGE)


@pytest.mark.parametrize("name", ["findings.rst", "corrections.rst"])
def test_the_sessions_are_real(name):
    """What the pages show at a prompt is true, and docutils has no warning."""
    page = (DOCS / name).read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(page, {}, name, name, 0)
    runner = doctest.DocTestRunner(verbose=False)
    assert runner.run(test).failed == 0
    assert runner.summarize(verbose=False).attempted >= 4
    warnings = docutils.utils.Reporter.WARNING_LEVEL
    docutils.core.publish_doctree(page, settings_overrides={"halt_level": warnings})
