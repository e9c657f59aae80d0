"""How the command is found, what it costs, what it says to wrong use."""

from __future__ import annotations

import configparser
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from mandelbot import __main__
from mandelbot.cli.invocation import DEFAULTS
from mandelbot.cli.verbs import VERBS as LIBRARYS_VERBS
from scrapy.settings import Settings

from scrapy_mandelbot.commands import robots as command
from scrapy_mandelbot.commands.verbs import VERBS
from scrapy_mandelbot.settings.config import Config

ROOT = Path(__file__).parents[2]
CLEAN = b"User-agent: *\nDisallow: /private/\n"


def test_the_entry_point_names_the_command():
    """The package's metadata have the entry point, and what it names is there."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    entry = setup["options.entry_points"]["scrapy.commands"].strip()
    assert entry == f"robots = {command.Command.__module__}:{command.Command.__name__}"


def test_importing_the_command_loads_no_other_module():
    """Scrapy loads it on every call: it brings no module that Scrapy has not loaded by
    then.
    """
    code = (
        "import sys, scrapy.cmdline; before = set(sys.modules);"
        "import scrapy_mandelbot.commands.robots as robots; robots.Command();"
        "print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == [
        "mandelbot",
        "mandelbot.lazy",  # of the list of public names
        "scrapy_mandelbot",
        "scrapy_mandelbot.commands",
        "scrapy_mandelbot.commands.robots",
    ]


def test_without_scrapy_the_defaults_are_those_of_the_settings():
    """They are written down twice, as the second door must not import Scrapy."""
    config = Config.from_settings(Settings())
    assert {name: getattr(config, name) for name in DEFAULTS} == {
        **DEFAULTS,
        "pause_statuses": frozenset(DEFAULTS["pause_statuses"]),
    }


def test_scrapy_lists_the_command(tmp_path, forked):
    """Inside no project too."""
    run = forked.program(tmp_path, "scrapy")
    assert run.returncode == 0
    assert b"  robots        Check, fix and explain robots.txt files" in run.stdout


def test_it_works_as_a_commands_module(robots, tmp_path):
    """Where entry points are not wanted, COMMANDS_MODULE finds it, and no other
    command.
    """
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = mine\n")
    (tmp_path / "mine.py").write_text("COMMANDS_MODULE = 'scrapy_mandelbot.commands'\n")
    assert robots("check", "-", stdin=CLEAN).returncode == 0
    from scrapy.cmdline import _get_commands_from_module

    found = _get_commands_from_module("scrapy_mandelbot.commands", inproject=False)
    assert list(found) == ["robots"]


def test_the_help_has_a_line_for_each_verb(robots):
    """The rest is in the help of the verb."""
    run = robots("--help")
    text = " ".join(run.stdout.decode().split())
    assert run.returncode == 0
    lines = {line.strip() for line in run.stdout.decode().splitlines()}
    assert {f"{name:<9}  {verb.does}" for name, verb in VERBS.items()} <= lines
    assert "scrapy robots VERB --help" in text
    assert "--fail-on" not in text


def forms_of(verb):
    """Return its arguments by the word that follows it; an empty one if none does."""
    return {"": verb.arguments} if isinstance(verb.arguments, tuple) else verb.arguments


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_a_help_of_its_own(robots, verb):
    """Its own options, all of them, two examples that it takes, and its exit codes."""
    for word, arguments in forms_of(VERBS[verb]).items():
        called = (verb, word) if word else (verb,)
        for one in ((*called, "--help"), ("--help", *called), (*called, "-h")):
            run = robots(*one)
            assert (run.returncode, run.stderr) == (0, b"")
        text = run.stdout.decode()
        options = {name for name, _ in arguments if name.startswith("--")}
        assert set(re.findall(r"^  (--[\w-]+)", text, re.MULTILINE)) == {
            *options,
            "--format",
        }
    examples = re.findall(
        rf"^  scrapy robots {verb}(.*)$", text.partition("\nexamples:")[2], re.MULTILINE
    )
    assert len(examples) == 2
    for example in examples:
        said = robots(verb, *shlex.split(example)).stderr.decode()
        assert "error: " not in said, said
    assert "exit codes:\n  0: " in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chekc", "x"], "unknown command 'chekc': did you mean check?"),
        (["check"], "the following arguments are required: FILE|FOLDER|URL|-"),
        (["job", "a", "requeue", "--export"], "cannot be used together"),
        (["job", "a", "resume"], "invalid choice: 'resume'"),
        (["cache", "list", "--format", "html"], "invalid choice: 'html'"),
        (["cache", "drop"], "drop takes a URL or --all"),
        (["cache", "drop", "x", "--all"], "drop takes a URL or --all"),
        (["cache", "list", "--all"], "unrecognized arguments: --all"),
        (["cache", "show"], "the following arguments are required: URL"),
    ],
)
def test_usage_errors(robots, arguments, message):
    """The usage, one line that says what is wrong, exit code 2."""
    run = robots(*arguments)
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr.startswith(b"usage: scrapy robots ")
    assert message in run.stderr.decode()
    assert "Traceback" not in run.stderr.decode()


def test_no_arguments_get_the_help(robots):
    """And exit code 2, as from Scrapy's own commands."""
    run = robots()
    assert run.returncode == 2
    assert b"check      find mistakes in robots.txt files" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["check", "nowhere.txt"], "nowhere.txt: no such file or directory"),
        (
            ["cache", "list"],
            "there is no cache here: run it in a project, or set JOBDIR",
        ),
        (
            ["explain", "/a", "--file", "-", "-s", "MANDELBOT_DIALECT=x"],
            "MANDELBOT_DIALECT = 'x'",
        ),
    ],
)
def test_unavailable_input_is_a_one_line_error(robots, arguments, line):
    """On standard error, without a traceback and without the usage; exit code 2."""
    run = robots(*arguments)
    assert (run.returncode, run.stdout) == (2, b"")
    (said,) = run.stderr.decode().splitlines()
    assert said.startswith(f"scrapy robots: {line}")


@pytest.mark.parametrize("verb", ["check", "normalize"])
def test_invalid_project_settings_are_reported(robots, project, verb):
    """Which setting it is, and what it takes, without a traceback."""
    project.write_text(
        project.read_text() + "MANDELBOT_LIMITS = {'robots_timeout': 'slow'}\n"
    )
    run = robots(verb, "http://127.0.0.1:1/")
    assert run.returncode == 2
    (said,) = run.stderr.decode().splitlines()
    assert "MANDELBOT_LIMITS[\"robots_timeout\"] = 'slow': it takes " in said


# The other door.


HANDED = {
    "check": ["robots.txt", "--full"],
    "rule": ["misspelt-field"],
    "normalize": ["robots.txt"],
    "explain": ["/a", "--file", "robots.txt", "--agent", "Googlebot"],
    "compare": ["/a", "--file", "robots.txt", "--agent", "Googlebot"],
    "sitemaps": ["robots.txt"],
}
"""A use of each verb that the library has."""


@pytest.mark.parametrize("verb", LIBRARYS_VERBS)
def test_a_verb_of_the_library_is_handed_over(robots, forked, tmp_path, verb):
    """Output and exit code are those of ``mandelbot``, but for the program's name."""
    body = b"User-agent: *\nDisalow: /a\nDisallow: /a # b\nSitemap: https://a.b/s.xml\n"
    (tmp_path / "robots.txt").write_bytes(body)
    run = robots(verb, *HANDED[verb])
    of_library = forked.program(tmp_path, __main__.__file__, verb, *HANDED[verb])
    assert run.stdout == of_library.stdout
    assert run.returncode == of_library.returncode
    assert run.stderr == of_library.stderr.replace(b"mandelbot: ", b"scrapy robots: ")
