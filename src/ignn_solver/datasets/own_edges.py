"""Edges of a user's own graph."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError
from .tables import read_own_table

if TYPE_CHECKING:
    from .nodes import Nodes

_SOURCES = ("source", "src", "from", "u", "node1", "id1")


@dataclass
class Edges:
    """Edges by the ids of their ends.

    Attributes:
        path: The file.
        source: Id of the source of each edge.
        target: Id of the target of each edge.
        weight: Weight of each edge, where there are any.
        lines: Line of each edge in the file; empty when it has no lines.
        count: Number of nodes, where the file says it.
    """

    path: Path
    source: list[str]
    target: list[str]
    weight: np.ndarray | None
    lines: list[int]
    count: int | None = None

    @classmethod
    def of_matrix(cls, path: Path, matrix: Any) -> Edges:
        """Edges of a sparse adjacency; entries other than 1 are weights."""
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"{path.name}: the adjacency is {matrix.shape}, not square")
        entries = matrix.tocoo()
        weight = None if (entries.data == 1).all() else entries.data
        pairs = np.stack([entries.row, entries.col])
        return cls._numbered(path, pairs, weight, matrix.shape[0])

    @classmethod
    def of_arrays(cls, path: Path, pairs: np.ndarray, weight: np.ndarray | None) -> Edges:
        """Edges of an ``edge_index`` array, ``[2, edges]``."""
        if pairs.ndim != 2 or pairs.shape[0] != 2 or pairs.dtype.kind not in "iu":
            raise InputError(
                f"{path.name}: edge_index is {pairs.dtype} {pairs.shape}; "
                f"it must be whole numbers, 2 x edges"
            )
        if weight is not None and weight.shape != (pairs.shape[1],):
            raise InputError(f"{path.name}: edge_weight must have one number an edge")
        return cls._numbered(path, pairs, weight, None)

    @classmethod
    def _numbered(
        cls, path: Path, pairs: np.ndarray, weight: np.ndarray | None, count: int | None
    ) -> Edges:
        source, target = ([str(i) for i in row.tolist()] for row in pairs)
        if weight is not None:
            weight = _checked_weight(weight, path)
        return cls(path, source, target, weight, [], count)

    def resolve(self, nodes: Nodes) -> tuple[Tensor, Tensor | None]:
        """``edge_index`` and ``edge_weight``, sorted, so that the order of rows never matters."""
        pairs = np.empty((2, len(self.source)), dtype=np.int64)
        for edge, ends in enumerate(zip(self.source, self.target, strict=True)):
            for end, name in enumerate(ends):
                number = nodes.numbers.get(name)
                pairs[end, edge] = (
                    nodes.number(name, self._where(edge)) if number is None else number
                )
        keys = [pairs[1], pairs[0]] if self.weight is None else [self.weight, pairs[1], pairs[0]]
        order = np.lexsort(keys)
        weight = None
        if self.weight is not None:
            weight = torch.from_numpy(self.weight[order].astype(np.float32))
        return torch.from_numpy(pairs[:, order]), weight

    def _where(self, edge: int) -> str:
        return f"{self.path.name}, " + (
            f"line {self.lines[edge]}" if self.lines else f"edge {edge}"
        )


def _checked_weight(weight: np.ndarray, path: Path) -> np.ndarray:
    if weight.dtype.kind not in "biuf" or not np.isfinite(weight).all() or (weight < 0).any():
        raise InputError(f"{path.name}: edge weights must be finite numbers, not negative")
    return weight


def read_edges(path: Path) -> Edges:
    """Read rows ``source,target`` or ``source,target,weight``; a header naming them is passed over."""
    table = read_own_table(path, (2, 3), "source,target or source,target,weight")
    table = table.without_header(lambda cells: cells[0].lower() in _SOURCES)
    if not table.rows:
        raise InputError(f"{path} has no edges")
    weight = None
    if len(table.rows[0]) == 3:
        weight = np.array([table.number(row, 2) for row in range(len(table.rows))])
        negative = np.flatnonzero(weight < 0)
        if negative.size:
            raise InputError(f"{table.where(int(negative[0]))}: the weight is negative")
    source = [cells[0] for cells in table.rows]
    target = [cells[1] for cells in table.rows]
    return Edges(path, source, target, weight, table.lines)
