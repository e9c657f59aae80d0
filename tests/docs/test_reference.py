"""The pages of settings, meta keys, hooks and stats are complete and true."""

from __future__ import annotations

import configparser
import re
import textwrap

import mandelbot
import scrapy
from mandelbot.answers import outcome
from mandelbot.answers.outcome import PAUSE_STATUSES
from pages import LIBRARY_DOCS, ROOT, library_page, names, page
from scrapy.settings import Settings

import scrapy_mandelbot
from scrapy_mandelbot import signals
from scrapy_mandelbot.addon import COMPONENTS
from scrapy_mandelbot.events import EVENTS
from scrapy_mandelbot.report.summary import headings
from scrapy_mandelbot.settings.config import OPTIONS, Config, setting_defaults
from scrapy_mandelbot.spidermiddlewares.hooks import HOOKS

MODULES = {path: path.read_text() for path in (ROOT / "scrapy_mandelbot").rglob("*.py")}
PACKAGE = "\n".join(MODULES.values())


ENTRY = re.compile(
    r"^([A-Z_]+)\n~+\n\n:default: (.+)\n:takes: (.+)\n\n((?:.+\n)+)\n"
    r"\.\. code-block:: python\n\n((?: {4}.*\n)+)",
    re.MULTILINE,
)


def test_every_setting_has_an_entry():
    """A setting exists only if the page has its default, what it takes, its use, and an
    example.
    """
    entries = {name: rest for name, *rest in ENTRY.findall(page("settings"))}
    assert list(entries) == list(setting_defaults()), "in the order of the code"
    for name, (default, _takes, _why, example) in entries.items():
        documented = (
            default.strip("`").partition(":")[0].partition(" (")[0].partition(", by")[0]
        )
        assert documented == repr(setting_defaults()[name]).replace("'", '"'), name
        assert set(re.findall("(?:MANDELBOT|ROBOTSTXT)_[A-Z_]+", example)) == {name}


def test_every_option_is_in_the_table_of_its_setting():
    """With its default, in the order of the code."""
    text = page("settings")
    for group, defaults in OPTIONS.items():
        entry = text.partition(f"\n{group}\n~")[2].partition("\n\n\n")[0]
        entry = re.split(r"\nMANDELBOT_[A-Z_]+\n~", entry)[0]
        rows = re.findall(
            r"^``(\w+)`` \(``(.*)``\): .+\n    ", entry, flags=re.MULTILINE
        )
        documented = {
            key: repr(value).replace("'", '"') for key, value in defaults.items()
        }
        assert dict(rows) == documented, group


def test_the_examples_of_settings_are_taken():
    """What an entry shows can be written as it stands, and is not the default."""
    for name, *_, example in ENTRY.findall(page("settings")):
        written: dict[str, object] = {"scrapy": scrapy}
        exec(textwrap.dedent(example), written)
        spider = written.get("MySpider")
        value = spider.custom_settings[name] if spider else written[name]
        Config.from_settings(Settings({name: value}))
        assert value != setting_defaults()[name]


def test_every_stat_is_in_the_table():
    """A stat exists only if docs/stats.rst lists it."""
    counted = {stat for event in EVENTS.values() for stat in event.stats}
    counted |= {stat for event in EVENTS.values() for stat, _ in event.sums}
    cases = [row.case for row in outcome.TABLE]
    families = [one for event in EVENTS.values() for one in event.families]
    counted |= {
        f"{start}{case}"
        for start, value in families
        if value == "case"
        for case in cases
    }
    ours = {stat for stat in counted if stat.startswith("mandelbot/")}
    assert sorted(names(page("stats"), "mandelbot/[a-z0-9_/]+")) == sorted(ours)
    others = "\n".join(
        text for path, text in MODULES.items() if path.parent.name != "events"
    )
    assert not re.findall(r'"mandelbot/[a-z_/]+"', others), "nothing else counts"


def test_every_hook_and_signal_is_in_the_table():
    """A hook exists only if docs/hooks.rst lists it, and each is a signal."""
    listed = names(page("hooks"), "[a-z_]+")
    assert listed == list(HOOKS)
    ours = {
        name: one for name, one in vars(signals).items() if not name.startswith("_")
    }
    assert set(listed) == set(ours)
    of_events = {event.signal for event in EVENTS.values()} - {None}
    assert of_events == set(ours.values()), "each is sent, and none that is not ours"
    of_others = re.findall(r"send(?:_catch_log)?\(\s*signals\.[a-z_]+", PACKAGE)
    assert not of_others, "what the table of events sends is sent nowhere else"


def test_every_column_of_the_last_table_is_documented():
    """What a crawl ends with is explained, column by column, in its order."""
    table = page("status").partition("column          shows\n")[2].partition("\n\n")[0]
    assert re.findall("^``([A-Z ]+)``", table, flags=re.MULTILINE) == headings()


SOME_STATUSES = re.compile(r"(?:[45]\d\d(?:, | or | and ))+[45]\d\d")


def test_the_documented_pausing_statuses_are_those_of_the_code():
    """Wherever a page lists the first of them with others, it lists all, or the
    registered two.
    """
    first, second, *_ = PAUSE_STATUSES
    documented = {
        (path.name, said): {int(one) for one in re.findall(r"\d{3}", said)}
        for path in [ROOT / "README.rst", *(ROOT / "docs").glob("*.rst")]
        for said in SOME_STATUSES.findall(path.read_text())
        if str(first) in said and (path.name, said) not in OTHER_STATUSES
    }
    assert len(documented) >= 8
    assert set(map(frozenset, documented.values())) == {
        frozenset(PAUSE_STATUSES),
        frozenset({first, second}),
    }
    assert documented["settings.rst", ", ".join(map(str, PAUSE_STATUSES))] == {
        *PAUSE_STATUSES
    }


OTHER_STATUSES = {("settings.rst", "503, 429, 403")}  # the example of what one may set


def test_every_meta_key_is_in_the_table():
    """A meta key that the package reads or sets is in docs/meta.rst, or is Scrapy's
    own.
    """
    read = set(re.findall(r'meta(?:\.get\(\s*|=\{)"([a-z_]+)"', PACKAGE))
    scrapys = {
        "handle_httpstatus_list",
        "handle_httpstatus_all",
        "dont_retry",
        "download_latency",
        "download_maxsize",
        "max_retry_times",
        "priority_adjust",
        "retry_times",
        "download_slot",
        "is_start_request",
        "cookiejar",
        "dont_merge_cookies",
        "cached_response",
    }
    assert set(names(page("meta"), "[a-z_]+")) == read - scrapys


def test_the_layers_are_those_that_import_linter_holds():
    """The table of modules lists every module, in the order of the contract."""
    listed = re.findall(
        r"^((?:``[a-z_]+``(?:, )?)+) ", page("design"), flags=re.MULTILINE
    )
    modules = [module for row in listed for module in row.replace("`", "").split(", ")]
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    layers = setup["importlinter:contract:layers"]["layers"].split("\n")
    floor_of = {
        name: n for n, layer in enumerate(layers) for name in layer.split(" | ")
    }
    assert set(modules) == set(floor_of) - {""}
    assert sorted(modules, key=floor_of.__getitem__) == modules


def test_every_public_name_is_in_the_reference():
    """What can be imported from each package is on the page "API" of its site."""
    apis = {mandelbot: library_page("api"), scrapy_mandelbot: page("api")}
    for package, text in apis.items():
        documented = re.findall(r"^\.\. auto\w+:: (\w+)$", text, flags=re.MULTILINE)
        assert set(documented) == set(package.__all__) - {"__version__"}


def test_every_setting_that_the_library_names_is_one():
    """Its pages name a few of the add-on's."""
    text = "".join(path.read_text("utf-8") for path in LIBRARY_DOCS.glob("*.rst"))
    named = set(re.findall(r"MANDELBOT_[A-Z_]+", text))
    assert named - setting_defaults().keys() == set()


NAMED = re.compile(r"(?:packages/mandelbot/)?docs/[\w/]+\.rst")


def test_every_page_that_the_code_names_is_there():
    """In a docstring, or in what a user is shown; the library names its own."""
    library = ROOT / "packages" / "mandelbot"
    sources = {library: library / "src", ROOT: ROOT / "scrapy_mandelbot"}
    named = {
        top / page
        for top, folder in sources.items()
        for path in folder.rglob("*.py")
        for page in NAMED.findall(path.read_text("utf-8"))
    }
    assert len(named) >= 5
    assert [page for page in named if not page.is_file()] == []


def test_what_the_addon_sets_is_documented():
    """Each setting that it sets, each component, and its order."""
    documented = page("settings").partition("\nWhat the add-on sets\n")[2]
    source = (ROOT / "scrapy_mandelbot" / "addon.py").read_text("utf-8")
    written = set(re.findall(r'set\((?:settings, )?\s*"([A-Z_]+)"', source))
    written |= {one.setting for one in COMPONENTS}
    listed = set(names(documented, "[A-Z_]+"))
    assert listed == {"SCHEDULER_PRIORITY_QUEUE"} | {
        one for one in written if "INNER" not in one
    }
    assert all(f"``{one}``" in documented for one in written)
    for one in COMPONENTS:
        name = one.name.rpartition(".")[2]
        order = (
            f" ({one.order})" if one.order >= 0 and one.setting != "EXTENSIONS" else ""
        )
        assert f"``{name}``{order}" in " ".join(documented.split()), name
