"""Which nodes a user's graph has, and in which order."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from .own_edges import Edges
from .tables import is_table, read_own_table


class Nodes:
    """The ids of the nodes, in order, and the number of each.

    Args:
        names: Id of each node, as text.
        origin: Where a node must be declared, for messages; empty if nowhere.
    """

    def __init__(self, names: list[str], origin: str) -> None:
        self.names = names
        self.origin = origin

    @classmethod
    def of(cls, rows: list[str] | None, matrix: Any, edges: Edges, labels: Path | None) -> Nodes:
        """Settle the nodes: those of the features, else those of a matrix, else all that occur.

        Nodes that only occur are sorted (as numbers if all are), so that the order of the rows of
        a file never matters.
        """
        if rows is not None:
            return cls(rows, "the features")
        if matrix is not None:
            if edges.count is not None and edges.count != matrix.shape[0]:
                raise InputError(
                    f"{matrix.shape[0]} feature rows for the {edges.count} nodes of "
                    f"{edges.path.name}; each node must have one"
                )
            return cls([str(i) for i in range(matrix.shape[0])], "the features")
        if edges.count is not None:
            return cls([str(i) for i in range(edges.count)], edges.path.name)
        occurring = set(edges.occurring())
        if labels is not None and is_table(labels):
            table = read_own_table(labels, (2, 2), "id,label").without_header(is_label_header)
            occurring.update(cells[0] for cells in table.rows)
        if all(_is_whole(name) for name in occurring):
            return cls(sorted(occurring, key=int), "")
        return cls(sorted(occurring), "")

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Number of each id."""
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def ids(self) -> np.ndarray:
        """The ids as the user wrote them: whole numbers if all are, else text."""
        if all(_is_whole(name) for name in self.names):
            return np.array([int(name) for name in self.names], dtype=np.int64)
        return np.array(self.names)

    def numbers_of(self, values: np.ndarray) -> np.ndarray:
        """Numbers of ids that are whole numbers; -1 for those unknown."""
        ids = self.ids
        if ids.dtype.kind != "i":
            distinct, places = np.unique(values, return_inverse=True)
            known = [self.numbers.get(str(value), -1) for value in distinct.tolist()]
            return np.array(known, dtype=np.int64)[places].reshape(values.shape)
        order = np.argsort(ids, kind="stable")
        found = order[np.minimum(np.searchsorted(ids[order], values), len(ids) - 1)]
        return np.where(ids[found] == values, found, -1)

    def number(self, name: str, where: str) -> int:
        """Number of an id; ``where`` names its file and line if it is unknown."""
        found = self.numbers.get(name)
        if found is None:
            declared = f"; every node needs a row in {self.origin}" if self.origin else ""
            raise InputError(f"{where}: there is no node {name!r}{declared}")
        return found


def _is_whole(name: str) -> bool:
    # Only what int() gives back the same, so that "01" and "1" stay two ids; and no more than fits.
    return name.removeprefix("-").isdecimal() and str(int(name)) == name and len(name) < 19


def is_label_header(cells: list[str]) -> bool:
    """Whether the first row of a table of labels or of a split names its columns."""
    return cells[0].lower() in ("id", "node", "node_id", "name") or cells[1].lower() in (
        "label",
        "class",
        "y",
        "split",
        "part",
    )
