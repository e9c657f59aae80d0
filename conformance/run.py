"""Ask a parser of robots.txt files what the tables expect of it::

    python conformance/run.py MODULE:FUNCTION [DIALECT...] [--failures]

The function takes the octets of a file, the robot's name and a URL, and says whether it may be
fetched. Without dialects: for those of RFC 9309. Exit code 0: all is as expected.
"""

import base64
import json
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

TABLES = sorted(Path(__file__).parent.glob("tables/*.json"))
SITE = "https://www.example.com"


def answers(table, dialects, allowed):
    """Yield each question of the dialects, with what is expected and what the parser says."""
    for case in table["cases"]:
        if case["dialect"] not in dialects or "disputed" in case or isinstance(case["agent"], list):
            continue
        octets = (
            base64.b64decode(case["body_base64"])
            if "body_base64" in case
            else case["body"].encode()
        )
        for one in case["expected"]:
            is_path = one["url"].startswith("/") and case["dialect"] != "google"
            url = SITE * is_path + one["url"]
            try:
                said = bool(allowed(octets, case["agent"], url))
            except Exception as error:  # whatever it is, it is no answer
                said = repr(error)
            yield case, one, said


def main(arguments):
    """Print how many answers of each table are as expected, and with --failures the others."""
    module, _, function = "".join(arguments[:1]).partition(":")
    if not function:
        sys.exit(__doc__)
    dialects = {*arguments[1:]} - {"--failures"} or {"mandelbot", "rfc9309"}
    known = {case["dialect"] for path in TABLES for case in json.loads(path.read_text())["cases"]}
    for one in dialects - known:
        sys.exit(f"there is no dialect {one}: it is one of {', '.join(sorted(known))}")
    allowed, total = getattr(import_module(module), function), Counter()
    for path in TABLES:
        table = json.loads(path.read_text())
        found = [*answers(table, dialects, allowed)]
        failed = [one for one in found if one[2] != one[1]["allowed"]]
        total += Counter(asked=len(found), failed=len(failed))
        if found:
            print(f"{table['name']:<12}{len(found) - len(failed):>6} of {len(found)}")
        for case, one, said in failed if "--failures" in arguments else ():
            print(f"  {case['number']}, {case['section']}: {case['says']} {one['url']!r}: {said}")
    print(f"{'all':<12}{total['asked'] - total['failed']:>6} of {total['asked']}")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.path.insert(0, ".")
    sys.exit(main(sys.argv[1:]))
