"""What the two sites share: the add-on's, and the library's below it.

Each site has a ``conf.py`` that takes all names of this module. The library's pages are
built into the folder ``mandelbot`` of the add-on's, so that links from one site to the
other are relative, and ``check_links.py`` checks them together::

    python -m sphinx -W docs build/docs
    python -m sphinx -W packages/mandelbot/docs build/docs/mandelbot
"""

from __future__ import annotations

from pathlib import Path

ADDON = "scrapy-mandelbot"
LIBRARY = "mandelbot"
ROOT = Path(__file__).parents[2]
FOLDERS = {ADDON: ROOT / "docs", LIBRARY: ROOT / "packages" / "mandelbot" / "docs"}
"""The source of each site, by Sphinx's name of the project."""
ADDRESSES = {ADDON: "", LIBRARY: "mandelbot/"}
"""Where each site is built, below the add-on's."""

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "linked_words",
    "reachable",
    "search_words",
]
nitpicky = True

add_module_names = False
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
autodoc_default_options = {"undoc-members": True, "exclude-members": "__init__"}
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 80

html_theme = "furo"
html_static_path = [str(FOLDERS[ADDON] / "static")]
html_css_files = ["page.css"]
html_copy_source = False
html_show_sphinx = False
# Text drawings and sessions are shown as they are.
highlight_language = "text"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {
        "color-brand-primary": "#0b5c8a",
        "color-brand-content": "#0b5c8a",
        "color-api-name": "#0b5c8a",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7cc4f0",
        "color-brand-content": "#7cc4f0",
        "color-api-name": "#7cc4f0",
    },
}
