"""One step of a leap, compiled by numba: a single pass, in which a block of rows stays in the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np
from numba import prange

from .compiled import _threads, as_numpy
from .compiled_products import Packed, room
from .gathering import fetch_ahead, gather
from .rowwise import CODES, PARALLEL, SERIAL, activate, copy, stored, widened
from .tiles import BLOCK, multiply

if TYPE_CHECKING:
    from torch import Tensor

    from ..sparse import SparseMatrix


@numba.njit(**SERIAL)
def _evaluated(  # type: ignore[no-untyped-def]
    begin, count, rowptr, col, value, product, inputs, base, change, found, code, ahead
):
    """A block of ``act(A @ product + inputs) - base``; the squares of its distance from ``change``, and of f."""
    residual, size = 0.0, 0.0
    for i in range(count):
        row, out = begin + i, found[i]
        copy(inputs[row], out)
        gather(out, product, col, value, rowptr[row], rowptr[row + 1], 0, 0, 0, 0, ahead)
        activate(out, code)
        far, large = out.dtype.type(0), out.dtype.type(0)
        for c in range(out.shape[0]):
            large += out[c] * out[c]
            out[c] -= base[row, c]
            moved = out[c] - widened(change[row, c], change)
            far += moved * moved
        residual += far
        size += large
    return residual, size


@numba.njit(**SERIAL)
def _mixed(begin, count, found, base, change, before, left, right, rank, kind, low, high):  # type: ignore[no-untyped-def]
    """Add the mixed residual to a block, of the second kind the momentum too, and clamp it."""
    width = found.shape[1]
    regressors = room(kind * width, left)
    for i in range(count):
        # Two short loops: one would be too long for its arrays to be told apart, and not vectorised.
        point, row, now = regressors[i], found[i], change[begin + i]
        for c in range(width):
            point[c] = stored(row[c] - widened(now[c], change), regressors)
        if kind > 1:
            last = before[begin + i]
            for c in range(width):
                moved = widened(now[c], change) - widened(last[c], before)
                point[width + c] = stored(moved, regressors)
    if rank > 0:
        narrow, rounded = np.empty((BLOCK, rank), found.dtype), room(rank, right)
        multiply(regressors, 0, count, left, narrow, 0, False)
        for i in range(count):
            for c in range(rank):
                rounded[i, c] = stored(narrow[i, c], rounded)
        multiply(rounded, 0, count, right, found, 0, True)
    else:
        multiply(regressors, 0, count, left, found, 0, True)
    for i in range(count):
        for c in range(width):
            lowest, highest = low - base[begin + i, c], high - base[begin + i, c]
            # Written so that NaN stays NaN.
            number = lowest if found[i, c] < lowest else found[i, c]
            found[i, c] = highest if number > highest else number


@numba.njit(**PARALLEL)
def _pass(  # type: ignore[no-untyped-def]
    rowptr, col, value, splits, inputs, base, image, previous, change, after, product, onward, weight, left, right,
    out, rank, kind, begins, ends, low, high, code, ahead,
):  # fmt: skip
    parts, width = splits.shape[0] - 1, base.shape[1]
    sums = np.zeros((parts, 2))
    for part in prange(parts):
        found = np.empty((BLOCK, width), base.dtype)
        for begin in range(splits[part], splits[part + 1], BLOCK):
            count = min(BLOCK, splits[part + 1] - begin)
            if begins:
                for i in range(count):
                    for c in range(width):
                        found[i, c] = image[begin + i, c] - base[begin + i, c]
                        change[begin + i, c] = 0
                        if kind > 1:
                            moved = previous[begin + i, c] - base[begin + i, c]
                            after[begin + i, c] = stored(moved, after)
            else:
                squares = _evaluated(
                    begin, count, rowptr, col, value, product, inputs, base, change, found, code, ahead
                )  # fmt: skip
                sums[part, 0] += squares[0]
                sums[part, 1] += squares[1]
            if kind > 0:
                # What was there before this step is read here, and written over below.
                _mixed(begin, count, found, base, change, after, left, right, rank, kind, low, high)
            if ends:
                for i in range(count):
                    for c in range(width):
                        out[begin + i, c] = base[begin + i, c] + found[i, c]
            else:
                for i in range(count):
                    for c in range(width):
                        after[begin + i, c] = stored(found[i, c], after)
                multiply(after, begin, begin + count, weight, found, -begin, False)
                for i in range(count):
                    for c in range(width):
                        onward[begin + i, c] = stored(found[i, c], onward)
    return sums


@numba.njit(**PARALLEL)
def _land(base, change, out):  # type: ignore[no-untyped-def]
    for i in prange(base.shape[0]):
        for c in range(base.shape[1]):
            out[i, c] = base[i, c] + widened(change[i, c], change)


def step(
    matrix: SparseMatrix,
    inputs: Tensor,
    base: Tensor,
    image: Tensor | None,
    previous: Tensor | None,
    changes: tuple[Tensor, Tensor],
    products: tuple[Tensor, Tensor],
    weight: Packed,
    mixing: tuple[Packed, Packed] | None,
    bounds: tuple[float, float],
    activation: str,
    out: Tensor | None,
) -> tuple[float, float]:
    """See ``kernels.leap.step``."""
    _threads()
    rowptr, col, value = matrix.arrays
    points, states = inputs.numpy(), base.numpy()
    low, high = (states.dtype.type(bound) for bound in bounds)
    change, after, product, onward = (as_numpy(one) for one in (*changes, *products))
    left, right = (weight, weight) if mixing is None else mixing
    rank, kind = (0, 0) if mixing is None else (right.shape[0], left.shape[0] // base.shape[1])
    first, earlier = (states if one is None else one.numpy() for one in (image, previous))
    sums = _pass(
        rowptr, col, value, matrix.splits, points, states, first, earlier, change, after, product, onward,
        weight.numbers, left.numbers, right.numbers, states if out is None else out.numpy(),
        rank, kind, image is not None, out is not None, low, high, CODES[activation], fetch_ahead(product),
    )  # fmt: skip
    residual, size = sums.sum(0)
    return float(residual), float(size)


def land(base: Tensor, change: Tensor, out: Tensor) -> None:
    """See ``kernels.leap.land``."""
    _threads()
    _land(base.numpy(), as_numpy(change), out.numpy())
