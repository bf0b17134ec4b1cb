"""Loops over the edges of a few rows, compiled by numba."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np
import torch
from torch import Tensor

from .compiled import _threads
from .gathering import fetch_ahead, gather
from .rowwise import CODES, PARALLEL, SERIAL, clear, copy, finish

if TYPE_CHECKING:
    from ..sparse import SparseMatrix
    from .rows import Rule, Worklist


#: With fewer rows than this, waking a second thread takes longer than the loop.
_SERIAL_ROWS = 64


@numba.njit(**SERIAL)
def _choose(queue, level, allowed, share, queued, chosen):  # type: ignore[no-untyped-def]
    """Move the nodes with the largest levels from the queue to ``chosen``; how many stay in the queue, and go."""
    most = 0.0
    for i in queue:
        most = max(most, level[i] / allowed[i])
    stay = go = 0
    for i in queue:
        # Written so that NaN goes.
        if not level[i] / allowed[i] < share * most:
            chosen[go] = i
            queued[i] = False
            go += 1
        else:
            queue[stay] = i
            stay += 1
    return stay, go


@numba.njit(**PARALLEL)
def _gather(rowptr, col, value, rows, x, out, ahead):  # type: ignore[no-untyped-def]
    for k in numba.prange(rows.shape[0]):
        row = out[k]
        clear(row)
        gather(row, x, col, value, rowptr[rows[k]], rowptr[rows[k] + 1], 0, 0, 0, 0, ahead)


@numba.njit(**PARALLEL)
def _move(rows, projected, bias, z, code, keep, allowed, distance, gained):  # type: ignore[no-untyped-def]
    for k in numba.prange(rows.shape[0]):
        i, row = rows[k], projected[k]
        before = z[i]
        row += bias[i]
        residual, size = finish(row, before, row, code)
        distance[k], gained[k] = np.sqrt(residual), 0
        # Written so that NaN moves, and is seen.
        if not distance[k] <= keep * allowed[i]:
            gained[k] = size - (before * before).sum()
            before[:] = row


@numba.njit(**SERIAL)
def _pass_on(  # type: ignore[no-untyped-def]
    rowptr, col, value, rows, distance, gained, keep, slack, factor, level, allowed, queued, graph,
    size_sq, found,
):  # fmt: skip
    """Levels and sizes after a move; ``rows`` keeps those that moved. How many nodes were found, and moved."""
    for k in range(rows.shape[0]):
        i = rows[k]
        level[i] = distance[k] * slack if distance[k] <= keep * allowed[i] else 0
        size_sq[graph[i] if graph.shape[0] > 0 else 0] += gained[k]
    count = went = 0
    for k in range(rows.shape[0]):
        i = rows[k]
        if distance[k] <= keep * allowed[i]:
            continue
        rows[went] = i
        went += 1
        amount = distance[k] * slack * factor
        for edge in range(rowptr[i], rowptr[i + 1]):
            j = col[edge]
            level[j] += value[edge] * amount
            if level[j] > allowed[j] and not queued[j]:
                queued[j] = True
                found[count] = j
                count += 1
    return count, went


@numba.njit(**PARALLEL)
def _put_graphs(chosen, begins, x, x_residual, x_size, out, residual, size):  # type: ignore[no-untyped-def]
    rows, width = out.shape
    count = begins.shape[0]
    for graph in numba.prange(count):
        if chosen[graph]:
            begin, end = begins[graph], begins[graph + 1] if graph + 1 < count else rows
            source = x[begin:end].reshape((end - begin) * width)
            copy(source, out[begin:end].reshape((end - begin) * width))
            copy(x_residual[begin:end], residual[begin:end])
            copy(x_size[begin:end], size[begin:end])


def put_graphs(
    chosen: np.ndarray, begins: np.ndarray, found: tuple[Tensor, ...], out: tuple[Tensor, ...]
) -> None:
    """See ``kernels.rows.put_graphs``."""
    _threads()
    _put_graphs(chosen, begins, *(one.numpy() for one in found), *(one.numpy() for one in out))


def take_rows(
    matrix: SparseMatrix, queue: Tensor, worklist: Worklist, share: float, z: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """See ``kernels.rows.take_rows``."""
    waiting, chosen = queue.numpy(), np.empty(queue.shape[0], np.int64)
    stay, go = _choose(
        waiting, worklist.level.numpy(), worklist.allowed.numpy(), share, worklist.queued.numpy(), chosen
    )  # fmt: skip
    rows, dense = chosen[:go], z.numpy()
    out = z.new_empty(go, z.shape[1])
    _few_threads(go)
    _gather(*matrix.arrays, rows, dense, out.numpy(), fetch_ahead(dense))
    return torch.from_numpy(rows), queue[:stay], out


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
    """See ``kernels.rows.settle_rows``."""
    ids, allowed = rows.numpy(), worklist.allowed.numpy()
    distance, gained = np.empty((2, ids.shape[0]))
    _few_threads(ids.shape[0])
    _move(
        ids, projected.numpy(), bias.numpy(), z.numpy(), CODES[activation], rule.keep, allowed,
        distance, gained,
    )  # fmt: skip
    rowptr, col, value = matrix.arrays
    found = np.empty(int((rowptr[ids + 1] - rowptr[ids]).sum()), np.int64)
    graph = _NO_GRAPH if worklist.graph is None else worklist.graph.numpy()
    count, went = _pass_on(
        rowptr, col, value, ids, distance, gained, *rule, worklist.level.numpy(), allowed,
        worklist.queued.numpy(), graph, worklist.size_sq.numpy(), found,
    )  # fmt: skip
    return rows[:went], torch.from_numpy(found[:count])


_NO_GRAPH = np.empty(0, np.int64)


def _few_threads(rows: int) -> None:
    if rows < _SERIAL_ROWS:
        numba.set_num_threads(1)
    else:
        _threads()
