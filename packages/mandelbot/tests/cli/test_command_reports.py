"""The reports by themselves: from parsed files to data and text."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from cases import findings as finding_cases
from hypothesis import given
from hypothesis import strategies as st

from mandelbot import DIALECTS
from mandelbot.cli.output import Terminal, TerminalStyle
from mandelbot.cli.output import check_report as findings
from mandelbot.cli.output import compare_report as comparison
from mandelbot.cli.output import explain_report as explanation
from mandelbot.cli.output import fix_report as correction
from mandelbot.cli.output import sitemaps_report as sitemaps
from mandelbot.cli.output.rules_in_force import Question, Rules
from mandelbot.findings import FINDINGS, Delivery
from mandelbot.fix import normalize
from mandelbot.formatting import printable

PLAIN = TerminalStyle(colours=False)

CORPUS = Path(
    os.environ.get("MANDELBOT_CORPUS")
    or Path(__file__).parents[5] / "shared" / "corpus"
)


# SearchTools, "Bad Examples - Common Wrong Entries", and "Examples of Robots.txt
# Entries".
REP2008_BAD = [
    (b"User-agent: googlebot\nDisallow /\n", {"missing-colon"}, 3),
    (b"User-agent: sidewiner\nDisallow: /tmp/\n", {"misspelt-agent"}, 1),
    (b"User-agent: MSNbot\nDisallow: /PRIVATE\n", {"capitals-in-path"}, 0),
    (
        (
            b"User-agent: *\nDisallow: /tmp/\n\nUser-agent: Weirdbot\nDisallow:"
            b" /links/listing.html\n"
        ),
        {"star-before-robots"},
        1,
    ),
    (b"User-agent: BadBot\nAllow: /a.html Disallow: /\n", {"several-directives"}, 3),
]
REP2008_GOOD = [
    b"User-agent: *\nDisallow:\n",
    b"User-agent: mybot\nDisallow: /\n",
    b"User-agent: *\nDisallow: /cgi-bin/\nDisallow: /tmp/\nDisallow: /private\n",
    b"User-agent: BadBot\nDisallow: /\n\nUser-agent: *\nDisallow: /*/private/*\n",
]


@pytest.mark.parametrize(("body", "codes", "exit_code"), REP2008_BAD)
def test_rep2008_bad_examples_are_told(body, codes, exit_code):
    """SearchTools, "Bad Examples - Common Wrong Entries": each has its finding."""
    report = findings.check(Rules("x", body))
    assert codes <= {one["code"] for one in report["findings"]}
    assert findings.exit_code(report) == exit_code
    assert all(
        f"[{code}]" in findings.text(report, PLAIN, in_full=True) for code in codes
    )


@pytest.mark.parametrize("body", REP2008_GOOD)
def test_rep2008_good_examples_are_clean(body):
    """SearchTools, "Examples of Robots.txt Entries": notes at most."""
    assert findings.exit_code(findings.check(Rules("x", body))) == 0


def test_what_is_said_often_is_explained_once():
    """A kind is one paragraph: its first finding, how many more there are and where,
    the reason.
    """
    body = b"User-agent: *\n" + b"".join(b"Disalow: /%d\n" % n for n in range(60))
    report = findings.check(Rules("x", body, delivery=Delivery(status=404)))
    text = findings.text(report, PLAIN, in_full=True)
    assert text.count("Most robots skip the line; Google's") == 1
    assert text.count("[misspelt-field]") == 1
    assert "And 59 more, lines 3, 4, 5, 6, 7, …." in " ".join(text.split())
    assert report["counts"] == {"error": 60, "warning": 0, "note": 2}


def test_colours_are_for_terminals_only():
    """NO_COLOR switches them off, and so does a pipe; they change nothing else."""
    report = findings.check(Rules("x", b"User-agent: *\nDisalow: /\n"))

    class Screen(io.StringIO):
        encoding = "utf-8"

        def isatty(self):
            return True

    class Pipe(Screen):
        def isatty(self):
            return False

    written = {}
    cases = [("tty", Screen, {}), ("no", Screen, {"NO_COLOR": "1"}), ("pipe", Pipe, {})]
    for name, kind, environ in cases:
        out = kind()
        terminal = Terminal(out, kind(), environ)
        terminal.progress("asking")
        terminal.write(findings.text(report, terminal.paint))
        written[name] = out.getvalue()
        assert bool(terminal._err.getvalue()) == (kind is Screen)
    assert written["no"] == written["pipe"] == findings.text(report, PLAIN)
    assert "\x1b[31;1merror\x1b[0m" in written["tty"]
    for code in ("31;1", "33", "36", "2", "0"):
        written["tty"] = written["tty"].replace(f"\x1b[{code}m", "")
    assert written["tty"] == written["pipe"]


def test_characters_that_a_terminal_cannot_show_are_escaped():
    """A cut text ends with an ellipsis, which Latin-1 has not."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="\n")
    Terminal(out, out, {}).write("a…\n")
    assert out.buffer.getvalue() == b"a\\u2026\n"


@given(st.text())
def test_output_has_no_terminal_control_characters(text):
    """Printable signs stay, others become escapes."""
    assert printable(text).isprintable()
    assert printable(text) == text or not text.isprintable()


def test_control_characters_of_a_corrected_file_are_escaped():
    """On a screen: signs that are not printable as escapes, a tab as a space; also in
    the diff.
    """
    body = b"User-agent:\t*\nDisallow: /\x1b[2J\n#\ta\n"
    report = correction.corrected(Rules("x", body), normalize(body))
    assert "\x1b" in report["text"]
    assert "Disallow: /\\x1b[2J\n" in correction.text_shown(report)
    shown_diff = correction.diff_shown(report, PLAIN)
    assert "-User-agent: *\n" in shown_diff
    assert shown_diff.replace("\n", "").isprintable()


PATHS = st.text(alphabet="ab/*$?%#é ", max_size=8).map(lambda text: f"/{text}")
LINES = st.one_of(
    st.sampled_from(
        ["User-agent: *", "User-agent: bot", "User-agent: other", "", "# x"]
    ),
    st.sampled_from(["Robot-version: 2.0", "Crawl-delay: 1", "Disallow:", "Allow:"]),
    st.builds("{}: {}".format, st.sampled_from(["Allow", "Disallow"]), PATHS),
)


def test_every_kind_of_finding_has_a_text():
    """Whatever the case tables of findings hold: data that JSON takes, text within 80
    columns.
    """
    bodies = [case.octets for case in finding_cases.CASES]
    assert len(bodies) > 50
    for body in bodies:
        report = findings.check(
            Rules("x", body, delivery=Delivery(status=503, seconds=11.0))
        )
        assert {one["code"] for one in report["findings"]} <= set(FINDINGS)
        json.dumps(report)
        lines = findings.text(report, PLAIN).splitlines()
        assert max(map(len, lines)) <= 80 or any(
            " " not in line.strip() for line in lines
        )


@pytest.mark.skipif(not (CORPUS / "robots").is_dir(), reason=f"no corpus in {CORPUS}")
def test_real_files_are_reported():
    """Every 35th real file through every report: data that JSON takes, text that is
    printable.
    """
    files = sorted((CORPUS / "robots").iterdir())[::35]
    assert len(files) >= 30
    for path in files:
        body, name = path.read_bytes(), path.name
        url = "https://www.example.com/search?q=1"
        question = Question(url, "Googlebot", Rules(name, body))
        reports = [
            (findings, findings.check(question.rules)),
            (explanation, explanation.explain(question, DIALECTS["mandelbot"])),
            (comparison, comparison.compare(question)),
            (sitemaps, sitemaps.cited(question.rules)),
        ]
        for module, report in reports:
            json.dumps(report)
            text = module.text(report, PLAIN)
            assert text.replace("\n", "").isprintable(), name
        if len(body) < 5_000:
            corrected = normalize(body, max_decisions=2_000)
            report = correction.corrected(question.rules, corrected)
            json.dumps(report)
            assert report["proof"]["different"] == 0, name
