"""Sphinx's settings for the site; `nox -s site` builds it."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.clients.matrix.page import GRID, remove_site_pages, write_site_pages  # noqa: E402 - the line above lets it be found

write_site_pages()

project = "converse-harness"
author = "The converse-harness authors"
project_copyright = author
language = "en"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_design",
    "docs._site.markdown",
    "docs._site.reference",
]
exclude_patterns = ["_site", "examples"]
nitpicky = True
default_role = "code"

myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = "converse-harness"
html_copy_source = False
html_show_sphinx = False
html_extra_path = [GRID.name]
html_static_path = ["_site/static"]
html_css_files = ["site.css"]


def setup(app: Sphinx) -> None:
    """Remove the pages of the matrix after the build."""
    app.connect("build-finished", lambda *_: remove_site_pages())
