"""Sphinx site of all pages.

    sphinx-build -W -n -c docs . SITE

The whole project is the source, so that links between pages, and from pages to code, are the same
here as on a code host. Reference pages are filled from the code, by `docs.generated`.
"""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

project = "vfl-flower"
author = "the authors of vfl-flower"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = [
    *("README.md", "SECURITY.md", "CHANGELOG.md", "benchmarks/results.md"),
    "docs/*.md",
    "docs/*/*.md",
    "examples/*/README.md",
]
exclude_patterns = [".*", "**/.*"]
myst_heading_anchors = 3
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other packages, and of signatures
autodoc_typehints = "none"  # the docstrings name types
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True  # attributes of dataclasses are documented once
highlight_language = "text"
html_theme = "furo"
html_title = "vfl-flower"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False


def setup(app: Any) -> None:  # noqa: ANN401
    """Fill the reference pages as they are read."""
    from docs.generated import filled

    def fill(app: Any, name: str, content: list[str]) -> None:  # noqa: ANN401
        content[0] = filled(content[0])

    app.connect("source-read", fill)
