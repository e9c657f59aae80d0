"""What the package costs a crawl in instructions.

They repeat, where CPU seconds swing by 10 %.

Usage::

    python benchmarks/instructions.py MODE ... [--by-function] [--gate N]

page     thousand instructions a page of one site: stock Scrapy obeying robots.txt,
         all of the package, and the ratio
site     thousand instructions a new site, with its robots.txt and three pages: the
         same
calls    functions of the package called for an ordinary page of one site, and their
         bytecodes
job      what a page costs with a JOBDIR, stock Scrapy's and the package's: thousand
         instructions, with the links that the other modes have, and with twenty new
         ones; the greater ratio
refusal  functions of the package called for a 503, from the download handler until the
         scheduler has the request again; a stop is a step into another module
queue    bytecodes of a push and a pop, with all that they call, in a crawl of ten sites
         that obeys robots.txt, stock Scrapy's and the package's; the package's among
         200,000 sites that wait, beside those among ten: pushes for new sites and for
         known ones, and the first pop of a site; the greater ratio to stock

Figures of a page or site are those of a crawl of 350 less one of 100, over 250: the
start and the end of a crawl are not in it. The crawls are those of
``without_network.py``. Instructions are counted by valgrind (a Debian package). Full
garbage collections are put off: one more or less, by chance, is 1 % of such a crawl.
For a new site, which is a small difference of large numbers, there are no collections
at all, and none of the hundred tasks that Scrapy makes for the items of a page: when
the collector runs, and where in a set a task comes to lie, changes with each object
that anything makes, by some hundred thousand instructions a site. One tree repeats to a
thousandth of what is over stock; another path, or other names that hash otherwise,
change it by 1 to 2 %: gates hold bytecodes, which do not. With ``--gate`` it exits with
1 if the figure (calls, refusal: calls, else the ratio) is above the one given. It exits
with 1 also where it cannot be taken.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

from without_network import FEW_SITES, PAGES_OF_A_SITE

HERE = Path(__file__).parent
FEW = 100
MANY = 350
MANY_SITES = 200_000
# Order of sets, names of temporary files: the same each time. No site packages of the
# user, and the package that stands beside this file, whichever is installed.
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(HERE.parent),
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "LC_ALL": "C.UTF-8",
}


def crawl(*crawls: str, under: tuple[str, ...] = ()) -> list[Any]:
    """Make these crawls of ``without_network.py``; return what each has counted."""
    command = [*under, sys.executable, str(HERE / "without_network.py"), *crawls]
    run = subprocess.run(
        command, cwd=HERE, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    if run.returncode or run.stderr:
        sys.exit(f"{' '.join(command)}: exit code {run.returncode}\n{run.stderr}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def of_one(crawls: list[float]) -> list[float]:
    """Return the figures of one page or site: of each crawl of many, less the one of
    few.
    """
    return [
        (many - few) / (MANY - FEW)
        for few, many in zip(crawls[::2], crawls[1::2], strict=True)
    ]


def thousands(shape: str, count: str = "", form: str = "") -> list[float]:
    """Return the thousand instructions a page or site of stock Scrapy and of the
    package.
    """
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is needed: apt-get install valgrind")
    crawls = [
        f"{variant}{form},{shape},{number},{count}"
        for variant in ("stock", "package")
        for number in (FEW, MANY)
    ]
    crawl(*crawls[::2])  # all is compiled before anything is counted
    with tempfile.TemporaryDirectory() as folder:
        tool = "valgrind", "--tool=cachegrind", "--cache-sim=no", "--branch-sim=no"
        out = "--cachegrind-out-file=/dev/null", f"--log-file={folder}/%p"
        logs = [
            Path(folder, str(pid)).read_text()
            for pid in crawl(*crawls, under=(*tool, *out))
        ]
    found = [re.search(r"I\s+refs:\s+([\d,]+)", log)[1] for log in logs]
    return of_one([int(number.replace(",", "")) / 1_000 for number in found])


def compare(what: str, stock: float, package: float) -> float:
    """Print two figures and their ratio; return it."""
    ratio = package / stock
    more = package - stock
    print(f"{what:<46}{stock:>9,.0f}{package:>9,.0f}{more:>+8,.0f}{ratio:>8.4f}")
    return ratio


def head(what: str, one: str = "stock", other: str = "package") -> None:
    print(f"{what:<46}{one:>9}{other:>9}{'more':>8}{'ratio':>8}")


def page() -> float:
    head("thousand instructions")
    return compare("a page of one site", *thousands("page"))


def site() -> float:
    head("thousand instructions")
    what = f"a new site: its robots.txt and {PAGES_OF_A_SITE} pages"
    return compare(what, *thousands("site", "still"))


def job() -> float:
    head("thousand instructions, with JOBDIR")
    shapes = {
        "page": "a page with few new links",
        "links": "a page with twenty of them",
    }
    return max(
        compare(name, *thousands(shape, "", "-job")) for shape, name in shapes.items()
    )


def calls(*, by_function: bool) -> float:
    few, many = crawl(f"package,page,{FEW},code", f"package,page,{MANY},code")
    each, bytecodes = (
        {name: (two[name] - one.get(name, 0)) / (MANY - FEW) for name in two}
        for one, two in zip(few, many, strict=True)
    )
    print(
        f"calls of functions of scrapy_mandelbot for a page: {sum(each.values()):.1f};"
        f" bytecodes in them: {sum(bytecodes.values()):,.0f}"
    )
    if by_function:
        for name, number in sorted(each.items(), key=lambda item: (-item[1], item[0])):
            if number >= 0.005:
                print(f"  {number:>8.2f}{bytecodes[name]:>10.1f}  {name}")
    return sum(each.values())


def way(called: list[str]) -> dict[str, int]:
    """Return how many calls it takes, steps into another module, and modules."""
    modules = [name.partition(":")[0] for name in called]
    stops = 1 + sum(one != other for one, other in pairwise(modules))
    return {"calls": len(modules), "stops": stops, "modules": len(set(modules))}


def refusal(*, by_function: bool) -> float:
    (traced,) = crawl("package,refusal,1,trace")
    print("a 503 from the download handler until the scheduler has the request again")
    for name, figure in way([name for name, _ in traced]).items():
        print(f"  {name:<10}{figure:>5}")
    if by_function:
        for name, depth in traced:
            print(f"  {'  ' * depth}{name.replace(':', '.')}")
    return len(traced)


def queue_costs(many_sites: int) -> dict[str, tuple[float, float]]:
    """Return the bytecodes of pushes and pops: of stock and of the package, or of few
    and many sites that wait.
    """
    crawls = ("stock", FEW_SITES), ("package", FEW_SITES), ("package", many_sites)
    stock, few, many = crawl(*(f"{variant},queue,{n},queue" for variant, n in crawls))
    new = slice(FEW_SITES)
    known = slice(FEW_SITES, 2 * FEW_SITES)
    return {
        "push, 10 sites": (mean(stock["push"]), mean(few["push"])),
        "pop, 10 sites": (mean(stock["pop"]), mean(few["pop"])),
        "push for a new site": (mean(few["push"][new]), mean(many["push"][new])),
        "push for a known site": (mean(few["push"][known]), mean(many["push"][known])),
        "first pop of a site": (mean(few["pop"][new]), mean(many["pop"][new])),
    }


def queue() -> float:
    costs = list(queue_costs(MANY_SITES).items())
    head("bytecodes")
    ratio = max([compare(name, *figures) for name, figures in costs[:2]])
    head("bytecodes, by sites that wait", f"{FEW_SITES}", f"{MANY_SITES:,}")
    for name, figures in costs[2:]:
        compare(name, *figures)
    return ratio


MODES = {one.__name__: one for one in (page, site, calls, job, refusal, queue)}


def main() -> None:
    """Measure what is asked for, and hold it to the gate."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", nargs="+", choices=MODES)
    parser.add_argument("--gate", type=float)
    parser.add_argument(
        "--by-function", action="store_true", help="calls and refusal: list them"
    )
    options = parser.parse_args()
    listed = {"by_function": options.by_function}
    for mode in options.mode:
        figure = MODES[mode](**listed if mode in {"calls", "refusal"} else {})
        if options.gate is not None and not figure <= options.gate:
            sys.exit(f"{mode}: {figure:.4f} is above the gate, {options.gate:g}")


if __name__ == "__main__":
    main()
