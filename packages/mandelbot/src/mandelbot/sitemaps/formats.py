"""The sitemap formats: how to recognise each, and where entries have their fields.

Sources: sitemaps.org, "XML tag definitions", "Sitemap index" and "Other Sitemap
formats"; RSS 2.0 specification, "Elements of <item>"; RFC 4287 (Atom), sections 4.1.2
and 4.2.7.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html.entities import html5
from typing import Any, NamedTuple

# A tag, the text after it and, if it follows, its closing tag: a leaf is one match. A
# quoted value may contain ">", unless the quotes are not closed.
_TAG_ELEMENTS = re.compile(
    r"""<(/?)([^\s<>/"'=]+)(?=[\s<>/"'=])"""
    r"""((?:[^<>"']*(?:(?:"[^"<]*"|'[^'<]*')[^<>"']*)*)|[^<>]*)>([^<]*)(</\2\s*>)?"""
)
_ATTRIBUTE = re.compile(
    r"""(?<![\w:.-])([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))"""
)
_REFERENCE = re.compile(
    r"&(?:#([0-9]{1,9})|#[xX]([0-9A-Fa-f]{1,8})|([A-Za-z][\w.-]{0,60}));"
)
_AMPERSAND = re.compile(r"&(?!#?\w{1,60};)")

# Elements without children: a tag after one that is not closed is its sibling.
_LEAVES = frozenset(
    {"loc", "lastmod", "changefreq", "priority", "link", "pubdate", "updated"}
)
_DEEPEST = 8  # levels; Google's extensions use four


class Element(NamedTuple):
    """An element of an entry."""

    prefix: str
    name: str
    """Without prefix, in lower case."""
    attributes: str
    """As written; `attributes_of` reads them."""
    text: str
    """As written, up to the first child."""
    children: list[Element]


def read_elements(text: str, most_links: int) -> Element:
    """Return the element of the entry with its children; of many links, the first."""
    entry: Element | None = None
    stack: list[Element] = []
    links = 0
    for slash, full_name, attributes, said, closed in _TAG_ELEMENTS.findall(text):
        if full_name.endswith("link") and (links := links + 1) > most_links + 1:
            continue  # so many objects would cause full garbage collections
        prefix, _, name = full_name.lower().rpartition(":")
        if slash:
            _close(stack, name)
            continue
        element = Element(prefix, name, attributes, said, [])
        if entry is None:
            entry = element
            stack.append(element)
            continue
        stack[-1].children.append(element)
        is_leaf = closed or name in _LEAVES or attributes.endswith("/")
        if not is_leaf and len(stack) < _DEEPEST:
            stack.append(element)
    return entry or Element("", "", "", "", [])


def _close(stack: list[Element], name: str) -> None:
    """Close the innermost element of this name and all inside it, never the entry."""
    for at in range(len(stack) - 1, 0, -1):
        if stack[at].name == name:
            del stack[at:]
            return


def attributes_of(element: Element) -> dict[str, str]:
    """Return attributes by lower-case name without prefix, except ``xmlns`` ones."""
    return {
        name.lower().rpartition(":")[2]: unescape(one or other or bare)
        for name, one, other, bare in _ATTRIBUTE.findall(element.attributes)
        if not name.lower().startswith("xmlns")
    }


def unescape(text: str) -> str:
    """Resolve character references; unknown entities stay as they are.

    An ampersand without a reference stands for itself: a query may contain ``&copy=1``.
    """
    return _REFERENCE.sub(_meant, text) if "&" in text else text


def _meant(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    if name is not None:
        return html5.get(name + ";", reference[0])
    number = int(decimal) if decimal else int(hexadecimal, 16)
    if number > 0x10FFFF or 0xD800 <= number < 0xE000 or not number:  # noqa: PLR2004 - Unicode
        return "\ufffd"
    return chr(number)


def has_bare_ampersand(text: str) -> bool:
    """Return whether the text has an ampersand that begins no reference."""
    return "&" in text and _AMPERSAND.search(text) is not None


def has_unknown_entity(text: str) -> bool:
    """Return whether the text refers to an entity that neither XML nor HTML defines."""
    return "&" in text and any(
        name and name + ";" not in html5 for _, _, name in _REFERENCE.findall(text)
    )


# Elements of extensions that may repeat, and therefore are always lists.
# Source: Google Search Central, "Video sitemaps and alternatives".
_REPEATED = frozenset({"tag", "price", "id", "content_segment_loc"})


def plain_data(element: Element) -> Any:
    """Return the element as strings, lists and dicts; see `SitemapEntry.extensions`."""
    text = unescape(element.text).strip()
    attributes = attributes_of(element) if element.attributes else {}
    if not attributes and not element.children:
        return text
    data: dict[str, Any] = dict(attributes)
    for child in element.children:
        add_to(data, child.name, plain_data(child), is_list=child.name in _REPEATED)
    if text:
        add_to(data, "text", text)
    return data


def add_to(
    data: dict[str, Any], name: str, value: Any, *, is_list: bool = False
) -> None:
    """Add a value under a name: to a list if the name may repeat, or does."""
    if name not in data:
        data[name] = [value] if is_list else value
    elif isinstance(data[name], list):
        data[name].append(value)
    else:
        data[name] = [data[name], value]


class Format(NamedTuple):
    """One XML format."""

    kind: str
    roots: tuple[str, ...]
    """The elements around the entries."""
    entries: tuple[str, ...]
    """The elements that are entries: the right one, and one often used by mistake."""
    link: Callable[[Element], str]
    """Returns the entry's URL as written; empty if there is none."""
    dates: tuple[str, ...]
    """The elements with the date of the last change, the best first."""
    plain: tuple[str, ...]
    """The fields that most entries have, in their order; empty for feeds, whose entries
    differ.
    """


def _loc(entry: Element) -> str:
    """Prefer a <loc> with the entry's prefix (images may have one), then bare text."""
    found = [
        child for child in entry.children if child.name == "loc" and child.text.strip()
    ]
    own = [child for child in found if child.prefix == entry.prefix]
    if found:
        return (own or found)[0].text
    is_bare = entry.text.strip().lower().startswith(("http://", "https://"))
    return entry.text if is_bare else ""


def _rss_link(item: Element) -> str:
    """Prefer <link>, a <guid> that is a permalink, the link of another namespace."""
    for child in item.children:
        if child.name == "link" and child.prefix == item.prefix and child.text.strip():
            return child.text
    for child in item.children:
        if (
            child.name == "guid"
            and attributes_of(child).get("ispermalink", "true") == "true"
        ):
            return child.text
    return _atom_link(item)


def _atom_link(entry: Element) -> str:
    """The link to the page has rel "alternate" or no rel."""
    for child in entry.children:
        if child.name == "link":
            attributes = attributes_of(child)
            if (
                attributes.get("rel", "alternate") == "alternate"
                and "href" in attributes
            ):
                return attributes["href"].replace("&", "&amp;")  # escaped like text
    return ""


_PLAIN = ("loc", "lastmod", "changefreq", "priority")
_UPDATED = ("updated", "modified", "published")
FORMATS = (
    Format("urlset", ("urlset",), ("url", "sitemap"), _loc, ("lastmod",), _PLAIN),
    Format("index", ("sitemapindex",), ("sitemap", "url"), _loc, ("lastmod",), _PLAIN),
    Format(
        "rss", ("rss", "rdf", "channel"), ("item",), _rss_link, ("pubdate", "date"), ()
    ),
    Format("atom", ("feed",), ("entry",), _atom_link, _UPDATED, ()),
)
_HTML = frozenset({"html", "head", "body"})

_BY_ROOT = {root: form for form in FORMATS for root in form.roots}
_BY_ENTRY = {form.entries[0]: form for form in FORMATS}
_TAG = re.compile(r"<(?:[\w.-]+:)?([A-Za-z]\w*)(?=[\s/>])")
_URL_LINE = re.compile(r"^[ \t\ufeff]*https?://\S", re.IGNORECASE | re.MULTILINE)


class SniffedFormat(NamedTuple):
    """The format that the beginning of a file shows."""

    form: Format | None
    """The format, if it is XML."""
    is_text: bool
    """Whether it is a list of URLs."""
    problem: str = ""
    """A code of `problems.MESSAGES`, or empty."""
    detail: str = ""
    """For the message of the problem."""


def sniff_format(text: str, document_type: str) -> SniffedFormat | None:
    """Return the format from a file's simplified beginning, or None if not clear yet.

    The first known tag decides, wherever it is: blank lines or a script's error
    messages may precede the root.
    """
    if document_type == "html":
        return SniffedFormat(
            None, is_text=False, problem="html", detail="!DOCTYPE html"
        )
    for tag in _TAG.finditer(text):
        name = tag[1].lower()
        if name in _HTML:
            return SniffedFormat(None, is_text=False, problem="html", detail=name)
        if name in _BY_ROOT:
            problem = ""
            if text[: tag.start()].strip():
                problem = "late-start"
            return SniffedFormat(_BY_ROOT[name], is_text=False, problem=problem)
        if name in _BY_ENTRY:
            return SniffedFormat(_BY_ENTRY[name], is_text=False, problem="no-root")
    if _URL_LINE.search(text):
        return SniffedFormat(None, is_text=True)
    return None
