"""How the command is found, what it costs, what it says to wrong use."""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
import sys

import pytest
from small_webs import Answer

from mandelbot.cli.verbs import VERBS

CLEAN = b"User-agent: *\nDisallow: /private/\n"


def test_the_help_has_a_line_for_each_verb(robots):
    """The rest is in the help of the verb."""
    run = robots("--help")
    text = " ".join(run.stdout.decode().split())
    assert run.returncode == 0
    lines = {line.strip() for line in run.stdout.decode().splitlines()}
    assert {f"{name:<9}  {verb.does}" for name, verb in VERBS.items()} <= lines
    assert "mandelbot VERB --help" in text
    assert "--fail-on" not in text


def no_such_host(host, *_):
    """Look up nothing: the examples name hosts that exist."""
    raise socket.gaierror(socket.EAI_NONAME, f"{host} is unknown here")


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_its_help(robots, monkeypatch, verb):
    """Its own options, all of them, two examples that it takes, and its exit codes."""
    monkeypatch.setattr("socket.getaddrinfo", no_such_host)
    for option in ("--help", "-h"):
        run = robots(verb, option)
        assert (run.returncode, run.stderr) == (0, b"")
    text = run.stdout.decode()
    options = {name for name, _ in VERBS[verb].arguments if name.startswith("--")}
    listed = set(re.findall(r"^  (--[\w-]+)", text, re.MULTILINE))
    assert listed == {*options, "--format"}
    examples = re.findall(
        rf"^  mandelbot {verb}(.*)$", text.partition("\nexamples:")[2], re.MULTILINE
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
        (["normalize", "a", "b"], "unrecognized arguments: b"),
        (["check", "a", "--robots"], "unrecognized arguments: --robots"),
        (["check", "a", "--changes"], "unrecognized arguments: --changes"),
        (
            ["explain", "/a", "--ignore", "note"],
            "unrecognized arguments: --ignore note",
        ),
        (
            ["normalize", "a", "--fail-on", "error"],
            "unrecognized arguments: --fail-on error",
        ),
        (["check", "a", "--fail-on", "note"], "invalid choice: 'note'"),
        (["normalize", "a", "--format", "sarif"], "invalid choice: 'sarif'"),
        (["check", "a", "--format", "table"], "invalid choice: 'table'"),
        (
            ["explain", "/a", "--robots", "--agent", "x"],
            "--robots and --agent cannot be used together",
        ),
        (
            ["explain", "--robots"],
            "it takes a URL, --urls FILE, or --robots --file FILE",
        ),
        (["check", "a", "--diff"], "unrecognized arguments: --diff"),
        (
            ["normalize", "a", "--dialekt", "google"],
            "unrecognized arguments: --dialekt google",
        ),
        (
            ["normalize", "a", "--only", "google", "--dialect", "rep1994"],
            "name different dialects",
        ),
        (["normalize", "a", "--dialect", "gogle"], "invalid choice: 'gogle'"),
        (["check", "a", "--format", "xml"], "invalid choice: 'xml'"),
        (["sitemaps", "a", "--format", "html"], "invalid choice: 'html'"),
        (["explain"], "it takes a URL, --urls FILE, or --robots --file FILE"),
        (["explain", "-", "--file", "-"], "standard input can be read only once"),
        (
            ["explain", "/a", "--file", "-", "--urls", "-"],
            "standard input can be read only once",
        ),
        (["check", "a", "--urls", "b"], "unrecognized arguments: --urls b"),
    ],
)
def test_usage_errors(robots, arguments, message):
    """The usage, one line that says what is wrong, exit code 2."""
    run = robots(*arguments)
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr.startswith(b"usage: mandelbot ")
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
            ["check", "example.com"],
            (
                "example.com: no such file or directory (a URL begins with https:// or"
                " http://)"
            ),
        ),
        (["check", "."], ".: there is no robots.txt in it"),
        (["normalize", "x" * 300], f"{'x' * 300}: file name too long"),
        (["explain", "/a", "--file", "nowhere"], "nowhere: no such file or directory"),
        (
            ["explain", "/a"],
            "/a: this is no URL with a site, as https://example.com/page",
        ),
        (["check", "http://[x"], "http://[x: this is no URL with a site"),
        (["sitemaps", "-", "--read"], "--read takes the URL of a site"),
        (
            ["check", "http://127.0.0.1:1/"],
            "http://127.0.0.1:1/robots.txt: connection refused",
        ),
        (
            ["explain", "http://x.invalid/a"],
            "http://x.invalid/robots.txt: no such host",
        ),
    ],
)
def test_unavailable_input_is_a_one_line_error(robots, arguments, line):
    """On standard error, without a traceback and without the usage; exit code 2."""
    run = robots(*arguments)
    assert (run.returncode, run.stdout) == (2, b"")
    (said,) = run.stderr.decode().splitlines()
    assert said.startswith(f"mandelbot: {line}")


@pytest.mark.parametrize(
    "verb", ["check", "normalize", "explain", "compare", "sitemaps"]
)
def test_json_has_a_version_and_says_the_exit_code(robots, verb):
    """One object on standard output, and nothing on standard error."""
    about = ["/a", "--file", "-"] if verb in {"explain", "compare"} else ["-"]
    run = robots(verb, *about, "--format", "json", stdin=CLEAN)
    report = json.loads(run.stdout)
    assert (report["version"], report["command"], report["exit_code"]) == (1, verb, 0)
    assert (run.returncode, run.stderr) == (0, b"")


def test_output_is_plain_in_a_pipe_and_harmless(robots):
    """No colours, and what a file says cannot move a cursor."""
    run = robots("check", "-", stdin=b"User-agent: *\nDisalow: /\x1b[2J\xe2\x80\xae\n")
    assert b"\x1b" not in run.stdout
    assert "\\x1b[2J\\u202e" in run.stdout.decode()
    assert max(map(len, run.stdout.decode().splitlines())) <= 80


def test_a_closed_pipe_ends_the_output(tmp_path):
    """As `head` does: no traceback."""
    (tmp_path / "robots.txt").write_bytes(
        b"User-agent: *\n" + b"Disallow: /x y\n" * 2000
    )
    command = f"'{sys.executable}' -m mandelbot normalize robots.txt --format json"
    shell = f"{command} | head -c 10"
    run = subprocess.run(
        shell, shell=True, cwd=tmp_path, capture_output=True, check=True
    )
    assert len(run.stdout) == 10
    assert run.stderr == b""


def test_the_exit_code_survives_a_closed_pipe(tmp_path):
    """What was found was found, whether or not somebody reads all of it."""
    body = (
        b"User-agent: *\n"
        + b"Disalow: /\n" * 60
        + b"User-agent: /\nDisallow: x y\n" * 2000
    )
    (tmp_path / "robots.txt").write_bytes(body)
    command = f"'{sys.executable}' -m mandelbot check robots.txt"
    shell = (
        f"set -o pipefail; {command} | true; echo $?; {command} | head -c 10"
        " >/dev/null; echo $?"
    )
    run = subprocess.run(
        ["bash", "-c", shell], cwd=tmp_path, capture_output=True, check=True
    )
    assert (run.stdout, run.stderr) == (b"3\n3\n", b"")


@pytest.mark.parametrize(("word", "meant"), [("chek", "check"), ("explian", "explain")])
def test_a_misspelt_verb_gets_a_suggestion(robots, word, meant):
    """Instead of a list of all."""
    run = robots(word, "robots.txt")
    assert run.returncode == 2
    assert (
        f"unknown command '{word}': did you mean {meant}?"
        in (run.stdout + run.stderr).decode()
    )


# The other door.


WITHOUT_SCRAPY = """
import sys
from mandelbot.cli.verbs import main
code = main(sys.argv[1:])
sys.exit(9 if {"scrapy", "twisted"} & set(sys.modules) else code)
"""


def without_scrapy(tmp_path, *arguments):
    """Run ``python -m mandelbot``; exit code 9: it imported Scrapy."""
    command = [sys.executable, "-c", WITHOUT_SCRAPY, *arguments]
    return subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["check", "{}"], 3, "/robots.txt: 2 errors"),
        (["explain", "{}/x"], 1, "forbidden by line 2, Disallow: /x"),
        (["compare", "{}/a"], 0, "mandelbot  allowed"),
        (["sitemaps", "{}", "--read"], 1, "urlset: 1 entry"),
    ],
)
def test_verbs_fetch_urls_without_scrapy(webs, tmp_path, arguments, code, says):
    """By ``python -m mandelbot``, with its agent."""
    web = webs()
    body = b"User-agent: *\nDisallow: /x\nDisalow: /y\nSitemap: /s.xml\n"
    web.pages["/robots.txt"] = Answer(body, headers={"Content-Type": "text/plain"})
    web.pages["/s.xml"] = Answer(
        b"<urlset><url><loc>/a</loc></url><url></url></urlset>"
    )
    called = [one.format(web.url) for one in arguments]
    run = without_scrapy(tmp_path, *called)
    assert (run.returncode, run.stderr) == (code, "")
    assert says in run.stdout
    assert web.hits[0].headers["user-agent"].startswith("mandelbot/")


def test_python_m_has_the_verbs_that_need_no_project(tmp_path):
    """And says which they are."""
    run = without_scrapy(tmp_path, "--help")
    listed = re.findall(r"^  (\w+) +\S", run.stdout, re.MULTILINE)
    assert listed == list(VERBS)
    run = without_scrapy(tmp_path, "job", "crawls/shop-1")
    assert (run.returncode, run.stdout) == (2, "")
    assert "unknown command 'job'" in run.stderr
