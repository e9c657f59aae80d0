"""Scripts in Lua that a server runs in one step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha1
from importlib.resources import files


@dataclass(frozen=True)
class Script:
    """What the server does in one step: all of it or, where it is full, a part."""

    text: str

    @cached_property
    def keys(self) -> int:
        """How many of its arguments are keys, as its first line names them."""
        return self.text.partition("\n")[0].count(",") + 1

    @cached_property
    def digest(self) -> str:
        return sha1(self.text.encode()).hexdigest()  # noqa: S324 -- the server's choice


def read_script(package: str, *names: str) -> Script:
    folder = files(package) / "lua"
    return Script("\n".join((folder / f"{one}.lua").read_text() for one in names))
