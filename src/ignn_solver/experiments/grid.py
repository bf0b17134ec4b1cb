"""A grid of independent cells: what is missing is run, and each finished cell is on disk at once.

A run can be killed at any moment and goes on where it stopped; two runs of different parts may share a
folder.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import read_json, write_json
from ..freed import give_back
from ..progress import bar


@dataclass(frozen=True)
class Cell:
    """One independent piece of work, such as one fold of one model on one dataset.

    Attributes:
        place: Its name in parts, such as ``("mutag", "gin", "fold-3")``: where its file lies.
        arguments: All that the result depends on, as JSON can hold it.
    """

    place: tuple[str, ...]
    arguments: Mapping[str, Any]

    def path(self, folder: Path) -> Path:
        """The file of this cell."""
        return folder.joinpath(*self.place[:-1], f"{self.place[-1]}.json")

    def __str__(self) -> str:
        return " ".join(self.place)


Work = Callable[[Mapping[str, Any]], dict[str, Any]]


def finished(cell: Cell, folder: Path) -> dict[str, Any] | None:
    """The result of a cell, or ``None`` if it was not run yet, or with other arguments."""
    path = cell.path(folder)
    if not path.exists():
        return None
    content = read_json(path, "result of a cell")
    if not isinstance(content, dict) or not isinstance(content.get("result"), dict):
        raise InputError(f"{path} is not the result of a cell: delete it and run again")
    same = content.get("arguments") == json.loads(json.dumps(cell.arguments))
    return content["result"] if same else None


def run_grid(
    cells: Sequence[Cell],
    work: Work,
    folder: Path,
    *,
    resume: bool = True,
    progress: bool | None = None,
    title: str = "running",
) -> None:
    """Run every cell that is not finished; each is written whole as soon as it is done.

    Args:
        cells: The cells.
        work: From the arguments of a cell to its result, a dictionary that JSON can hold.
        folder: Where the cells' files lie.
        resume: Whether finished cells count; else every cell is run again.
        progress: Show a progress bar with the time left; by default on a terminal.
        title: What the bar says.
    """
    places = [cell.place for cell in cells]
    if len(set(places)) < len(places):
        twice = next(place for place in places if places.count(place) > 1)
        raise InputError(f"two cells of the grid have the name {' '.join(twice)}")
    missing = [cell for cell in cells if not resume or finished(cell, folder) is None]
    with bar(title, len(missing), progress) as shown:
        for number, cell in enumerate(missing):
            shown.update(number, str(cell))
            started = time.perf_counter()
            result = work(cell.arguments)
            content = {
                "arguments": dict(cell.arguments),
                "wall_seconds": round(time.perf_counter() - started, 3),
                "result": result,
            }
            write_json(cell.path(folder), content)
            give_back()
            shown.update(number + 1, str(cell))
