"""Loops over a few rows: what local updates spend their time in.

Their cost grows with the entries of these rows, not with the matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from . import compiled, use_compiled

if TYPE_CHECKING:
    from ..sparse import SparseMatrix

if compiled is not None:
    from . import compiled_rows


def gather_rows(matrix: SparseMatrix, rows: Tensor, x: Tensor) -> Tensor:
    """``(matrix @ x)[rows]`` for a dense ``x`` of ``columns x d``."""
    if use_compiled(x):
        return compiled_rows.gather_rows(matrix, rows, x)
    place, owner = row_entries(matrix, rows)
    terms = x[matrix.col[place].long()] * matrix.value[place].unsqueeze(-1)
    return x.new_zeros(rows.shape[0], x.shape[1]).index_add_(0, owner, terms)


def move_rows(
    rows: Tensor, projected: Tensor, bias: Tensor, z: Tensor, activation: str, keep: Tensor
) -> tuple[Tensor, Tensor]:
    """Move rows of ``z`` to ``y = act(projected + bias[rows])``, those that would move far enough.

    Args:
        rows: Distinct row numbers.
        projected: ``(A z W)[rows]``; overwritten.
        bias: ``n x d``, contiguous.
        z: ``n x d``, contiguous; changed in place.
        activation: One of ``kernels.ACTIVATIONS``.
        keep: A row that would move by at most this much stays, float64.

    Returns:
        For each of the rows, in float64: how far y is from the row, and by how much the squared norm of
        the row grew.
    """
    if use_compiled(z):
        return compiled_rows.move_rows(rows, projected, bias, z, activation, keep)
    before = z[rows]
    y = getattr(torch, activation)(projected.add_(bias[rows]))
    moved = (y - before).double().square_().sum(-1).sqrt_()
    goes = ~(moved <= keep)
    z[rows[goes]] = y[goes]
    grown = y.double().square_().sum(-1) - before.double().square_().sum(-1)
    return moved, torch.where(goes, grown, 0.0)


def push(
    matrix: SparseMatrix,
    rows: Tensor,
    amount: Tensor,
    level: Tensor,
    allowed: Tensor,
    queued: Tensor,
) -> Tensor:
    """Add ``matrix[rows].T @ amount`` to ``level`` and queue what rises above its allowance.

    Args:
        matrix: Sparse ``n x n``.
        rows: Distinct row numbers.
        amount: What each of them adds, times the entry, float64.
        level: Changed in place, ``n``, float64.
        allowed: ``n``, float64.
        queued: Which nodes are in the queue already; changed in place, ``n``, bool.

    Returns:
        The nodes that were queued.
    """
    if use_compiled(level):
        return compiled_rows.push(matrix, rows, amount, level, allowed, queued)
    place, owner = row_entries(matrix, rows)
    targets = matrix.col[place].long()
    level.index_add_(0, targets, matrix.value[place].to(level.dtype) * amount[owner])
    found = torch.unique(targets[(level[targets] > allowed[targets]) & ~queued[targets]])
    queued[found] = True
    return found


def put_graphs(
    chosen: np.ndarray, begins: np.ndarray, found: tuple[Tensor, ...], out: tuple[Tensor, ...]
) -> None:
    """Copy the rows of some graphs of a batch from ``found`` to ``out``.

    Args:
        chosen: Whether to copy those of each graph, ``num_graphs``, bool.
        begins: The first row of each graph.
        found: States, ``n x d``, and two numbers of each row, ``n``.
        out: Where to put them; contiguous, as ``found``.
    """
    if use_compiled(out[0]):
        compiled_rows.put_graphs(chosen, begins, found, out)
        return
    ends = np.append(begins[1:], out[0].shape[0])
    rows = torch.from_numpy(np.repeat(chosen, ends - begins)).to(out[0].device)
    for one, other in zip(found, out, strict=True):
        other[rows] = one[rows]


def row_entries(matrix: SparseMatrix, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Where the entries of these rows are stored, and which of ``rows`` each belongs to."""
    start = matrix.rowptr[rows].long()
    count = matrix.rowptr[rows + 1].long() - start
    owner = torch.repeat_interleave(count)
    first = count.cumsum(0) - count
    place = torch.arange(owner.shape[0], device=rows.device) + (start - first)[owner]
    return place, owner
