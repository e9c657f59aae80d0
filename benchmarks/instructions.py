"""What the package costs a crawl in instructions: repeatable, where CPU seconds swing by 10 %.

Usage::

    python benchmarks/instructions.py page [--gate RATIO] [--full-collections]
    python benchmarks/instructions.py site [--gate THOUSAND] [--full-collections]
    python benchmarks/instructions.py calls [--by-function] [--gate CALLS]
    python benchmarks/instructions.py job [--gate RATIO] [--full-collections]
    python benchmarks/instructions.py refusal [--by-function] [--gate CALLS]

page     thousand instructions a page of one site: stock Scrapy obeying robots.txt, all of the
         package, and the ratio
site     thousand instructions a new site, with its robots.txt and three pages: the same, and what
         is over stock besides what three pages of a known site are
calls    functions of the package called for an ordinary page of one site
job      what a page costs with a JOBDIR, stock Scrapy's and the package's: thousand instructions,
         with the links that the other modes have, and with twenty new ones; the greater ratio
refusal  functions of the package called for a 503, from the download handler until the scheduler
         has the request again; a stop is a step into another module

Each figure is that of a crawl of 350 pages less one of 100, over 250: the start and the end of a
crawl are not in it. The crawls are those of ``without_network.py``, each in a process of its own.
Instructions are counted by valgrind (a Debian package), in some forty seconds for a mode where the
machine has nothing else to do. Full garbage collections are put off: one more or less, by chance,
is 1 % of such a crawl. ``--full-collections`` leaves them in. For a new site, which is a small
difference of large numbers, there are no collections at all, and none of the hundred tasks that
Scrapy makes for the items of a page: when the collector runs, and where in a set a task comes to
lie, changes with each object that anything makes, by some hundred thousand instructions a site.
With ``--gate`` it exits with 1 if the figure (page and job: the ratio, site: thousands over
stock, else calls) is above the one given. It exits with 1 also where it cannot be taken.
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
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from without_network import PAGES_OF_A_SITE

HERE = Path(__file__).parent
CRAWL = HERE / "without_network.py"
FEW, MANY = 100, 350
# Order of sets, names of temporary files: the same each time. No site packages of the user, and
# the package that stands beside this file, whichever is installed.
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(HERE.parent),
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "LC_ALL": "C.UTF-8",
}


def crawl(*arguments: str | int) -> str:
    """Crawl in a process of its own; return what it printed."""
    return _run([sys.executable, str(CRAWL), *map(str, arguments)])


def instructions(*arguments: str | int) -> int:
    """Crawl under valgrind; return how many instructions the process took."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        watch = ["--tool=cachegrind", "--cache-sim=no", "--branch-sim=no", f"--log-file={log}"]
        watch.append("--cachegrind-out-file=/dev/null")
        _run(["valgrind", *watch, sys.executable, str(CRAWL), *map(str, arguments)])
        counted = re.search(r"I\s+refs:\s+([\d,]+)", log.read_text())
    if counted is None:
        sys.exit("valgrind has printed no count")
    return int(counted[1].replace(",", ""))


def _run(command: list[str]) -> str:
    run = subprocess.run(
        command, cwd=HERE, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    if run.returncode or run.stderr:
        sys.exit(f"{' '.join(command)}: exit code {run.returncode}\n{run.stderr}")
    return run.stdout


def per_page(shape: str, count: str = "", form: str = "") -> tuple[float, float]:
    """Return the thousand instructions a page of stock Scrapy and of the package."""
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is needed: apt-get install valgrind")
    runs = [
        (variant + form, shape, pages, count)
        for variant in ("stock", "package")
        for pages in (FEW, MANY)
    ]
    for variant in ("stock", "package"):  # all is compiled before anything is counted
        crawl(variant + form, shape, FEW, count)
    with ThreadPoolExecutor(max_workers=2) as pool:
        few, many, few_ours, many_ours = pool.map(lambda run: instructions(*run), runs)
    pages = (MANY - FEW) * 1_000
    return (many - few) / pages, (many_ours - few_ours) / pages


def page(arguments: argparse.Namespace) -> float:
    """Print the cost of an ordinary page; return the ratio to stock."""
    stock, package = per_page("page", arguments.count)
    print("thousand instructions a page of one site")
    print(f"  stock    {stock:>10,.0f}")
    print(f"  package  {package:>10,.0f}  {package - stock:+,.0f}  ratio {package / stock:.4f}")
    return package / stock


def job(arguments: argparse.Namespace) -> float:
    """Print the cost of a page with a JOBDIR; return the greater ratio to stock."""
    ratios = []
    print("thousand instructions a page, with JOBDIR      stock   package   ratio")
    for shape, name in (("page", "a page with few new links"), ("links", "with twenty of them")):
        stock, package = per_page(shape, arguments.count, "-job")
        ratios.append(package / stock)
        print(f"  {name:<40}{stock:>10,.0f}{package:>10,.0f}{ratios[-1]:>8.4f}")
    return max(ratios)


def site(arguments: argparse.Namespace) -> float:
    """Print the cost of a new site; return the thousands over stock, its pages left out."""
    page_of_stock, page_of_package = per_page("page", arguments.count or "still")
    stock, package = per_page("site", arguments.count or "still")
    less = PAGES_OF_A_SITE * (page_of_package - page_of_stock)
    print(f"thousand instructions a new site: its robots.txt and {PAGES_OF_A_SITE} pages")
    print(f"  stock    {stock:>10,.0f}")
    print(f"  package  {package:>10,.0f}  {package - stock:+,.0f}  ratio {package / stock:.4f}")
    print(
        f"  less what as many pages of a known site are over stock: {package - stock - less:+,.0f}"
    )
    return package - stock - less


def calls(arguments: argparse.Namespace) -> float:
    """Print how many calls of our functions a page takes; return it."""
    few, many = (Counter(json.loads(crawl("package", "page", n, "calls"))) for n in (FEW, MANY))
    each = {name: (many[name] - few[name]) / (MANY - FEW) for name in many}
    print(f"calls of functions of scrapy_mandelbot for a page: {sum(each.values()):.1f}")
    if arguments.by_function:
        for name, number in sorted(each.items(), key=lambda item: (-item[1], item[0])):
            if number >= 0.005:
                print(f"  {number:>8.2f}  {name}")
    return sum(each.values())


def way(called: list[str]) -> dict[str, int]:
    """Return how many calls it takes, steps into another module, and modules."""
    modules = [name.partition(":")[0] for name in called]
    stops = 1 + sum(one != other for one, other in pairwise(modules))
    return {"calls": len(modules), "stops": stops, "modules": len(set(modules))}


def refusal(arguments: argparse.Namespace) -> float:
    """Print the way of a 503 back to the scheduler; return its calls."""
    traced = json.loads(crawl("package", "refusal", 1, "trace"))
    print("a 503 from the download handler until the scheduler has the request again")
    for name, figure in way([name for name, _ in traced]).items():
        print(f"  {name:<10}{figure:>5}")
    if arguments.by_function:
        for name, depth in traced:
            print(f"  {'  ' * depth}{name.replace(':', '.')}")
    return len(traced)


MODES = {one.__name__: one for one in (page, site, calls, job, refusal)}


def main() -> None:
    """Measure what is asked for, and hold it to the gate."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--gate", type=float)
    parser.add_argument("--by-function", action="store_true")
    full = {"action": "store_const", "const": "full", "default": ""}
    parser.add_argument("--full-collections", dest="count", **full)
    arguments = parser.parse_args()
    figure = MODES[arguments.mode](arguments)
    if arguments.gate is not None and not figure <= arguments.gate:
        sys.exit(f"{arguments.mode}: {figure:.4f} is above the gate, {arguments.gate:g}")


if __name__ == "__main__":
    main()
