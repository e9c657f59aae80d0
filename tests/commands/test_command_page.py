"""The documents show what the command prints, and ``command`` names all of its JSON."""

from __future__ import annotations

import io
import json
import re
import shlex
import time
from pathlib import Path
from types import SimpleNamespace

import docutils.core
import docutils.utils
import pytest
from mandelbot.cli.output import sitemaps_report as sitemaps
from mandelbot.cli.output.fix_report import corrected
from mandelbot.cli.output.rules_in_force import Rules
from mandelbot.fix import normalize, prove
from mandelbot.fix.effects import OWN_URLLIB, PROTEGO
from pages import LIBRARY_DOCS, library_page, page
from scrapy.cmdline import execute
from scrapy.settings import Settings

from scrapy_mandelbot.commands.verbs import VERBS
from scrapy_mandelbot.store import CachedRobots
from scrapy_mandelbot.store.sqlite import SqliteStore

PAGE = library_page("command")
OF_CRAWLS = page("robots_command")
SHOWN = {"command": 10, "reading": 2, "recipes/own_robots": 3, "went_wrong": 3}
"""Pages that show commands, and at least how many."""
BLOCK = re.compile(r"\.\. code-block:: console\n\n((?: {4}.*\n|\n)+)")
STEP = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


PROVED_BY = re.compile(r"urllib\.robotparser of Python .*; Protego .*")
"""The other readers by which a correction is proved, with the versions of one run."""


def as_here(text):
    """Return what a page shows, with the versions that are installed here."""
    return PROVED_BY.sub(f"{OWN_URLLIB}; {PROTEGO}", text)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command in this process; return what it prints, with standard error
    before.
    """
    monkeypatch.chdir(tmp_path)

    def call(*arguments, stdin=""):
        out, err = io.StringIO(), io.StringIO()
        monkeypatch.setattr("sys.stdout", out)
        monkeypatch.setattr("sys.stderr", err)
        file = SimpleNamespace(buffer=io.BytesIO(stdin.encode()))
        monkeypatch.setattr("sys.stdin", file)
        with pytest.raises(SystemExit) as ended:
            execute(["scrapy", "robots", *arguments], Settings())
        monkeypatch.undo()
        monkeypatch.chdir(tmp_path)
        return err.getvalue() + out.getvalue(), ended.value.code or 0

    return call


def steps(text):
    """Yield the commands that a page shows, each with what it prints."""
    for block in BLOCK.findall(text):
        text = "".join(
            line[4:].rstrip() + "\n" for line in block.rstrip("\n").split("\n")
        )
        yield from STEP.findall(text)


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown_is_what_is_printed(run, name):
    """Every command of the page, in a folder with the file that it shows."""
    is_librarys = (LIBRARY_DOCS / f"{name}.rst").is_file()
    text = library_page(name) if is_librarys else page(name)
    code, shown = 0, 0
    for line, printed in steps(text):
        expected = as_here(printed)
        command = line
        if command.startswith("cat "):
            Path(command[4:]).write_text(expected)
        elif command == "echo $?":
            assert expected == f"{code}\n"
        elif command.startswith(("scrapy robots ", "mandelbot ")):
            is_librarys_program = command.startswith("mandelbot ")
            command, _, into = command.partition(" > ")
            command, _, stdin = command.partition(" < ")
            stdin = Path(stdin).read_text() if stdin else ""
            arguments = shlex.split(command)[1 if is_librarys_program else 2 :]
            output, code = run(*arguments, stdin=stdin)
            if is_librarys_program:
                output = output.replace("scrapy robots: ", "mandelbot: ")
            if into:
                Path(into).write_text(output)
                output = ""
            assert (
                "".join(f"{one.rstrip()}\n" for one in output.splitlines()) == expected
            ), command
        else:
            continue
        shown += 1
    assert shown >= SHOWN[name]


def test_the_pages_list_verbs_options_and_exit_codes():
    """All of them, as the help does; docutils reads the page without a warning."""
    table = PAGE.partition("``-`` stands for standard input")[0]
    table += OF_CRAWLS.partition("prints\n")[2].partition("\n\n")[0]
    rows = re.findall(r"^``((\w+)\b.*?)`` ", table, re.MULTILINE)
    rows = [row for row in rows if row[1] != "mandelbot"]
    assert [verb for _, verb in rows] == list(VERBS)
    said = {verb: use for use, verb in rows}
    for verb, use in VERBS.items():
        is_one = isinstance(use.arguments, tuple)
        forms = [use.arguments] if is_one else use.arguments.values()
        options = {name for form in forms for name, _ in form if name[:2] == "--"}
        told = set(re.findall(r"--[\w-]+", said[verb]))
        assert told | {"--dialect"} == options | {"--dialect"}
    assert re.findall(r"^(\d)     ", PAGE, re.MULTILINE) == ["0", "1", "2", "3"]
    exits = {
        code for verb in VERBS.values() for code in re.findall(r"(\d): ", verb.exits)
    }
    assert exits == {"0", "1", "3"}  # 2 is wrong use, of all alike
    warnings = docutils.utils.Reporter.WARNING_LEVEL
    docutils.core.publish_doctree(PAGE, settings_overrides={"halt_level": warnings})


def fields_of(data, prefix=""):
    """Return the names of all fields, as the page writes them."""
    names = set()
    for name, value in data.items():
        names.add(prefix + name)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                mark = "[]." if isinstance(value, list) else "."
                names |= fields_of(part, prefix + name + mark)
    return names


def told_of(verb):
    """Return the fields that the page's table for a verb names."""
    table = re.split(rf"\n{verb}(?:; .+)?:\n\n", f"{PAGE}\n{OF_CRAWLS}")[1].partition(
        "\n\n"
    )[0]
    return set(re.findall(r"^``([\w.\[\]]+)``", table, re.MULTILINE))


BODY = "User-agent: *\nDisallow: /a # x\nAllow: /a/b\n"
EVERY = {"version", "command", "exit_code"}


@pytest.mark.parametrize("verb", ["check", "explain", "compare"])
def test_the_page_names_all_of_the_json(run, verb):
    """Each field of each verb's object, and no other."""
    Path("robots.txt").write_text(BODY)
    about = ["robots.txt"] if verb == "check" else ["/a/x", "--file", "robots.txt"]
    report = json.loads(run(verb, *about, "--format", "json")[0])
    found = fields_of(report) - EVERY
    rule = {
        f"{one}.{name}"
        for one in ("urls[].changes[].rule", "urls[].verdicts[].rule")
        for name in ("allow", "path", "line", "text")
    }
    assert found - rule == told_of(verb)


def test_the_page_names_all_of_the_json_of_normalize():
    """As above."""
    normal = normalize(b"User-agent: *\nDisallow: /a\n\nDisallow: /b\n")
    differs = prove(BODY.encode(), "Sitemap: a\n")
    reports = [
        corrected(Rules("x"), one) for one in (normal, normal._replace(proof=differs))
    ]
    assert fields_of(reports[0]) <= fields_of(reports[1]) == told_of("normalize")


def test_the_page_names_all_of_the_json_of_sitemaps():
    """As above."""
    report = sitemaps.cited(Rules("x", b"Sitemap: https://example.com/s.xml"))
    read, _ = sitemaps.read(b"<html></html>", "https://example.com/s.xml", 1000, None)
    report["sitemaps"][0].update(read)
    assert fields_of(report) == told_of("sitemaps")


def test_the_page_names_all_of_the_json_of_cache(run, tmp_path):
    """As above; a copy of a list has all fields but the text."""
    store = SqliteStore(tmp_path / "copies.db")
    store.put_copy("https://example.com", CachedRobots(b"x", 200, time.time()))
    store.close()
    where = ["--format", "json", "-s", "MANDELBOT_STORE=./copies.db"]
    reports = [
        json.loads(run("cache", *what, *where)[0])
        for what in (["list"], ["show", "https://example.com"], ["drop", "--all"])
    ]
    listed = {name for name in fields_of(reports[0]) if name.startswith("copies[].")}
    found = set().union(*map(fields_of, reports)) - EVERY
    assert found - listed == told_of("cache")
    of_copy = {name.replace("copies[]", "copy") for name in listed}
    assert of_copy | {"copy.text"} == {
        name for name in found if name.startswith("copy.")
    }
