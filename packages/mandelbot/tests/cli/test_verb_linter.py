"""``scrapy robots check`` as a linter of many files, with a project's choices."""

from __future__ import annotations

import json
import re
import sys

import pytest

from mandelbot.findings import FINDINGS, Severity

CLEAN = "User-agent: *\nDisallow: /private/\n"
WARNS = "User-agent: *\nUser-agent: a\nDisallow: /b\nNoindex: /b\n"
WRONG = "User-agent: *\nDisalow: /\nDisallow: /a*\n"


@pytest.fixture
def files(tmp_path):
    """Three files in folders."""
    for name, text in (("clean", CLEAN), ("warns", WARNS), ("wrong", WRONG)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "robots.txt").write_text(text)
    return [f"{name}/robots.txt" for name in ("clean", "warns", "wrong")]


def codes(run):
    report = json.loads(run.stdout)
    return [
        one["code"]
        for file in report.get("files", [report])
        for one in file["findings"]
    ]


def test_several_files_are_checked(robots, files):
    """Each is told, then all; the exit code is that of the worst."""
    run = robots("check", *files[:2])
    assert run.returncode == 1
    text = run.stdout.decode()
    assert "\nclean/robots.txt: nothing is wrong\n" in f"\n{text}"
    assert "\nwarns/robots.txt: 1 warning\n" in text
    assert text.endswith("\n\n2 files: 1 warning\n")
    run = robots("check", *files, files[0], "--format", "json")
    report = json.loads(run.stdout)
    assert run.returncode == report["exit_code"] == 3
    assert [one["source"] for one in report["files"]] == files
    assert report["counts"] == {"error": 1, "warning": 1, "note": 2}


@pytest.mark.parametrize(
    ("choices", "found"),
    [
        ([], ["misspelt-field", "wildcard", "redundant-star"]),
        (["--ignore", "wildcard"], ["misspelt-field", "redundant-star"]),
        (["--ignore", "wildcard,misspelt-field"], ["redundant-star"]),
        (["--ignore", "note"], ["misspelt-field"]),
        (["--select", "error"], ["misspelt-field"]),
        (
            ["--select", "wildcard", "--select", "misspelt-field"],
            ["misspelt-field", "wildcard"],
        ),
        (["--select", "note", "--ignore", "wildcard"], ["redundant-star"]),
    ],
)
def test_findings_are_chosen(robots, files, choices, found):
    """By code, or by severity; those left out count for nothing but their number."""
    run = robots("check", files[2], "--format", "json", *choices)
    assert codes(run) == found
    report = json.loads(run.stdout)
    assert report["ignored"] == 3 - len(found)
    assert report["counts"]["error"] == found.count("misspelt-field")
    assert run.returncode == (3 if "misspelt-field" in found else 0)
    if report["ignored"]:
        text = robots("check", files[2], *choices).stdout.decode()
        assert f"({report['ignored']} ignored)" in text


def test_warnings_need_not_fail(robots, files):
    """Errors always do."""
    assert robots("check", files[1], "--fail-on", "error").returncode == 0
    assert robots("check", files[1], "--fail-on", "warning").returncode == 1
    assert robots("check", files[2], "--fail-on", "error").returncode == 3


def test_a_projects_choices_are_in_its_file(robots, files, tmp_path):
    """The nearest, up to the repository's root; the command line says otherwise."""
    (tmp_path / ".mandelbot.cfg").write_text(
        "[mandelbot]\nignore = wildcard,\n    redundant-star\nfail-on = error\n"
    )
    assert codes(robots("check", files[2], "--format", "json")) == ["misspelt-field"]
    assert robots("check", files[1]).returncode == 0
    assert robots("check", files[1], "--fail-on", "warning").returncode == 1
    run = robots("check", files[2], "--format", "json", "--ignore", "misspelt-field")
    assert codes(run) == ["wildcard", "redundant-star"]
    (tmp_path / "other.cfg").write_text("[mandelbot]\nselect = wildcard\n")
    run = robots("check", files[2], "--format", "json", "--config", "other.cfg")
    assert codes(run) == ["wildcard"]


def test_the_file_is_found_from_below_and_not_above_the_repository(
    command, files, tmp_path
):
    """As linters do it."""
    (tmp_path / ".mandelbot.cfg").write_text("[mandelbot]\nignore = note\n")
    below = tmp_path / "wrong"
    assert codes(command.run(below, "check", "robots.txt", "--format", "json")) == [
        "misspelt-field"
    ]
    (below / ".git").mkdir()
    assert (
        len(codes(command.run(below, "check", "robots.txt", "--format", "json"))) == 3
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[mandelbot]\nignore = wildcrad\n",
            "ignore: there is no finding wildcrad: wildcard is meant",
        ),
        ("[mandelbot]\nfail-on = never\n", "fail-on: never is not error, warning"),
        (
            "[mandelbot]\nfail_on = error\n",
            "fail_on is not one of select, ignore, fail-on",
        ),
        ("[lint]\nignore = note\n", "there is no section lint, only mandelbot"),
        ("ignore = note\n", "File contains no section headers."),
    ],
)
def test_invalid_choices_are_reported(robots, files, tmp_path, text, said):
    """With the file that it is in; a typing error must not let errors through."""
    (tmp_path / ".mandelbot.cfg").write_text(text)
    run = robots("check", files[0])
    assert (run.returncode, run.stdout) == (2, b"")
    assert said in run.stderr.decode()
    assert ".mandelbot.cfg" in run.stderr.decode()


CHOICES = {
    "pyproject.toml": '[tool.mandelbot]\nignore = ["note"]\nfail-on = "error"\n',
    "setup.cfg": (
        "[metadata]\nname = x\n[mandelbot]\nignore = note\nfail-on = error\n"
    ),
    ".mandelbot.cfg": "[mandelbot]\nignore = note\nfail-on = error\n",
}
needs_toml = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="Python 3.10 reads no TOML"
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=needs_toml if "toml" in name else ())
        for name in CHOICES
    ],
)
def test_choices_are_read_from_each_configuration_file(command, files, tmp_path, name):
    (tmp_path / name).write_text(CHOICES[name])
    run = command.run(tmp_path, "check", *files[:2], "--format", "json")
    assert codes(run) == ["noindex"]
    assert run.returncode == 0
    run = command.run(tmp_path / "wrong", "check", "robots.txt", "--format", "json")
    assert codes(run) == ["misspelt-field"]


@needs_toml
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[tool.mandelbot]\nselect = 5\n", "select: 5 is no list of codes"),
        ("[tool.mandelbot]\nignore = true\n", "ignore: True is no list of codes"),
        ("[tool.mandelbot]\nselect = [1]\n", "there is no finding 1"),
        ("[tool.mandelbot]\nfail-on = nan\n", "fail-on: nan is not error, warning"),
        ("[tool]\nmandelbot = 3\n# [tool.mandelbot]\n", "tool.mandelbot is no table"),
        ("tool = 3\n# [tool.mandelbot]\n", "tool is no table"),
        (
            "[tool.mandelbot]\nselect = " + "[" * 5_000 + "]" * 5_000,
            "it is nested too deeply",
        ),
        ("[tool.mandelbot]\nselect = \0\n", "pyproject.toml: "),
    ],
    ids=["number", "flag", "codes", "nan", "no table", "no tool", "deep", "NUL"],
)
def test_a_wrong_pyproject_is_a_usage_error(command, files, tmp_path, text, why):
    """One line names the file and the key."""
    (tmp_path / "pyproject.toml").write_text(text)
    run = command.run(tmp_path, "check", *files[:2])
    assert run.returncode == 2
    (line,) = run.stderr.decode().splitlines()
    assert "pyproject.toml: " in line
    assert why in line


def test_a_configuration_file_that_is_not_there(robots, tmp_path):
    """It is never a URL, so nothing is said of one."""
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /x\n")
    run = robots("check", "robots.txt", "--config", "none.toml")
    assert run.returncode == 2
    assert run.stderr.endswith(b"none.toml: there is no such file (--config)\n")


def test_comments_suppress_findings(robots, tmp_path):
    """In a line of its own of the whole file, at the end of a line of that line."""
    slips = "Disalow: /a{}\nDisalow: /b\n"
    (tmp_path / "robots.txt").write_text(
        f"User-agent: *\nDisallow: /x\n{slips.format('')}"
    )
    assert (
        codes(robots("check", "robots.txt", "--format", "json"))
        == ["misspelt-field"] * 2
    )
    one = slips.format(" # mandelbot: ignore misspelt-field")
    (tmp_path / "robots.txt").write_text(f"User-agent: *\nDisallow: /x\n{one}")
    report = json.loads(robots("check", "robots.txt", "--format", "json").stdout)
    assert [(found["code"], found["line"]) for found in report["findings"]] == [
        ("misspelt-field", 4)
    ]
    every = "# mandelbot: ignore wildcard, misspelt-field\n" + slips.format("")
    (tmp_path / "robots.txt").write_text(f"User-agent: *\nDisallow: /x\n{every}")
    assert (
        robots("check", "robots.txt").stdout
        == b"robots.txt: nothing is wrong (2 ignored)\n"
    )


def test_a_folder_stands_for_its_robots_txt_files(robots, files, tmp_path):
    """But what is hidden."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "robots.txt").write_text(WRONG)
    (tmp_path / "wrong" / "other.txt").write_text(WRONG)
    report = json.loads(robots("check", ".", "--format", "json").stdout)
    assert [one["source"] for one in report["files"]] == files


def test_rule_explains_findings(robots):
    """Of those named, or of all; a slip is told with what is meant."""
    run = robots("rule", "misspelt-field")
    assert run.stdout.decode().startswith(
        "misspelt-field (error, is unread)\n  A field is misspelt."
    )
    assert run.stdout.decode().endswith(
        "  found in line 2:\n    User-agent: *\n    Dissallow: /a\n"
        "  clean:\n    User-agent: *\n    Disallow: /a\n"
    )
    assert "redirects=5" in robots("rule", "many-redirects").stdout.decode()
    rules = json.loads(robots("rule", "--format", "json").stdout)["rules"]
    assert [rule["code"] for rule in rules] == list(FINDINGS)
    run = robots("rule", "misspelled-field")
    assert (run.returncode, run.stdout) == (2, b"")
    assert (
        b"there is no finding misspelled-field: misspelt-field is meant" in run.stderr
    )


def test_sarif(robots, files):
    """Version 2.1.0: rules with their levels, results with file, line and message."""
    run = robots("check", *files, "--format", "sarif", "--ignore", "wildcard")
    log = json.loads(run.stdout)
    assert run.returncode == 3
    assert log["version"] == "2.1.0"
    (told,) = log["runs"]
    rules = told["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [
        code for code in FINDINGS if code != "wildcard"
    ]
    levels = {str(severity) for severity in Severity}
    assert {rule["defaultConfiguration"]["level"] for rule in rules} == levels
    results = told["results"]
    assert [one["ruleId"] for one in results if one["level"] == "error"] == [
        "misspelt-field"
    ]
    for one in results:
        assert rules[one["ruleIndex"]]["id"] == one["ruleId"]
    [wrong] = [one for one in results if one["level"] == "error"]
    assert wrong["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "wrong/robots.txt"},
                "region": {"startLine": 2, "snippet": {"text": "Disalow: /"}},
            }
        }
    ]
    assert told["invocations"] == [
        {"executionSuccessful": True, "toolExecutionNotifications": []}
    ]
    log = json.loads(robots("check", "nowhere", files[0], "--format", "sarif").stdout)
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False


SARIF = {
    "": {"$schema", "version", "runs"},
    "runs": {"tool", "invocations", "results", "columnKind"},
    "tool": {"driver"},
    "driver": {"name", "version", "rules"},
    "rules": {
        *("id", "shortDescription", "fullDescription", "help"),
        "defaultConfiguration",
    },
    "defaultConfiguration": {"level"},
    "invocations": {"executionSuccessful", "toolExecutionNotifications"},
    "toolExecutionNotifications": {"level", "message"},
    "results": {"ruleId", "ruleIndex", "level", "message", "locations"},
    "locations": {"physicalLocation"},
    "physicalLocation": {"artifactLocation", "region"},
    "artifactLocation": {"uri"},
    "region": {"startLine", "snippet"},
    "message": {"text"},
    "snippet": {"text"},
    "shortDescription": {"text"},
    "fullDescription": {"text"},
    "help": {"text"},
}
"""What of SARIF's schema, which allows no other properties, is written.

Logs of 30 files were validated against all of it with jsonschema.
"""


def assert_sarif(value, name=""):
    """Compare with SARIF, and with the limits that the schema sets to values."""
    if isinstance(value, list):
        for one in value:
            assert_sarif(one, name)
    elif isinstance(value, dict):
        assert set(value) <= SARIF[name], name
        for key, inner in value.items():
            assert_sarif(inner, key)
    elif name == "level":
        assert value in {"none", "note", "warning", "error"}
    elif name == "uri":
        assert re.fullmatch(r"[!#-;=?-\[\]_a-z~]+", value)
    elif name == "startLine":
        assert value >= 1
    elif name == "ruleIndex":
        assert value >= 0


def test_sarif_is_valid(robots, tmp_path):
    """Whatever the file is called and holds."""
    folder = tmp_path / "a b\u00e9#%"
    folder.mkdir()
    (folder / "robots.txt").write_bytes(b"Disalow: /\x01\xe9\r\xff\0Sitemap: x\n")
    for arguments in ((".", "nowhere"), (folder / "robots.txt",)):
        run = robots("check", *map(str, arguments), "--format", "sarif")
        log = json.loads(run.stdout)
        assert log["runs"][0]["results"]
        assert_sarif(log)


def test_github_annotations(robots, tmp_path):
    """One a line; what a file says ends none and begins none."""
    folder = tmp_path / "a,b:c"
    folder.mkdir()
    (folder / "robots.txt").write_bytes(
        b"User-agent: *\nDisalow%0A::error::x: /\x1b\r::warning::y\n"
    )
    both = ("a,b:c/robots.txt", "nowhere")
    run = robots("check", *both, "--format", "github", "--full")
    lines = run.stdout.decode().splitlines()
    assert run.returncode == 2
    found = json.loads(robots("check", "a,b:c/robots.txt", "--format", "json").stdout)[
        "findings"
    ]
    assert len(lines) == len(found) + 1 > 4
    without_place = [line for line in lines if line.startswith("::error title=")]
    assert without_place == [
        "::error title=robots.txt::nowhere: no such file or directory"
    ]
    for line in lines:
        assert line in without_place or re.match(
            r"::(warning|notice)"
            r" file=a%2Cb%3Ac/robots\.txt,(line=\d,)?title=[a-z-]+::\S",
            line,
        ), line
        assert "%0A" not in line
    kinds = [line.partition(" ")[0] for line in lines]
    assert kinds == sorted(kinds, key="::notice".__eq__)  # GitHub shows ten of a kind
    run = robots("check", *both, "--format", "github")
    shown = [line for line in lines if not line.startswith("::notice")]
    assert run.stdout.decode().splitlines() == shown


def test_environment_sets_colours_and_columns(robots, files):
    """FORCE_COLOR in a pipe, unless NO_COLOR.

    COLUMNS, as far as words can be broken.
    """
    plain = robots("check", files[2]).stdout
    assert b"\x1b" not in plain
    coloured = robots("check", files[2], FORCE_COLOR="1").stdout
    assert b"\x1b[31;1merror\x1b[0m" in coloured
    assert robots("check", files[2], FORCE_COLOR="1", NO_COLOR="1").stdout == plain
    assert robots("check", files[2], FORCE_COLOR="0").stdout == plain
    for columns in ("50", "120"):
        text = robots("check", files[2], "--full", COLUMNS=columns).stdout.decode()
        widest = max(map(len, text.splitlines()))
        assert int(columns) - 20 < widest <= int(columns)
    assert robots("check", files[2], COLUMNS="wide").stdout == plain


# What people put into their repositories.
