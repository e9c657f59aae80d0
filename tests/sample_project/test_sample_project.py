"""The sample project, run as a newcomer runs it: `scrapy crawl` in its folder."""

import json
import re
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
PROJECT = HERE.parents[1] / "sample_project"


class Run(NamedTuple):
    """What came of a crawl."""

    returncode: int
    stdout: str
    stderr: str
    log: str
    seconds: float


@pytest.fixture(scope="module")
def scrapy_crawl(forked):
    """Run ``scrapy crawl`` there; return its exit code, output, log and seconds."""

    def run(*arguments):
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "crawl.log")
            command = ["scrapy", "crawl", *arguments, "-s", f"LOG_FILE={log}"]
            done = forked.program(
                PROJECT, *command, PYTHONPATH=str(HERE), COLUMNS="100"
            )
            text = log.read_text() if log.exists() else ""
        return Run(
            done.returncode,
            done.stdout.decode(),
            done.stderr.decode(),
            text,
            time.monotonic() - started,
        )

    return run


def with_web(name):
    extensions = {
        f"broken_demo_webs.{name}": 100,
        "sample_project.extensions.CrawlCheck": 200,
    }
    return "-s", f"EXTENSIONS={json.dumps(extensions)}"


@pytest.fixture(scope="module")
def demo(scrapy_crawl):
    return scrapy_crawl("demo")


@pytest.fixture(scope="module")
def hooks(scrapy_crawl):
    return scrapy_crawl("hooks")


@pytest.fixture(scope="module")
def off(scrapy_crawl):
    return scrapy_crawl("off")


def test_demo_succeeds(demo):
    """The demo exits with 0, in under 30 seconds, and says that all agrees."""
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert demo.seconds < 30
    assert demo.stdout.endswith("\nAll agree.\n")


def test_demo_logs_no_trouble(demo):
    """The only warning in the log is that of the misspelt line in the demo's
    robots.txt.
    """
    (warning,) = re.findall(r"WARNING: .*|ERROR: .*|CRITICAL: .*|Traceback.*", demo.log)
    assert (
        "line 25 'Dissalow: /about.html' is not read (Google's and Scrapy's parsers"
        in warning
    )


def test_demo_shows_what_matters(demo):
    """The terminal has fewer than 60 lines: the log's path, the pause, the table."""
    shown = demo.stdout + demo.stderr
    assert shown.count("\n") < 60
    assert shown.startswith("The log is in ")
    assert re.findall(
        r"\[scrapy_mandelbot\.events\] (Paused|Resumed) http", demo.stderr
    )
    assert "Overridden settings" not in shown


def table_of(run):
    """Return the rows of the table in the log: words of each line, the header first.

    What follows below in a narrow terminal is put behind its site.
    """
    text = run.stderr.partition("What happened at the sites:\n")[2]
    tables = re.match(r"(?:SITE .*\n(?:http.*\n)+\n?)+", text)[0].strip().split("\n\n")
    rows = {}
    for table in tables:
        for line in table.splitlines():
            name, *cells = line.split()
            rows.setdefault(name, [name]).extend(cells)
    return list(rows.values())


def test_demo_logs_a_table_of_its_sites(demo):
    """A line per site: pages, forbidden URLs, refusals, pauses, their time, sitemaps,
    and a delay that is not obeyed.
    """
    header, shop, *others = table_of(demo)
    names = "SITE PAGES FORBIDDEN REFUSED PAUSES PAUSED FOR SITEMAPS DELAY"
    assert header == names.split()
    assert shop[0].startswith("http://127.0.0.2"), "the one in trouble stands first"
    _, pages, forbidden, refused, pauses, seconds, *rest = shop
    assert (pages, forbidden, pauses, rest) == ("31", "1", "1", ["s"])
    assert 1 <= int(refused) <= 8
    assert 3 <= float(seconds) < 6
    well, paced = (row[1:] for row in others)
    assert well == ["21", "1", "1"]
    came = float(paced.pop(-2))
    assert paced == ["10", "8", "1", "60", "s,", "not", "obeyed:", "s"]
    assert 0 < came < 1


def test_table_fits_the_terminal(demo, hooks, off):
    """No line of the tables is longer than 100 columns."""
    lines = [line for run in (demo, hooks, off) for line in run.stdout.split("\n")]
    lines += [" ".join(row) for run in (demo, hooks) for row in table_of(run)]
    assert max(map(len, lines)) <= 100


def test_hooks_hears_everything(hooks):
    """Every hook method of the spider is called, and the check holds here too."""
    assert hooks.returncode == 0, hooks.stdout + hooks.stderr
    called = re.findall(r"\[hooks\] (\w+): ", hooks.stderr)
    assert {name: called.count(name) for name in set(called)} == {
        "robots_fetched": 3,
        "request_forbidden": 10,
        "site_paused": 1,
        "site_resumed": 1,
        "sitemaps_discovered": 2,
        "crawl_ended": 1,
    }


def test_what_hooks_yield_is_used(hooks):
    """The item of a hook is scraped; its requests lead to three pages that no link
    leads to.
    """
    assert "'item_scraped_count': 75" in hooks.log  # 62 and 3 pages, 10 forbidden ones
    assert [row[1] for row in table_of(hooks)] == ["PAGES", "31", "27", "11"], (
        "sitemaps are pages"
    )


def test_status_prints_why_the_crawl_waits(scrapy_crawl):
    """The spider of docs/status.rst asks while a site is paused; the check holds here
    too.
    """
    run = scrapy_crawl("status")
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(
        r"(?m)^It waits: 1 site paused, \d+ requests wait, next at [\d:]+ UTC: http://127\.0\.0\.2",
        run.stdout,
    )
    assert "\nforbidden by line 2: Disallow: /basket (agent *)\n" in run.stdout


def test_off_is_stock_scrapy(off):
    """Switched off, the package does nothing: pages are lost to the 503, the exit code
    is 0.
    """
    assert off.returncode == 0, off.stdout + off.stderr
    assert "mandelbot" not in off.log.partition("Enabled downloader middlewares")[2]
    assert "mandelbot/pause/count" not in off.log
    assert "Gave up retrying" in off.stderr
    assert re.search(r"open pages, once each .* 1\d != 31 ", off.stdout)


def test_demo_fails_without_the_package(scrapy_crawl):
    """The demo exits with 1 if the package is switched off."""
    run = scrapy_crawl("demo", "-s", "MANDELBOT_ENABLED=False")
    assert run.returncode == 1
    assert re.search(r"(?m)^pauses  .* 0 != 1 ", run.stdout)
    assert "comparisons fail." in run.stdout


def test_demo_fails_when_a_page_is_missing(scrapy_crawl):
    """The demo exits with 1 and names the page if one did not arrive."""
    run = scrapy_crawl("demo", *with_web("ForgetfulWeb"))
    assert run.returncode == 1
    assert re.search(
        r"(?m)^open pages, once each, only in the demo web: 1\n  \S+/shelf/3/3$",
        run.stdout,
    )
    assert "\n1 of " in run.stdout


def test_demo_fails_when_no_pause_happens(scrapy_crawl):
    """The demo exits with 1 if the site that should have said 503 was never paused."""
    run = scrapy_crawl("demo", *with_web("CalmWeb"))
    assert run.returncode == 1
    assert re.search(r"(?m)^pauses  .* 0 != 1 ", run.stdout)


def test_demo_fails_when_the_pause_never_ends(scrapy_crawl):
    """The demo exits with 1 if a paused site was not resumed."""
    run = scrapy_crawl("demo", "-s", "DEMO_OUTAGE=600", "-s", "CLOSESPIDER_TIMEOUT=4")
    assert run.returncode == 1
    header, shop, *_ = table_of(run)
    assert "END" in header
    assert "paused" in shop
    assert re.search(r"(?m)^pauses ended .* 0 != 1 ", run.stdout)


def test_demo_fails_when_it_cannot_start(scrapy_crawl):
    """The demo exits with 1 if a setting is wrong, where Scrapy's own command exits
    with 0.
    """
    assert scrapy_crawl("demo", "-s", "MANDELBOT_DIALECT=klingon").returncode == 1


def compared(text):
    """Return pages and refusals, with the package and without it."""
    rows = {}
    for name in ("with scrapy-mandelbot", "stock Scrapy"):
        found = re.search(rf"(?m)^ *{name} +(\d+) of 41 +(\d+) +[\d.]+$", text)
        rows[name] = [int(number) for number in found.groups()]
    return rows.values()


def test_compare_shows_what_an_outage_costs(scrapy_crawl):
    """All pages and few refusals with the package, and few pages without, as the README
    says.
    """
    run = scrapy_crawl("compare")
    assert run.returncode == 0, run.stdout + run.stderr
    readme = (PROJECT.parent / "README.rst").read_text()
    for (pages, refusals), (stock_pages, stock_refusals) in map(
        compared, (run.stdout, readme)
    ):
        assert pages == 41
        assert refusals <= 8
        assert stock_pages <= 20
        assert stock_refusals >= 60


def test_compare_fails_when_pages_are_lost(scrapy_crawl):
    """The command exits with 1 if the crawl with the package has not all pages."""
    run = scrapy_crawl("compare", "-s", "MANDELBOT_PAUSE_HTTP_CODES=")
    assert run.returncode == 1, run.stdout
