"""How Sphinx builds the site: ``make docs``. Nothing is fetched, neither now nor by a reader."""

from __future__ import annotations

from importlib.metadata import version as installed
from typing import Any

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

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
html_show_copyright = False
html_show_sphinx = False
copybutton_exclude = ".linenos, .gp, .go"
html_math_renderer = "mathml"


def inline_math(translator: Any, node: Any) -> None:
    """A formula in the text."""
    translator.body.append(tex2mathml(node.astext()))
    raise SkipNode


def displayed_math(translator: Any, node: Any) -> None:
    """A formula on a line of its own."""
    translator.body.append(tex2mathml(node.astext(), as_block=True))
    raise SkipNode


def setup(app: Any) -> None:
    """Write formulas as MathML, which browsers show without a script from elsewhere."""
    app.add_html_math_renderer("mathml", (inline_math, None), (displayed_math, None))
