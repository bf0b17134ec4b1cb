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


@numba.njit(**PARALLEL)
def _gather(rowptr, col, value, rows, x, out, ahead):  # type: ignore[no-untyped-def]
    for k in numba.prange(rows.shape[0]):
        row = out[k]
        clear(row)
        gather(row, x, col, value, rowptr[rows[k]], rowptr[rows[k] + 1], 0, 0, 0, 0, ahead)


@numba.njit(**PARALLEL)
def _move(rows, projected, bias, z, code, keep, moved, gained):  # type: ignore[no-untyped-def]
    for k in numba.prange(rows.shape[0]):
        row, before = projected[k], z[rows[k]]
        row += bias[rows[k]]
        residual, size = finish(row, before, row, code)
        moved[k] = np.sqrt(residual)
        gained[k] = 0
        # Written so that NaN moves, and is seen.
        if not moved[k] <= keep[k]:
            gained[k] = size - (before * before).sum()
            before[:] = row


@numba.njit(**SERIAL)
def _push(rowptr, col, value, rows, amount, level, allowed, queued, found):  # type: ignore[no-untyped-def]
    count = 0
    for k in range(rows.shape[0]):
        j = rows[k]
        for edge in range(rowptr[j], rowptr[j + 1]):
            i = col[edge]
            level[i] += value[edge] * amount[k]
            if level[i] > allowed[i] and not queued[i]:
                queued[i] = True
                found[count] = i
                count += 1
    return count


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


def gather_rows(matrix: SparseMatrix, rows: Tensor, x: Tensor) -> Tensor:
    """See ``kernels.rows.gather_rows``."""
    _threads()
    x = x.detach().contiguous()
    out = x.new_empty(rows.shape[0], x.shape[1])
    rowptr, col, value = matrix.arrays
    dense = x.numpy()
    _gather(rowptr, col, value, rows.numpy(), dense, out.numpy(), fetch_ahead(dense))
    return out


def move_rows(
    rows: Tensor, projected: Tensor, bias: Tensor, z: Tensor, activation: str, keep: Tensor
) -> tuple[Tensor, Tensor]:
    """See ``kernels.rows.move_rows``."""
    _threads()
    moved, gained = keep.new_empty(2, rows.shape[0])
    _move(
        rows.numpy(), projected.numpy(), bias.numpy(), z.numpy(), CODES[activation], keep.numpy(),
        moved.numpy(), gained.numpy(),
    )  # fmt: skip
    return moved, gained


def push(
    matrix: SparseMatrix,
    rows: Tensor,
    amount: Tensor,
    level: Tensor,
    allowed: Tensor,
    queued: Tensor,
) -> Tensor:
    """See ``kernels.rows.push``."""
    rowptr, col, value = matrix.arrays
    ids = rows.numpy()
    room = int((rowptr[ids + 1] - rowptr[ids]).sum())
    found = np.empty(room, dtype=np.int64)
    count = _push(
        rowptr,
        col,
        value,
        ids,
        amount.numpy(),
        level.numpy(),
        allowed.numpy(),
        queued.numpy(),
        found,
    )
    return torch.from_numpy(found[:count])
