"""Which findings count in a project: from a file of its own, and from the command line.

The file is ``.robots-check.cfg``, in the folder where the command runs or the nearest above it,
within the same repository::

    [check]
    ignore = wildcard, redundant-star
    fail-on = error
"""

from __future__ import annotations

from configparser import ConfigParser
from configparser import Error as ConfigError
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.commands.sources import CannotBeHadError, read_source
from scrapy_mandelbot.robotstxt.lint import FINDINGS, Severity
from scrapy_mandelbot.shown import shown

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Mapping

FILE_NAME = ".robots-check.cfg"
FAIL_ON = {"error": Severity.ERROR, "warning": Severity.WARNING}
_SECTION = "check"
_KEYS = ("select", "ignore", "fail-on")
_SEVERITIES = {str(severity): severity for severity in Severity}


class Choices(NamedTuple):
    """What is told of what is found, and what fails."""

    select: frozenset[str] | None = None
    """Codes; None: all of them."""
    ignore: frozenset[str] = frozenset()
    fail_on: Severity = Severity.WARNING
    """The least severity that is no success."""

    def takes(self, code: str) -> bool:
        """Whether findings with this code count."""
        return (self.select is None or code in self.select) and code not in self.ignore


ALL = Choices()


def read_choices(opts: Namespace, folder: Path) -> Choices:
    """Return the choices of a call; what it leaves open is as the project's file says.

    Raises:
        CannotBeHadError: a choice is none, or the file named cannot be read.
    """
    path = Path(opts.config) if opts.config else _nearest(folder)
    chosen = dict(_read(path)) if path else {}
    where = dict.fromkeys(chosen, f"{path}: ")
    for key in _KEYS:
        told = getattr(opts, key.replace("-", "_"))
        if told is not None:
            chosen[key] = told if isinstance(told, str) else ",".join(told)
            where[key] = "--"
    codes = {key: _codes(chosen[key], where[key] + key) for key in _KEYS[:2] if key in chosen}
    fail_on = chosen.get("fail-on", str(ALL.fail_on)).strip()
    if fail_on not in FAIL_ON:
        raise CannotBeHadError(f"{where['fail-on']}fail-on: {shown(fail_on)} is not error, warning")
    return Choices(codes.get("select"), codes.get("ignore", ALL.ignore), FAIL_ON[fail_on])


def _nearest(folder: Path) -> Path | None:
    for one in (folder, *folder.parents):
        if (one / FILE_NAME).is_file():
            return one / FILE_NAME
        if (one / ".git").exists():
            break
    return None


def _read(path: Path) -> Mapping[str, str]:
    parser = ConfigParser(interpolation=None, default_section="")
    try:
        parser.read_string(read_source(str(path)).decode(), str(path))
    except (ConfigError, UnicodeDecodeError) as error:
        raise CannotBeHadError(f"{path}: {str(error).splitlines()[0]}") from None
    unknown = [name for name in parser.sections() if name != _SECTION]
    if unknown:
        raise CannotBeHadError(f"{path}: there is no section {shown(unknown[0])}, only {_SECTION}")
    found = dict(parser.items(_SECTION)) if parser.has_section(_SECTION) else {}
    for key in found:
        if key not in _KEYS:
            raise CannotBeHadError(f"{path}: {shown(key)} is not one of {', '.join(_KEYS)}")
    return found


def _codes(text: str, where: str) -> frozenset[str]:
    """Return the codes in a text: of a severity, all of its."""
    codes: set[str] = set()
    for word in text.replace(",", " ").split():
        if word in _SEVERITIES:
            codes.update(_of_severity(_SEVERITIES[word], FINDINGS))
        elif word in FINDINGS:
            codes.add(word)
        else:
            like = get_close_matches(word, FINDINGS, 1)
            hint = f": {like[0]} is meant, most likely" if like else ""
            raise CannotBeHadError(f"{where}: there is no finding {shown(word)}{hint}")
    return frozenset(codes)


def _of_severity(severity: Severity, codes: Iterable[str]) -> Iterable[str]:
    return (code for code in codes if FINDINGS[code].severity is severity)
