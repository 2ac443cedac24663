"""How Sphinx builds the site; ``make docs`` gives it the pages that tools/site.py has put together."""

from __future__ import annotations

import os
from typing import Any

import sledsim

project = "Sledsim"
author = "Sledsim developers"
copyright = author  # noqa: A001  the name that Sphinx reads
version = release = sledsim.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
html_theme = "furo"
html_title = f"Sledsim {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# What is offered as a notebook is not a page twice.
exclude_patterns = ["notebooks"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5394", "color-brand-content": "#0b5394"},
    "dark_css_variables": {"color-brand-primary": "#7ab8f0", "color-brand-content": "#7ab8f0"},
}

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block", "deflist"]
# Two dashes are an option.
smartquotes = False
copybutton_exclude = ".linenos, .gp"

# Tutorials are run as the site is built; what was run is kept beside it, and run again only where it has changed.
nb_execution_mode = os.environ.get("SLEDSIM_DOCS_RUN", "cache")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
# What tutorials write is their own.
nb_execution_in_temp = True
nb_merge_streams = True
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
napoleon_google_docstring = False
napoleon_use_rtype = False
suppress_warnings = ["myst.header", "ref.python", "mystnb.unknown_mime_type"]


def _with_charts(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Give a page what draws charts, where it has any."""
    if 'class="chart"' in context.get("body", ""):
        app.add_js_file("vega.js", loading_method="defer")
        app.add_js_file("draw.js", loading_method="defer")


def setup(app: Any) -> None:
    """Register what this file adds."""
    app.connect("html-page-context", _with_charts)
