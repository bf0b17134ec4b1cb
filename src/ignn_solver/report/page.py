"""The page: one file with everything in it, that works without a network."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import asdict
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from importlib.resources import files as package_files
from pathlib import Path
from string import Template
from typing import Any

from ..files import write_text
from . import sections
from .graph_view import graph_view
from .plots import plots
from .reading import read_folder
from .stand_ins import stand_ins


def write_page(results: Path, output: Path) -> Path:
    """Write the page of every results file in ``results`` to ``output``.

    Raises:
        InputError: When the folder is missing or empty, or a file in it is damaged.
    """
    write_text(output, page(results))
    return output


def page(results: Path) -> str:
    """The page as HTML."""
    files = read_folder(results)
    marked = stand_ins(files)
    graph, drawn = graph_view(files), plots(files)
    parts = [
        sections.headline_section(files, marked),
        sections.graph_section(graph, marked),
        sections.plots_section(drawn),
        sections.tables_section(files, marked),
        sections.sources_section(files),
    ]
    shown = [part for part in parts if part is not None]
    links = "".join(f'<a href="#{part.name}">{escape(part.link)}</a>' for part in shown)
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Template(_asset("page.html")).substitute(
        style=_asset("page.css"),
        links=links,
        sections="\n".join(part.html for part in shown),
        footer=f"Made by ignn-solver {escape(version('ignn-solver'))} on {made} from "
        f"{len(files)} results files. Nothing on this page is typed by hand.",
        data=_embedded({"plots": {p.name: asdict(p) for p in drawn}, "graph": graph}),
        plotly=packed_plotly(),
        script=_asset("page.js") + _asset("graph.js"),
    )


def packed_plotly() -> str:
    """Plotly's JavaScript as gzip in base64: 1.9 MB in the page instead of 4.8."""
    from plotly.offline import get_plotlyjs

    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), 9, mtime=0)).decode()


def _embedded(value: Any) -> str:
    """JSON that cannot close the script element it stands in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return (package_files("ignn_solver") / "report" / "assets" / name).read_text(encoding="utf-8")
