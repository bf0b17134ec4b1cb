"""The graph view: checks that its results file is whole, and gives the page what it draws."""

from __future__ import annotations

import re
from typing import Any

from ..errors import InputError
from .reading import Results, is_number, of_kind

_PACKED = re.compile(r"[A-Za-z0-9_-]*")


def graph_view(files: list[Results]) -> dict[str, Any] | None:
    """The latest graph view among the files, checked; ``None`` if there is none.

    Raises:
        InputError: When the file is damaged: the page would draw nonsense.
    """
    for file in of_kind(files, "graph-view")[:1]:
        content = file.content
        try:
            frames = {
                str(solver): [_frame(frame, content["nodes"]) for frame in of_solver]
                for solver, of_solver in content["frames"].items()
                if of_solver
            }
            low, high = content["levels"]
            checks = (
                bool(frames),
                is_number(low) and is_number(high),
                _is_packed(content["positions"], 4 * content["nodes"]),
                _is_packed(content["edges"], 4 * content["drawn_edges"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _damaged(file) from error
        if not all(checks):
            raise _damaged(file)
        kept = ("dataset", "nodes", "all_nodes", "positions", "edges", "levels")
        return {**{name: content.get(name) for name in kept}, "frames": frames, "file": file.name}
    return None


def _frame(frame: dict[str, Any], nodes: int) -> dict[str, Any]:
    numbers = ("evaluation", "residual", "share")
    whole = _is_packed(frame["residuals"], nodes) and _is_packed(frame["certified"], nodes)
    if not whole or not all(is_number(frame[name]) for name in numbers):
        raise ValueError("a frame is damaged")
    return {name: frame[name] for name in (*numbers, "residuals", "certified")}


def _is_packed(text: str, length: int) -> bool:
    return len(text) == length and _PACKED.fullmatch(text) is not None


def _damaged(file: Results) -> InputError:
    return InputError(
        f"the graph view in {file.name}.json is damaged: make it again with "
        "`ignn-solver reproduce graph-view`"
    )
