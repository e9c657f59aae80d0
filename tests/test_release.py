"""What is released is complete, says what is so, and is told from what is not to be
released.
"""

from __future__ import annotations

import configparser
import csv
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pages import library_page
from pages import page as read_page

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.rst").read_text()
CI = (ROOT / ".ci" / "run").read_text()
VERSIONS = (ROOT / "docs" / "versions.rst").read_text()
GITHUB = ROOT / ".github"
WORKFLOWS = {path.name: path.read_text() for path in GITHUB.glob("workflows/*.yml")}
SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg")
HOME = SETUP["metadata"]["url"]


def program(path: str):
    """Return a script of the repository as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table(title: str) -> list[list[str]]:
    """Return the rows of the table below a title of the page of versions."""
    below = VERSIONS.partition(f"\n{title}\n---")[2].partition(":delim: ;\n\n")[2]
    rows = below.partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in row] for row in csv.reader(rows, delimiter=";")]


def listed(section: str, option: str) -> list[str]:
    """Return the lines of an option of setup.cfg."""
    return SETUP[section][option].strip().splitlines()


def pythons() -> set[str]:
    """Return the versions of Python that the classifiers name."""
    of = re.compile(r"Programming Language :: Python :: (3\.\d+)")
    return {
        found[1]
        for found in map(of.fullmatch, listed("metadata", "classifiers"))
        if found
    }


def test_every_python_that_is_named_was_run():
    """The classifiers, the table of tested versions and the lowest version agree."""
    run = {row[0] for row in table("What was run")}
    assert pythons() <= {re.match(r"3\.\d+", version)[0] for version in run}
    lowest = min(pythons(), key=lambda version: int(version.split(".")[1]))
    assert SETUP["options"]["python_requires"] == f">={lowest}"


def test_both_ends_of_scrapy_were_run():
    """The oldest that setup.cfg takes is in the table."""
    needed = listed("options", "install_requires")
    (oldest,) = (
        line.removeprefix("scrapy >= ") for line in needed if line.startswith("scrapy ")
    )
    assert oldest in {row[1] for row in table("What was run")}


def test_workflows_and_tox_test_every_python_that_is_named():
    """What is promised is run again with each change."""
    assert pythons() <= set(re.findall(r'"(3\.\d+)"', WORKFLOWS["tests.yml"]))
    tox = (ROOT / "tox.ini").read_text()
    envs = re.search(r"py3\{([\d,]+)\}", tox)[1].split(",")
    assert pythons() <= {f"3.{minor}" for minor in envs}


def test_tox_has_the_oldest_as_setup_cfg_has_it():
    """The lower end is one and the same."""
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    oldest = tox["testenv:py310-oldest"]["deps"].strip().splitlines()
    library = (ROOT / "packages" / "mandelbot" / "pyproject.toml").read_text()
    taken = re.findall(
        r'"(.+)"', library.partition("\ndependencies = [")[2].partition("]")[0]
    )
    taken += [
        one
        for one in listed("options", "install_requires")
        if not one.startswith("mandelbot")
    ]
    lowest = {line.replace(">=", "==") for line in taken}
    assert sorted(oldest) == sorted({*lowest, "-r requirements-dev.txt"})


def test_a_step_of_a_workflow_is_a_part_of_ci():
    """What fails there can be run by its name at home; and nothing is tested there
    alone.
    """
    parts = set(re.findall(r"^(\w+)\(\) \{", CI, re.MULTILINE))
    for name, text in WORKFLOWS.items():
        steps = re.findall(r"- run: \.ci/run (.*)", text)
        matrix = {
            part
            for row in re.findall(r"part: \[(.*)\]", text)
            for part in row.split(", ")
        }
        named = {
            part
            for step in steps
            for part in step.split()
            if re.fullmatch(r"\w+", part)
        }
        assert steps, name
        assert (named | matrix) <= parts, name
    tests = re.findall(r"^ +- run: (.*)$", WORKFLOWS["tests.yml"], re.MULTILINE)
    assert all(step.startswith(".ci/run ") for step in tests)


def test_every_part_of_ci_is_run_by_a_workflow():
    """All that must hold before anything lands must hold before a release."""
    (parts,) = re.findall(r"^parts=\((.*)\)$", CI, re.MULTILINE)
    for part in parts.split():
        assert re.search(rf"(?:\.ci/run|part:).*\b{part}\b", WORKFLOWS["tests.yml"]), (
            part
        )


def test_a_release_waits_for_the_tests_and_has_no_password():
    """Nothing is published that was not looked at, built, tested and attested."""
    release = WORKFLOWS["release.yml"]
    assert "uses: ./.github/workflows/tests.yml" in release
    assert "needs: [build, test]" in release
    assert "needs: attest" in release
    assert "secrets." not in release
    for text in WORKFLOWS.values():
        assert text.count("permissions:\n  contents: read\n") == 1, (
            "and no more by default"
        )


def test_an_action_is_named_by_its_commit():
    """Whoever can move a tag could publish; dependabot reads the version behind it."""
    used = {
        line.strip().removeprefix("- ")
        for text in WORKFLOWS.values()
        for line in text.splitlines()
        if "uses:" in line and "uses: ./" not in line
    }
    assert len(used) > 5
    form = r"uses: [\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
    assert [one for one in used if not re.fullmatch(form, one)] == []
    assert "github-actions" in (GITHUB / "dependabot.yml").read_text()


def test_links_of_the_readme_work_on_the_package_index():
    """Those to files of the repository are made whole, and lead to files that are
    there.
    """
    setup = program("setup.py")
    relative = [link["path"] for link in setup.RELATIVE.finditer(README)]
    assert all((ROOT / path).is_file() for path in relative), relative
    whole = setup.with_whole_links(README, HOME, "1.2.3")
    assert not setup.RELATIVE.search(whole)
    targets = re.findall(
        r"(?:image|figure):: (\S+)|^\.\. _[^:\n]+: (\S+)|`[^`<]+<(\S+)>`_", whole
    )
    assert all(
        "://" in link or "@" in link for pair in targets for link in pair if link
    ), targets


LINKS = [
    (".. image:: docs/page.png", ".. image:: HOME/raw/v1.2/docs/page.png"),
    (".. |p| image:: docs/page.png", ".. |p| image:: HOME/raw/v1.2/docs/page.png"),
    ("   .. figure:: docs/a.svg", "   .. figure:: HOME/raw/v1.2/docs/a.svg"),
    ("`start <docs/start.rst>`_", "`start <HOME/blob/v1.2/docs/start.rst>`_"),
    (".. _changes: CHANGES.rst", ".. _changes: HOME/blob/v1.2/CHANGES.rst"),
    ("``docs/start.rst`` says so", "``docs/start.rst`` says so"),
    ("`x <https://example.com/docs/a.rst>`_", "`x <https://example.com/docs/a.rst>`_"),
]


@pytest.mark.parametrize(("line", "whole"), LINKS)
def test_a_link_is_made_whole(line, whole):
    """A picture by its bytes, a page as it is shown; nothing else is touched."""
    assert program("setup.py").with_whole_links(line, "HOME", "1.2") == whole


def test_the_projects_address_stands_in_one_place_for_each_distribution():
    """Who sets it up changes two files, which another test compares."""
    name = re.sub(r"^https://([^/]+)/.*", r"\1", HOME)
    kept = {".venv", "venv", "build", "dist", ".git", ".hypothesis"}
    texts = [
        path
        for top in sorted(ROOT.iterdir())
        # What is unpacked for an archive may be gone again by now.
        if top.name not in kept
        and not re.match(r"scrapy_mandelbot-\d|.*egg-info", top.name)
        for path in ([top] if top.is_file() else top.rglob("*"))
        if path.suffix in {".py", ".rst", ".cfg", ".toml", ".yml", ".yaml", ".ini"}
        if path.relative_to(ROOT).parts[1:2] not in {(one,) for one in kept}
    ]
    places = {
        path.relative_to(ROOT).as_posix() for path in texts if name in path.read_text()
    }
    assert places == {"setup.cfg", "packages/mandelbot/pyproject.toml"}


CHANGES = "Changes\n=======\n\n1.2.3 (2026-11-22)\n------------------\n\n- New.\n\n"
OLDER = "1.2.2 (2026-10-01)\n------------------\n\n- Old.\n"
ADDRESS = "https://example.com/code"
PROBLEMS = [
    ("v1.2.3", "1.2.3", CHANGES + OLDER, ADDRESS, ""),
    ("1.2.3", "1.2.3", CHANGES, ADDRESS, "the tag is 1.2.3, and the version v1.2.3"),
    ("v1.2.4", "1.2.3", CHANGES, ADDRESS, "the tag is v1.2.4"),
    ("v1.2.4", "1.2.4", CHANGES + OLDER, ADDRESS, "is 1.2.3, not 1.2.4"),
    (
        "v1.2.3",
        "1.2.3",
        CHANGES.replace("2026-11-22", "unreleased"),
        ADDRESS,
        "no date",
    ),
    (
        "v1.2.3",
        "1.2.3",
        CHANGES.replace("- New.", ""),
        ADDRESS,
        "says nothing of 1.2.3",
    ),
    ("v1.2.3", "1.2.3", "", ADDRESS, "is none, not 1.2.3"),
    ("v1.2.3", "1.2.3", CHANGES, "https://scrapy.example/code", "is a placeholder"),
    (
        "v1.2.3",
        "1.2.3",
        CHANGES,
        f"https://scrapy.example/ {ADDRESS}",
        "is a placeholder",
    ),
    ("v1.2.3", "1.2.3", CHANGES, f"{ADDRESS} some@scrapy.example", "is a placeholder"),
]


def test_nothing_is_published_while_an_address_is_a_placeholder():
    """What setup.cfg has is what is looked at."""
    command = [sys.executable, ROOT / ".ci" / "release.py", "check", "v0"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    addresses = f"{HOME} {SETUP['metadata']['author_email']}"
    is_one = any(part in addresses for part in (".example", ".invalid", ".test"))
    assert (f"is a placeholder: {addresses}" in run.stderr) == is_one


def test_no_page_may_say_that_nothing_is_published_once_it_is():
    """A release names each page that still has the install line of a clone."""
    release = program(".ci/release.py")
    command = [sys.executable, ROOT / ".ci" / "release.py", "check", "v0"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    pages = re.findall(r"Not to be published: (\S+) says '", run.stderr)
    assert pages == release.pages_before_a_release()
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        (line,) = re.findall(rf"{release.UNPUBLISHED}.*\n\n.*\n\n +(.*)", text)
        folders = line.removeprefix("pip install ").split()
        assert all((ROOT / folder).is_dir() for folder in folders), line


def test_the_library_has_the_address_of_the_project():
    """setup.cfg has it, and nothing else but the library's own file."""
    library = (ROOT / "packages" / "mandelbot" / "pyproject.toml").read_text()
    assert f'Source = "{HOME}"' in library
    assert f'Issues = "{HOME}/issues"' in library
    assert f'email = "{SETUP["metadata"]["author_email"]}"' in library


@pytest.mark.parametrize("path", sorted(GITHUB.glob("ISSUE_TEMPLATE/*.yml")), ids=str)
def test_an_issue_form_names_commands_that_exist(path):
    """What a report asks for can be had."""
    text = path.read_text(encoding="utf-8")
    verbs = re.findall(r"`(?:scrapy robots|mandelbot) (\w+)", text)
    page = library_page("command") + read_page("robots_command")
    assert all(verb in page for verb in verbs)
    for name in re.findall(r"MANDELBOT_\w+", text):
        assert f"\n{name}\n~" in (ROOT / "docs" / "settings.rst").read_text()


@pytest.mark.parametrize(("tag", "built", "changes", "address", "problem"), PROBLEMS)
def test_what_is_not_ready_is_not_published(tag, built, changes, address, problem):
    """Each thing that is missing is named."""
    found = program(".ci/release.py").problems(tag, built, changes, address, [])
    assert found == [] if not problem else any(problem in one for one in found)


def test_a_fragment_that_is_in_no_section_keeps_a_release_back():
    """It would be told of in the version after the one that has the change."""
    left = ["new.feature.rst"]
    found = program(".ci/release.py").problems(
        "v1.2.3", "1.2.3", CHANGES, ADDRESS, left
    )
    assert found == ["changelog.d still has new.feature.rst: run towncrier build"]


def test_the_notes_of_a_release_are_its_section_of_the_changes():
    """What comes before it and after it is not in them."""
    release = program(".ci/release.py")
    assert release.newest(CHANGES + OLDER) == ("1.2.3", "2026-11-22", "- New.")
    command = [sys.executable, ROOT / ".ci" / "release.py"]
    run = subprocess.run(
        [*command, "notes"], capture_output=True, text=True, check=True
    )
    assert run.stdout == f"{release.newest((ROOT / 'CHANGES.rst').read_text())[2]}\n"
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2


KINDS = ("feature", "change", "bugfix", "removal")


def test_a_fragment_of_the_changes_has_a_kind_and_some_lines():
    """That it can be rendered is tested with all documents."""
    name = re.compile(rf"[a-z0-9-]+\.(?:{'|'.join(KINDS)})\.rst")
    for path in (ROOT / "changelog.d").iterdir():
        lines = path.read_text(encoding="utf-8").strip().splitlines()
        is_one = name.fullmatch(path.name) and 1 <= len(lines) <= 4
        assert is_one or path.name == "template.jinja", path.name


def test_the_changes_begin_with_the_version_that_is_built():
    """Or what is published is described nowhere."""
    release = program(".ci/release.py")
    changes = (ROOT / "CHANGES.rst").read_text(encoding="utf-8")
    assert release.newest(changes)[0] == release.version()


def test_fragments_become_a_section_that_a_release_finds(tmp_path):
    """With the title that .ci/release.py looks for, and no line but theirs."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copy(ROOT / "CHANGES.rst", tmp_path)
    folder = tmp_path / "changelog.d"
    folder.mkdir()
    shutil.copy(ROOT / "changelog.d" / "template.jinja", folder)
    for kind in KINDS:
        (folder / f"some-{kind}.{kind}.rst").write_text(f"A {kind}\nof two lines.\n")
    towncrier = [sys.executable, "-m", "towncrier", "build", "--yes"]
    build = [
        *towncrier,
        "--version",
        "9.9.9",
        "--date",
        "2026-12-01",
        "--dir",
        tmp_path,
    ]
    subprocess.run(build, capture_output=True, check=True)
    changes = (tmp_path / "CHANGES.rst").read_text()
    found = program(".ci/release.py").newest(changes)
    assert found[:2] == ("9.9.9", "2026-12-01")
    entries = re.findall(r"(?m)^- .*\n  .*", found[2])
    assert sorted(entries) == sorted(f"- A {kind}\n  of two lines." for kind in KINDS)
    assert list(folder.glob("*.rst")) == []


@pytest.mark.parametrize(
    ("built", "library", "needed", "said"),
    [
        ("0.1.2", "0.1.2", "\nmandelbot == 0.1.2\nscrapy >= 2.14", []),
        (
            "0.1.2",
            "0.1.1",
            "mandelbot == 0.1.2",
            ["the library is 0.1.1, and the add-on 0.1.2"],
        ),
        (
            "0.2.0",
            "0.2.0",
            "mandelbot == 0.2.0.dev1",
            ["setup.cfg does not take mandelbot == 0.2.0"],
        ),
    ],
)
def test_both_distributions_are_released_with_one_version(built, library, needed, said):
    """A library of another version would be taken from the index."""
    assert program(".ci/release.py").of_the_library(built, library, needed) == said


def test_both_distributions_have_one_version_now():
    """And the add-on takes it."""
    release = program(".ci/release.py")
    built, library = map(release.version, release.PACKAGES)
    needed = SETUP["options"]["install_requires"]
    assert release.of_the_library(built, library, needed) == []


def test_both_distributions_name_the_same_addresses_and_pythons():
    """What a fork changes in setup.cfg, it changes in the library's file, too."""
    library = (ROOT / "packages" / "mandelbot" / "pyproject.toml").read_text()
    for text in (HOME, SETUP["metadata"]["author_email"]):
        assert f'"{text}"' in library
    of = re.compile(r"Programming Language :: Python :: (3\.\d+)")
    assert set(of.findall(library)) == pythons()
