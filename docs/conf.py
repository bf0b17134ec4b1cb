"""How Sphinx builds the site: ``make docs``. Nothing is fetched, neither now nor by a reader."""

from __future__ import annotations

from importlib.metadata import version as installed

project = "ignn-solver"
author = "the ignn-solver authors"
version = release = installed("ignn-solver")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
# A page is read on its own, in the repository too: no link may need Sphinx to be followed.
myst_enable_extensions: list[str] = []

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_class_signature = "mixed"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "ignn-solver"
html_copy_source = False
html_show_sphinx = False
copybutton_exclude = ".linenos, .gp, .go"
