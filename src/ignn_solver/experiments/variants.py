"""The solvers that the figures compare, under one name and in one colour everywhere."""

from __future__ import annotations

from typing import Any

from ..report.figures import MARKERS, PALETTE

#: The loop of the IGNN publication, with its own data layout.
PUBLISHED = "ignn-published"
#: The same iteration in this package.
PLAIN = "picard"

TITLES = {
    PUBLISHED: "IGNN (as published)",
    "learned": "IGNN-Solver (ours)",
    "learned-paper": "IGNN-Solver (as published)",
    "learned-nn": "IGNN-Solver (NN)",
    "learned-aa": "IGNN-Solver (AA)",
    PLAIN: "IGNN (plain iteration, our kernels)",
}


def look(name: str) -> dict[str, Any]:
    """Label, colour and marker of a solver, for matplotlib."""
    place = list(TITLES).index(name)
    return {"label": TITLES[name], "color": PALETTE[place], "marker": MARKERS[place]}
