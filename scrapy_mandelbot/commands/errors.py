"""The error that ends a verb."""

from __future__ import annotations


class UnavailableError(Exception):
    """A file, a URL, a response or a choice is not available; the message is the line to print."""
