"""What the documents about robots.txt ask for, as tables: one module a document."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import cleandoc


@dataclass(frozen=True)
class Case:
    """A file, who asks, and which URLs they may and may not fetch."""

    section: str
    """Where the document says so."""
    says: str
    """What must hold, as a sentence."""
    body: str | bytes
    """The file; text is dedented."""
    allowed: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    agent: str | tuple[str, ...] = "Mandelbot"
    lines: tuple[tuple[str, int | None], ...] = ()
    """URLs with the line that decides; None: no rule does."""
    dialect: str = ""
    """Empty: the dialect of the module's table."""
    gap: str = ""
    """Why the case fails today."""

    @property
    def octets(self) -> bytes:
        """The file as it is fetched."""
        return (
            self.body if isinstance(self.body, bytes) else cleandoc(self.body).encode()
        )
