"""Explicit hops and sums over graphs, compiled by numba: a run of small graphs stays in the cache throughout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np
from numba import prange
from torch import Tensor

from .compiled import _threads
from .compiled_products import Packed
from .gathering import sum_rows
from .rowwise import PARALLEL, SERIAL, activate, copy, flat
from .tiles import BLOCK, ROWS, multiply

if TYPE_CHECKING:
    from ..sparse import SparseMatrix


@numba.njit(**SERIAL)
def _repeated(shift, rows):  # type: ignore[no-untyped-def]
    """The shift in so many rows."""
    found = np.empty((rows, shift.shape[0]), shift.dtype)
    for i in range(rows):
        copy(shift, found[i])
    return found


@numba.njit(**SERIAL)
def _affine_rows(x, begin, count, packed, shifts, rectifies, room):  # type: ignore[no-untyped-def]
    """``x[begin + i] @ weight + shift`` into row i of ``room``, for so many rows; rectified, or not."""
    # A few rows too many, where there are any, cost less than an incomplete tile.
    whole = min((count + ROWS - 1) // ROWS * ROWS, x.shape[0] - begin)
    # Rows may be short: one long loop over all of them costs less than many.
    copy(flat(shifts, 0, whole), flat(room, 0, whole))
    multiply(x, begin, begin + whole, packed, room, -begin, True)
    if rectifies:
        activate(flat(room, 0, count), 0)


@numba.njit(**PARALLEL)
def _affine(x, packed, shift, rectifies, out):  # type: ignore[no-untyped-def]
    rows, columns = out.shape
    shifts = _repeated(shift, BLOCK + ROWS)
    for block in prange((rows + BLOCK - 1) // BLOCK):
        begin = block * BLOCK
        count = min(BLOCK, rows - begin)
        room = np.empty((BLOCK + ROWS, columns), x.dtype)
        _affine_rows(x, begin, count, packed, shifts, rectifies, room)
        copy(flat(room, 0, count), flat(out, begin, count))


@numba.njit(**PARALLEL)
def _hop(  # type: ignore[no-untyped-def]
    rowptr, col, value, x, first, first_shift, second, second_shift, out, blocks, most, parts
):
    count = blocks.shape[0] - 1
    first_shifts = _repeated(first_shift, most + ROWS)
    second_shifts = _repeated(second_shift, most + ROWS)
    for part in prange(parts):
        summed = np.zeros((most + ROWS, x.shape[1]), x.dtype)
        middle = np.zeros((most + ROWS, first_shift.shape[0]), x.dtype)
        found = np.empty((most + ROWS, out.shape[1]), x.dtype)
        for block in range(part * count // parts, (part + 1) * count // parts):
            begin, end = blocks[block], blocks[block + 1]
            rows = end - begin
            copy(flat(x, begin, rows), flat(summed, 0, rows))
            sum_rows(begin, end, rowptr, x, col, value, summed, -begin, True, 0, 0)
            _affine_rows(summed, 0, rows, first, first_shifts, True, middle)
            _affine_rows(middle, 0, rows, second, second_shifts, True, found)
            copy(flat(found, 0, rows), flat(out, begin, rows))


@numba.njit(**PARALLEL)
def _sums(x, begins, out):  # type: ignore[no-untyped-def]
    rows, width = x.shape
    count = begins.shape[0]
    for graph in prange(count):
        end = begins[graph + 1] if graph + 1 < count else rows
        total = out[graph]
        for c in range(width):
            total[c] = 0
        for i in range(begins[graph], end):
            for c in range(width):
                total[c] += x[i, c]


def affine(x: Tensor, weight: Packed, shift: Tensor, rectifies: bool) -> Tensor:
    """See ``nn.folding.affine``."""
    _threads()
    out = x.new_empty(x.shape[0], shift.shape[0])
    _affine(x.contiguous().numpy(), weight.numbers, shift.numpy(), rectifies, out.numpy())
    return out


def hop(
    matrix: SparseMatrix,
    blocks: np.ndarray,
    x: Tensor,
    first: tuple[Packed, Tensor],
    second: tuple[Packed, Tensor],
) -> Tensor:
    """See ``nn.folding.hop``."""
    _threads()
    out = x.new_empty(x.shape[0], second[1].shape[0])
    parts = min(blocks.shape[0] - 1, matrix.splits.shape[0] - 1)
    _hop(
        *matrix.arrays, x.contiguous().numpy(), first[0].numbers, first[1].numpy(), second[0].numbers,
        second[1].numpy(), out.numpy(), blocks, int(np.diff(blocks).max()), parts,
    )  # fmt: skip
    return out


def sums(x: Tensor, begins: np.ndarray) -> Tensor:
    """See ``nn.folding.sums``."""
    _threads()
    out = x.new_empty(begins.shape[0], x.shape[1])
    _sums(x.contiguous().numpy(), begins, out.numpy())
    return out
