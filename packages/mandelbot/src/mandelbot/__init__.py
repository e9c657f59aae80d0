r"""The Robots Exclusion Protocol: robots.txt, sitemaps, robot tags, usage preferences.

It reads, checks, fixes and explains what a site says to robots, in six dialects, from
any bytes.

>>> from mandelbot import RobotsTxt
>>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /private\n")
>>> robots.allowed("https://example.com/private/notes", "Mandelbot")
False

The public names stand in ``__init__.pyi``. Each is imported when it is first used: who
only decides does not wait for the linter.
"""

from importlib import import_module

_STUB = __spec__.loader.get_data(
    f"{__path__[0]}/__init__.pyi"
).decode()  # from a zip file, too
_IMPORTS = (line.split() for line in _STUB.splitlines() if line.startswith("from "))
_HOMES = {name: home for _, home, _, name, *_ in _IMPORTS}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
