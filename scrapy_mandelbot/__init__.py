"""Scrapy reads every robots.txt right, pauses sites in trouble, finds their sitemaps.

The public names stand in ``__init__.pyi``. Each is imported when it is first used:
Scrapy loads the package's commands on every call. What a site's files say is read by
the library, ``mandelbot``.
"""

from importlib import import_module

# from a zip file, too
_STUB = __spec__.loader.get_data(f"{__path__[0]}/__init__.pyi").decode()
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
