"""Renders the HTML pages of this package.

``pages.css`` is the style that all pages share. Text from the web may be malicious: it
is escaped, and the page's Content-Security-Policy allows its own script only and loads
nothing. Pages are ASCII, so that they are the same in every pipe and locale.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from mandelbot.formatting import printable

_POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; base-uri 'none';"
    " form-action 'none'"
)


def file_of(package: str, name: str) -> str:
    """Return the text of a file in a package."""
    return resources.files(package).joinpath(name).read_text("ascii")


def render(  # noqa: PLR0913 - the parts of a page
    package: str,
    template: str,
    values: Mapping[str, object],
    *,
    style: str,
    script: str = "",
    unscripted: str = "",
) -> str:
    """Return a page from the template of a package, with its style and scripts.

    Besides its values the template gets ``policy``, ``style``, ``script`` and
    ``unscripted``, CSS for browsers without scripts. Texts among the values are made
    printable and escaped.

    Raises:
        ImportError: Jinja2 is not installed.
    """
    import jinja2  # noqa: PLC0415 - an extra

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: file_of(package, name)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = file_of(__package__, "pages.css") + style
    styles = " ".join(_hash(one) for one in (style, unscripted) if one)
    policy = _POLICY.format(script=_hash(script) if script else "'none'", style=styles)
    page = environment.get_template(template).render(
        policy=policy, style=style, script=script, unscripted=unscripted, **values
    )
    if not page.isascii():
        page = page.encode("ascii", "xmlcharrefreplace").decode()
    return page + "\n"


def script_data(data: Any) -> str:
    """Return data as JSON that cannot end the ``<script>`` around it."""
    return _in_script(as_json(data))


def script_members(members: Mapping[str, str]) -> str:
    """Return a JSON object like `script_data`, given the JSON of each of its members.

    What is large is written piece by piece: as data it takes many times the memory.
    """
    pieces = []
    for name, text in members.items():
        pieces.append(f"{as_json(name)}:{_in_script(text)}")
    return f"{{{','.join(pieces)}}}"


def as_json(data: Any) -> str:
    """Return data as JSON, as short as can be."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def _in_script(text: str) -> str:
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
