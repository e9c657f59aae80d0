"""How Sphinx builds the documentation: ``python -m sphinx -W docs build/docs``.

The pages are plain reStructuredText, to be read as files too;
``sphinx/linked_words.py`` makes links of what they name.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "sphinx"))

import scrapy_mandelbot

project = "scrapy-mandelbot"
copyright = "scrapy-mandelbot contributors"  # noqa: A001 -- Sphinx's name
version = release = scrapy_mandelbot.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinxcontrib.towncrier.ext",
    "linked_words",
    "reachable",
    "search_words",
]
exclude_patterns = ["sphinx"]
towncrier_draft_working_directory = Path(__file__).parent.parent
towncrier_draft_autoversion_mode = "draft"
towncrier_draft_include_empty = True

nitpicky = True
nitpick_ignore_regex = [
    # Of other packages, whose pages are not here.
    (r"py:.*", r"(?!scrapy_mandelbot).*"),
]

add_module_names = False
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
autodoc_default_options = {"undoc-members": True, "exclude-members": "__init__"}
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 80


html_theme = "furo"
html_title = "scrapy-mandelbot"
html_static_path = ["static"]
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
