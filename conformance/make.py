"""Write the tables of this folder anew, from the cases of the tests::

    python conformance/make.py

One file a document, ``tables/NAME.json``, as ``schema.json`` describes it. The tests hold the files
equal to the cases.
"""

from __future__ import annotations

import base64
import json
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
DOCUMENTS = {
    "mandelbot": 'Mandelbot, "Support for robots.txt"',
    "rfc9309": "RFC 9309, Robots Exclusion Protocol",
    "google": "What Google's open-source parser does",
    "rep1994": "A Standard for Robot Exclusion (1994)",
    "rep2008": 'SearchTools, "About Robots.txt" (2008)',
    "moderatobot": 'Moderatobot, "Checking robots.txt theory"',
    "extended2": "An Extended Standard for Robot Exclusion (2.0)",
    "decided": "Decided by scrapy-mandelbot where the documents are silent",
}


def main() -> None:
    for name in DOCUMENTS:
        (HERE / "tables" / f"{name}.json").write_text(table_text(name), encoding="ascii")


def table_text(name: str) -> str:
    """Return a document's table as it stands in its file."""
    if str(HERE.parent / "tests") not in sys.path:
        sys.path.append(str(HERE.parent / "tests"))
    module = import_module(f"cases.{name}")
    decided = (case for case in module.CASES if case.allowed or case.forbidden)
    cases = [_case(number, case, module.DIALECT) for number, case in enumerate(decided, 1)]
    table = {"document": DOCUMENTS[name], "name": name, "cases": cases}
    return json.dumps(table, indent=1) + "\n"


def _case(number, case, dialect):
    octets = case.octets
    lines = dict(case.lines)
    answers = dict.fromkeys(case.allowed, True) | dict.fromkeys(case.forbidden, False)
    return {
        "number": number,
        "section": case.section,
        "says": case.says,
        "dialect": case.dialect or dialect,
        **_body(octets),
        "agent": case.agent if isinstance(case.agent, str) else list(case.agent),
        "expected": [
            {"url": url, "allowed": allowed, **({"line": lines[url]} if url in lines else {})}
            for url, allowed in answers.items()
        ],
        **({"disputed": case.gap} if case.gap else {}),
    }


def _body(octets):
    try:
        text = octets.decode("utf-8")
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(octets).decode("ascii")}
    return {"body": text}


if __name__ == "__main__":
    main()
