"""Loops over a few rows: what local updates spend their time in.

Their cost grows with the entries of these rows, not with the matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from . import compiled, use_compiled

if TYPE_CHECKING:
    from ..sparse import SparseMatrix

if compiled is not None:
    from . import compiled_rows


class Worklist(NamedTuple):
    """What is known of every node while rows are moved one group after the other; all change in place.

    Attributes:
        level: An upper bound on the norm of its row of ``f(z) - z``, ``n``, of the type of the states.
        allowed: Up to which level it may stay, ``n``, of that type.
        queued: Whether it waits to be evaluated, ``n``, bool.
        graph: The graph that it belongs to, ``n``, or ``None`` if there is one.
        size_sq: Squared norm of the states of each graph, float64.
    """

    level: Tensor
    allowed: Tensor
    queued: Tensor
    graph: Tensor | None
    size_sq: Tensor


class Rule(NamedTuple):
    """Which rows move, and what that does to others.

    Attributes:
        keep: A row that would move by at most this share of what it is allowed stays.
        slack: A level is this much more than what was computed.
        factor: By how much a unit of movement raises the level of a neighbour, times the entry.
    """

    keep: float
    slack: float
    factor: float


def take_rows(
    matrix: SparseMatrix, queue: Tensor, worklist: Worklist, share: float, z: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Take those nodes from the queue whose level, against what is allowed, is at least a share of the largest.

    Args:
        matrix: Sparse ``n x n``.
        queue: Distinct nodes, at least one; overwritten.
        worklist: The levels; the nodes that are taken are not queued any more.
        share: The share, above 0 and at most 1.
        z: Dense ``n x d``, contiguous.

    Returns:
        The nodes taken, those left, and ``(matrix @ z)[taken]``.
    """
    if use_compiled(z):
        return compiled_rows.take_rows(matrix, queue, worklist, share, z)
    excess = worklist.level[queue] / worklist.allowed[queue]
    now = ~(excess < share * excess.max())
    rows = queue[now]
    worklist.queued[rows] = False
    place, owner = row_entries(matrix, rows)
    terms = z[matrix.col[place].long()] * matrix.value[place].unsqueeze(-1)
    return rows, queue[~now], z.new_zeros(rows.shape[0], z.shape[1]).index_add_(0, owner, terms)


def settle_rows(
    matrix: SparseMatrix,
    rows: Tensor,
    projected: Tensor,
    bias: Tensor,
    z: Tensor,
    activation: str,
    worklist: Worklist,
    rule: Rule,
) -> tuple[Tensor, Tensor]:
    """Move rows of ``z`` to ``y = act(projected + bias[rows])``, those that go far, and tell their neighbours.

    Args:
        matrix: Its row j says how much of a movement of j arrives where: the transposed adjacency.
        rows: Distinct row numbers; overwritten.
        projected: ``(A z W)[rows]``; overwritten.
        bias: ``n x d``, contiguous.
        z: ``n x d``, contiguous; changed in place.
        activation: One of ``kernels.ACTIVATIONS``.
        worklist: Levels, sizes, and who is queued, all brought up to date.
        rule: Which rows move, and what that does.

    Returns:
        The rows that moved, and the nodes that were queued because their level rose above what is allowed.
    """
    if use_compiled(z):
        return compiled_rows.settle_rows(
            matrix, rows, projected, bias, z, activation, worklist, rule
        )
    before, (level, allowed, queued, graph, size_sq) = z[rows], worklist
    y = getattr(torch, activation)(projected.add_(bias[rows]))
    distance = (y - before).double().square_().sum(-1).sqrt_()
    stays = distance <= rule.keep * allowed[rows]
    level[rows] = torch.where(stays, distance * rule.slack, 0.0).to(level.dtype)
    went, y, before = rows[~stays], y[~stays], before[~stays]
    z[went] = y
    gained = y.double().square_().sum(-1) - before.double().square_().sum(-1)
    size_sq.index_add_(0, torch.zeros_like(went) if graph is None else graph[went], gained)
    place, owner = row_entries(matrix, went)
    targets = matrix.col[place].long()
    amount = (distance[~stays] * (rule.slack * rule.factor)).to(level.dtype)
    level.index_add_(0, targets, matrix.value[place] * amount[owner])
    found = torch.unique(targets[(level[targets] > allowed[targets]) & ~queued[targets]])
    queued[found] = True
    return went, found


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
