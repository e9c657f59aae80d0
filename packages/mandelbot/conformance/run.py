"""Ask a program the questions of the cases, and score its answers::

    python conformance/run.py [--failures] COMMAND [NAME ...]

The command reads a question a line from standard input, as JSON: ``kind``, ``dialect``
and ``input`` of the case, and its ``url``. For each it writes a line: ``{"answer":
true}``, or ``{"answer": null}`` if it does not answer that kind; such questions do not
count. A name is that of a dialect, or ``sitemaps``, ``robot_tags`` or ``usage``;
without names, it is asked as a robot that follows RFC 9309.
Exit status 0: all answers are as expected.
"""

import json
import shlex
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

FILES = sorted(Path(__file__).parent.glob("cases/*.jsonl"))
TODAY = {"mandelbot", "rfc9309"}  # dialects


def questions_of(path, names):
    """Yield the questions of a file that are asked, and what is expected."""
    for line in path.read_text("utf-8").splitlines():
        case = json.loads(line)
        if "disputed" in case or case.get("dialect", path.stem) not in names:
            continue
        for one in case["questions"]:
            asked = {"url": one["url"]} if "url" in one else {}
            question = {
                name: case[name]
                for name in ("kind", "dialect", "input")
                if name in case
            }
            yield case, question | asked, one["expected"]


def score(command, names):
    """Return for each file how many answers are as expected, of how many, and the
    others.
    """
    asked = [(path.stem, *one) for path in FILES for one in questions_of(path, names)]
    text = "".join(json.dumps(question) + "\n" for _, _, question, _ in asked)
    run = subprocess.run(
        shlex.split(command), input=text, stdout=subprocess.PIPE, text=True, check=False
    )
    answers = [*map(answer_in, takewhile(is_answer, run.stdout.splitlines()))]
    if len(answers) != len(asked):
        count = f"{len(answers):,} answers to {len(asked):,} questions"
        sys.exit(f"{command}: {count}{_stopped_at(asked[len(answers) :])}")
    scores = {}
    failures = []
    for (name, case, question, expected), answer in zip(asked, answers, strict=True):
        if answer is not None:
            good, total = scores.get(name, (0, 0))
            scores[name] = good + (answer == expected), total + 1
            if answer != expected:
                failures.append((case, question, answer))
    return scores, failures


def is_answer(line):
    """Return whether a line is a JSON object."""
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def answer_in(line):
    """Return the answer in a line; None: the program gives none."""
    return json.loads(line).get("answer")


def _stopped_at(left):
    """Say which case a program did not answer; empty: it wrote too many lines."""
    for _, case, question, _ in left[:1]:
        where = f"{case['id']}, {case['section']}: {case['says']}"
        return f"; the first without one is {where} {json.dumps(question)}"
    return ""


def main(arguments):
    """Print the scores, and with --failures the answers that are not as expected."""
    command, *names = [one for one in arguments if one != "--failures"] or sys.exit(
        __doc__
    )
    scores, failures = score(command, set(names) or TODAY)
    for case, question, answer in failures if "--failures" in arguments else ():
        where = f"{case['id']}, {case['section']}: {case['says']}"
        print(f"  {where} {question.get('url', '')!r}: {answer!r}")
    for name, (good, total) in scores.items():
        print(f"{name:<12}{good:>6,} of {total:,}")
    good, total = (sum(one[place] for one in scores.values()) for place in (0, 1))
    print(f"{'all':<12}{good:>6,} of {total:,}")
    return 0 if total and good == total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
