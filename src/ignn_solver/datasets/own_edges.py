"""Edges of a user's own graph."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError
from .tables import read_own_table
from .text import read_table

if TYPE_CHECKING:
    from .nodes import Nodes

_SOURCES = ("source", "src", "from", "u", "node1", "id1")
_NOT_PLAIN = re.compile(rb"(?<![0-9])0[0-9]|[0-9]{19}")


@dataclass
class Edges:
    """Edges by the ids of their ends.

    Attributes:
        path: The file.
        pairs: ``[2, edges]``: the ids themselves where they are whole numbers, else their places
            in ``names``.
        names: Distinct ids, or ``None`` where ``pairs`` has the ids.
        weight: Weight of each edge, where there are any.
        where: How messages name an edge: file and line.
        count: Number of nodes, where the file says it.
    """

    path: Path
    pairs: np.ndarray
    names: list[str] | None
    weight: np.ndarray | None
    where: Callable[[int], str]
    count: int | None = None

    def occurring(self) -> list[str]:
        """The distinct ids, as text."""
        if self.names is not None:
            return self.names
        return [str(i) for i in np.unique(self.pairs).tolist()]

    def resolve(self, nodes: Nodes) -> tuple[Tensor, Tensor | None]:
        """``edge_index`` and ``edge_weight``, sorted, so that the order of rows never matters."""
        if self.names is None:
            pairs = nodes.numbers_of(self.pairs)
        else:
            known = [nodes.numbers.get(name, -1) for name in self.names]
            pairs = np.array(known, dtype=np.int64)[self.pairs]
        unknown = np.flatnonzero((pairs < 0).any(axis=0))
        if unknown.size:
            edge = int(unknown[0])
            end = int(pairs[0, edge] >= 0)
            given = self.pairs[end, edge]
            name = str(given) if self.names is None else self.names[given]
            nodes.number(name, self.where(edge))
        keys = [pairs[1], pairs[0]] if self.weight is None else [self.weight, pairs[1], pairs[0]]
        order = np.lexsort(keys)
        weight = None
        if self.weight is not None:
            weight = torch.from_numpy(self.weight[order].astype(np.float32))
        return torch.from_numpy(pairs[:, order]), weight


def edges_of_matrix(path: Path, matrix: Any) -> Edges:
    """Edges of a sparse adjacency; entries other than 1 are weights."""
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"{path.name}: the adjacency is {matrix.shape}, not square")
    entries = matrix.tocoo()
    weight = None if (entries.data == 1).all() else entries.data
    found = edges_of_arrays(path, np.stack([entries.row, entries.col]), weight)
    found.count = matrix.shape[0]
    return found


def edges_of_arrays(path: Path, pairs: np.ndarray, weight: np.ndarray | None = None) -> Edges:
    """Edges of an ``edge_index`` array, ``[2, edges]``."""
    if pairs.ndim != 2 or pairs.shape[0] != 2 or pairs.dtype.kind not in "iu":
        raise InputError(
            f"{path.name}: edge_index is {pairs.dtype} {pairs.shape}; "
            f"it must be whole numbers, 2 x edges"
        )
    if weight is not None:
        if weight.shape != (pairs.shape[1],):
            raise InputError(f"{path.name}: edge_weight must have one number an edge")
        if weight.dtype.kind not in "biuf" or not np.isfinite(weight).all() or (weight < 0).any():
            raise InputError(f"{path.name}: edge weights must be finite numbers, not negative")
    where = f"{path.name}, edge "
    return Edges(path, pairs.astype(np.int64, copy=False), None, weight, lambda i: f"{where}{i}")


def read_edges(path: Path) -> Edges:
    """Read rows ``source,target`` or ``source,target,weight``; a header naming them is passed over."""
    fast = _read_whole_numbers(path) if path.suffix.lower() == ".csv" else None
    if fast is not None:
        return fast
    table = read_own_table(path, (2, 3), "source,target or source,target,weight")
    table = table.without_header(lambda cells: cells[0].lower() in _SOURCES)
    if not table.rows:
        raise InputError(f"{path} has no edges")
    for row, cells in enumerate(table.rows):
        if not cells[0] or not cells[1]:
            raise InputError(f"{table.where(row)}: an end of the edge has no id")
    weight = None
    if len(table.rows[0]) == 3:
        weight = np.array([table.number(row, 2) for row in range(len(table.rows))])
        negative = np.flatnonzero(weight < 0)
        if negative.size:
            raise InputError(f"{table.where(int(negative[0]))}: the weight is negative")
    places: dict[str, int] = {}
    pairs = np.array(
        [[places.setdefault(cell, len(places)) for cell in cells[:2]] for cells in table.rows],
        dtype=np.int64,
    ).T
    return Edges(path, pairs, list(places), weight, table.where)


def _read_whole_numbers(path: Path) -> Edges | None:
    """The quick way for large files, if both ends are plain whole numbers on every line."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    header, newline, body = content.partition(b"\n")
    if header.split(b",")[0].strip().lower().decode("utf-8", "replace") in _SOURCES:
        # The line stays, empty, so that lines keep their numbers.
        content = newline + body
    plain = not content.translate(None, b"0123456789,\r\n")
    # "07" and "7" are two ids, and 19 digits may not fit: such ids are text.
    if not plain or not content.strip() or _NOT_PLAIN.search(content):
        return None
    if content.split(None, 1)[0].count(b",") != 1:
        return None
    pairs = read_table(io.BytesIO(content), path.name, columns=2)

    def where(edge: int) -> str:
        lines = (n for n, row in enumerate(content.split(b"\n"), start=1) if row.strip())
        return f"{path.name}, line {next(n for i, n in enumerate(lines) if i == edge)}"

    return Edges(path, np.ascontiguousarray(pairs.T), None, None, where)
