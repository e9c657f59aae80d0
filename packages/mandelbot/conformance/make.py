"""Write the cases of this folder anew, from the tables of the tests::

    python conformance/make.py

One file a document, ``cases/NAME.jsonl``, with a case in each line, as ``schema.json``
describes it. The tests hold the files equal to the tables.
"""

from __future__ import annotations

import base64
import json
import sys
from datetime import datetime
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
SITE = "https://www.example.com"
DOCUMENTS = {
    "mandelbot": 'Mandelbot, "Support for robots.txt"',
    "rfc9309": "RFC 9309, Robots Exclusion Protocol",
    "google": "Google's open-source parser (google/robotstxt)",
    "rep1994": "A Standard for Robot Exclusion (1994)",
    "rep2008": 'SearchTools, "About Robots.txt" (2008)',
    "moderatobot": 'Moderatobot, "Checking robots.txt theory"',
    "extended2": "An Extended Standard for Robot Exclusion (2.0)",
    "decided": "Decided by mandelbot where the documents are silent",
}
OTHERS = ("sitemaps", "robot_tags", "usage")


def main() -> None:
    """Write all files."""
    (HERE / "cases").mkdir(exist_ok=True)
    for name in (*DOCUMENTS, *OTHERS):
        (HERE / "cases" / f"{name}.jsonl").write_text(lines_of(name), encoding="ascii")


def lines_of(name: str) -> str:
    """Return the lines of a file."""
    tests = str(HERE.parent / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    module = import_module(f"cases.{name}")
    find = globals().get(f"_{name}", _allowed)
    cases = [
        {"id": f"{name}/{number}", **case}
        for number, case in enumerate(find(module, name), 1)
    ]
    return "".join(json.dumps(case) + "\n" for case in cases)


def _allowed(module, name):
    for case in module.CASES:
        lines = dict(case.lines)
        answers = dict.fromkeys(case.allowed, True) | dict.fromkeys(
            case.forbidden, False
        )
        dialect = case.dialect or module.DIALECT
        is_path = dialect != "google"
        questions = [
            {
                "url": SITE * (is_path and url.startswith("/")) + url,
                "expected": allowed,
                **({"line": lines[url]} if url in lines else {}),
            }
            for url, allowed in answers.items()
        ]
        if questions:
            yield {
                "kind": "allowed",
                "source": DOCUMENTS[name],
                "section": case.section,
                "says": case.says,
                "dialect": dialect,
                "input": {
                    **_text("robots_txt", case.octets),
                    "agent": _names(case.agent),
                },
                "questions": questions,
                **({"disputed": case.gap} if case.gap else {}),
            }


def _sitemaps(module, _):
    for case in module.CASES:
        yield {
            "kind": "sitemap",
            **_source(case.document, ", "),
            "says": case.says,
            "input": {**_text("sitemap", case.octets), "url": module.URL},
            "questions": [{"expected": [entry.loc for entry in case.entries]}],
        }


def _robot_tags(module, _):
    for case in module.CASES:
        yield {
            "kind": "robot_tags",
            **_source(case.section, ", '"),
            "says": case.says,
            "input": {
                "headers": [list(header) for header in case.all_headers],
                **_text("page", case.octets),
                "agent": _names(case.agent),
            },
            "questions": [{"expected": plain(case.means)}],
        }


def _usage(module, _):
    for case in module.CASES:
        yield {
            "kind": "usage",
            "source": case.document,
            "section": case.section,
            "says": case.says,
            "input": {
                **_text("robots_txt", case.file),
                "url": case.url,
                "agent": _names(case.agent),
                "headers": [list(header) for header in case.headers],
                **_text("page", case.octets),
                **({} if case.tdmrep is None else {"tdmrep": case.tdmrep}),
            },
            "questions": [{"expected": case.means}],
        }


def _source(text, before_the_section):
    source, _, section = text.partition(before_the_section)
    return {
        "source": source,
        "section": section.removesuffix("'").replace("', '", ", "),
    }


def _names(agent):
    return agent if isinstance(agent, str) else list(agent)


def plain(value):
    """Return a value as JSON has it: a time in ISO 8601, a set as a sorted list."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return value


def _text(name, octets):
    try:
        return {name: octets.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(octets).decode("ascii")}


if __name__ == "__main__":
    main()
