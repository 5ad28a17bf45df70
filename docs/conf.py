"""The site that is made of this project's pages: ``sphinx-build -W -n -c docs . SITE``.

The whole project is the source, so that links between pages, and from pages to code, are the same
here as on a code host.
"""

project = "vfl-flower"
author = "the authors of vfl-flower"
extensions = ["myst_parser"]
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
highlight_language = "text"
html_theme = "furo"
html_title = "vfl-flower"
html_show_sourcelink = False
html_copy_source = False
