"""Parsers in Python, as ``run.py`` asks them::

    python run.py "python parsers.py NAME"

A function takes the octets of a file, a robot's name and a URL, and returns whether it
may be fetched: copy one, and put your parser in.
"""

import base64
import json
import sys
from dataclasses import fields
from datetime import datetime
from functools import lru_cache
from importlib import import_module
from urllib.robotparser import RobotFileParser


def protego(octets, agent, url):
    """Scrapy's parser, with the text that Scrapy gives it."""
    return _protego(octets).can_fetch(url, agent)


@lru_cache(maxsize=1)
def _protego(octets):
    return import_module("protego").Protego.parse(octets.decode("utf-8", "ignore"))


def urllib(octets, agent, url):
    """Python's own, as the Python that runs this has it."""
    parser = RobotFileParser()
    parser.parse(octets.decode("utf-8", "replace").splitlines())
    return parser.can_fetch(agent, url)


def robotexclusionrulesparser(octets, agent, url):
    parser = import_module("robotexclusionrulesparser").RobotExclusionRulesParser()
    parser.parse(octets.decode("utf-8", "replace"))
    return parser.is_allowed(agent, url)


def robotspy(octets, agent, url):
    parse = import_module("robots").RobotsParser.from_string
    return parse(octets.decode("utf-8", "replace")).can_fetch(agent, url)


def gpyrobotstxt(octets, agent, url):
    """A port of Google's parser."""
    matcher = import_module("gpyrobotstxt.robots_cc").RobotsMatcher()
    return matcher.allowed_by_robots(octets, [agent], url)


def jwm_robotstxt(octets, agent, url):
    """Bindings of Google's parser: PyPI's jwm.robotstxt."""
    matcher = import_module("jwm.robotstxt.googlebot").RobotsMatcher()
    return matcher.OneAgentAllowedByRobots(octets, agent, url)


def fast_robotstxt(octets, agent, url):
    """A port of Google's parser: PyPI's fast-robotstxt."""
    matcher = import_module("robotstxt").RobotsMatcher()
    return matcher.is_allowed(octets.decode("utf-8", "replace"), agent, url)


def texting_robots(octets, agent, url):
    """A parser in Rust: PyPI's texting-robots-py."""
    return _texting_robots(octets, agent).allowed(url)


@lru_cache(maxsize=1)
def _texting_robots(octets, agent):
    return import_module("texting_robots").Robot(agent, octets)


def mandelbot(question):
    """This package, which answers all kinds of questions, in all dialects."""
    package = import_module("mandelbot")
    given = question["input"]
    agent = given.get("agent", "")
    agent = agent if isinstance(agent, str) else tuple(agent)
    if question["kind"] == "sitemap":
        reader = package.SitemapReader(given["url"])
        entries = [*reader.feed(octets_of(given, "sitemap")), *reader.close()]
        return [entry.loc for entry in entries]
    if question["kind"] == "robot_tags":
        tags = package.robot_tags(given["headers"], octets_of(given, "page"), agent)
        nothing = package.RobotTags()
        skipped = {"unknown", "sources"}
        values = {one.name: getattr(tags, one.name) for one in fields(tags)}
        return {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in values.items()
            if name not in skipped and value != getattr(nothing, name)
        }
    dialect = question.get("dialect", "mandelbot")
    robots = package.RobotsTxt.parse(octets_of(given, "robots_txt"), dialect=dialect)
    if question["kind"] == "allowed":
        return robots.allowed(question["url"], agent)
    in_pages = import_module("mandelbot.preferences.in_pages")
    tdmrep = import_module("mandelbot.preferences.tdmrep")
    page = in_pages.page_usage(given["headers"], octets_of(given, "page"), agent)
    if "tdmrep" in given:
        file = tdmrep.TdmFile.parse(given["tdmrep"].encode())
        page = tdmrep.with_tdm_file(page, file.usage(given["url"]))
    said = package.usage(robots, given["url"], agent).combined_with(page)
    return {name: one for name, one in said.answers.items() if one != "unknown"}


def octets_of(given, name):
    """Return an input as it would be fetched."""
    encoded = given.get(f"{name}_base64")
    if encoded is None:
        return given[name].encode()
    return base64.b64decode(encoded)


def answer(parser, question):
    """Ask a parser of robots.txt files; None: the question is of another kind."""
    if parser is mandelbot:
        return mandelbot(question)
    given = question["input"]
    if question["kind"] != "allowed" or not isinstance(given["agent"], str):
        return None
    try:
        return bool(
            parser(octets_of(given, "robots_txt"), given["agent"], question["url"])
        )
    except Exception as error:  # whatever it is, it is no answer
        return repr(error)


def main(name):
    """Answer the questions on standard input."""
    parser = globals()[name]
    for line in sys.stdin:
        print(json.dumps({"answer": answer(parser, json.loads(line))}))


if __name__ == "__main__":
    main(sys.argv[1])
