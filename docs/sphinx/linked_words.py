"""Links for what the pages name in literals, so that they stay readable as plain files.

A page writes ````docs/pauses.rst````, ````MANDELBOT_STORE````, ````site_paused```` or
````pause_site````, as the README and docstrings do; here each becomes a link to where
it is described. One that is described nowhere is a warning, and with ``-W`` the build
fails.

A file's path begins at its distribution: in the library's pages ````docs/tags.rst````
is its own page, which the add-on's call ````packages/mandelbot/docs/tags.rst````.
"""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from both_sites import ADDON, ADDRESSES, FOLDERS
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

import scrapy_mandelbot
from scrapy_mandelbot.settings.config import Config, setting_defaults
from scrapy_mandelbot.spidermiddlewares.hooks import HOOKS

if TYPE_CHECKING:
    from sphinx.application import Sphinx

log = logging.getLogger(__name__)

PAGE = re.compile(r"(?:[\w-]+/)*docs/[\w/]+\.rst")
FILE = re.compile(r"([\w/.]+\.rst)(#[\w-]+)?")
TITLE = re.compile(r"^(\S.*)\n[=]+$", re.MULTILINE)
SETTING = re.compile(
    r"((?:MANDELBOT|ROBOTSTXT)_[A-Z_]+)(\[.\w+.\])?(\s=\s.*)?", re.DOTALL
)
STAT = re.compile(r"mandelbot/[a-z0-9_/]+")
# Words that have a row, and with it an anchor, in the tables of a page.
ROWS = {
    "stats": STAT,
    "hooks": re.compile("|".join(HOOKS)),
    "meta": re.compile(r"[a-z_]+"),
}
SETTINGS = set(setting_defaults())
OLD = {
    one.metadata["setting"].name for one in fields(Config) if one.metadata
} - SETTINGS
OTHERS = {
    "ROBOTSTXT_PARSER",
    "MANDELBOT_CORPUS",
    "MANDELBOT_EXAMPLES",
    "MANDELBOT_REDIS_SERVER",
}
"""Scrapy's, and those of the tests' shell."""
# Public names, but for those that are words of other meaning besides, as ``status`` is.
NAMES = {
    name for name in scrapy_mandelbot.__all__ if re.search("[A-Z]|[a-z]_[a-z]", name)
}
PUBLISHED = {
    "scrapy_mandelbot/report/report.schema.json": "report.schema.json",
}
"""Files beside the pages (``html_extra_path``), by their path."""
META_KEY = re.compile(r"dont_(?:pause|obey_\w+)|sitemap_entry")


def anchor_of(word: str) -> str:
    """Return the id of what describes a word."""
    return nodes.make_id(word)


class Anchors(SphinxTransform):
    """Gives the rows of the reference's tables ids."""

    default_priority = 400

    def apply(self, **_: object) -> None:
        """Look at the first cell of each row."""
        is_addons = self.app.config.project == ADDON
        pattern = ROWS.get(self.env.docname) if is_addons else None
        for row in self.document.findall(nodes.row) if pattern else ():
            word = next(iter(row[0].findall(nodes.literal)), None)
            if word is not None and pattern.fullmatch(word.astext()):
                row[0]["ids"].append(anchor_of(word.astext()))


class Links(SphinxPostTransform):
    """Turns literals into links, but in headings and links."""

    default_priority = 5  # before the references of Sphinx's own are resolved

    def run(self, **_: object) -> None:
        """Look at each literal, and at each link to a file."""
        for reference in list(self.document.findall(nodes.reference)):
            self._link_to_file(reference)
        for literal in list(self.document.findall(nodes.literal)):
            if not self._is_within(
                literal, (nodes.title, nodes.reference, pending_xref)
            ):
                self._link(literal)

    @staticmethod
    def _is_within(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
        while node is not None and not isinstance(node, kinds):
            node = node.parent
        return node is not None

    def _link_to_file(self, reference: nodes.reference) -> None:
        file = FILE.fullmatch(reference.get("refuri", ""))
        if file is None:
            return
        here = Path(self.env.srcdir, self.env.docname).parent
        page = self._page_at(here / file[1])
        if page is None:
            log.warning("no page %s", file[1], location=reference)
        else:
            reference["refuri"] = self._uri(*page) + (file[2] or "")

    def _page_at(self, path: Path) -> tuple[str, str] | None:
        """Return the project and the name of the page that a file is."""
        project = self.app.config.project
        folders = {**FOLDERS, project: Path(self.env.srcdir)}
        for name, folder in folders.items():
            if path.resolve().is_relative_to(folder) and path.is_file():
                inner = path.resolve().relative_to(folder)
                return name, inner.with_suffix("").as_posix()
        return None

    def _link(self, literal: nodes.literal) -> None:
        text = literal.astext()
        is_addons = self.app.config.project == ADDON
        if PAGE.fullmatch(text):
            self._link_to_page(literal, text)
        elif is_addons and text in PUBLISHED:
            top = "../" * self.env.docname.count("/")
            self._wrap(literal, top + PUBLISHED[text])
        elif setting := SETTING.fullmatch(text):
            self._link_to_setting(literal, setting[1])
        elif STAT.fullmatch(text):
            self._replace(literal, "stats", anchor_of(text))
        elif is_addons and text in HOOKS:
            self._replace(literal, "hooks", anchor_of(text))
        elif is_addons and META_KEY.fullmatch(text):
            self._replace(literal, "meta", anchor_of(text))
        elif is_addons and text in NAMES and self.env.docname != "api":
            target = f"scrapy_mandelbot.{text}"
            link = pending_xref(
                "",
                refdomain="py",
                reftype="obj",
                reftarget=target,
                refexplicit=True,
                refwarn=True,
            )
            link["refdoc"] = self.env.docname
            literal.replace_self(link)
            link += literal

    def _link_to_page(self, literal: nodes.literal, path: str) -> None:
        project = self.app.config.project
        distribution = FOLDERS[project].parent
        page = self._page_at(distribution / path)
        if page is None:
            log.warning("no page %s", path, location=literal)
            return
        if page[0] == project:
            title = self.env.titles[page[1]].astext()
        else:
            title = TITLE.search((distribution / path).read_text("utf-8"))[1]
        link = nodes.reference("", title, internal=True, refuri=self._uri(*page))
        literal.replace_self(link)

    def _link_to_setting(self, literal: nodes.literal, name: str) -> None:
        if name in SETTINGS:
            self._replace(literal, "settings", anchor_of(name))
        elif name not in OLD | OTHERS:
            log.warning("%s is no setting", name, location=literal)

    def _replace(self, literal: nodes.literal, docname: str, anchor: str) -> None:
        """Link to a row of the add-on's reference."""
        is_addons = self.app.config.project == ADDON
        if is_addons and docname == self.env.docname != "settings":
            return
        self._wrap(literal, f"{self._uri(ADDON, docname)}#{anchor}")

    @staticmethod
    def _wrap(literal: nodes.literal, address: str) -> None:
        link = nodes.reference("", "", internal=True, refuri=address)
        literal.replace_self(link)
        link += literal

    def _uri(self, project: str, page: str) -> str:
        here = ADDRESSES[self.app.config.project]
        if project == self.app.config.project:
            target = page
        else:
            target = "../" * here.count("/") + ADDRESSES[project] + page
        return self.app.builder.get_relative_uri(self.env.docname, target)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register both transforms."""
    app.add_transform(Anchors)
    app.add_post_transform(Links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
