"""Small graphs solved whole, compiled by numba: one after the other, each in the cache until it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np
from numba import prange
from torch import Tensor

from .compiled import _threads
from .compiled_products import Packed
from .gathering import sum_rows
from .rowwise import CODES, PARALLEL, SERIAL, activate, copy, flat, stored
from .tiles import ROWS, multiply, pack

if TYPE_CHECKING:
    from ..sparse import SparseMatrix

#: Parts that the threads share: many, as some graphs take longer than others.
_PARTS = 64


@numba.njit(**SERIAL)
def _mixed(begin, end, z, out, rooms, matrices, rank, momentum, low, high):  # type: ignore[no-untyped-def]
    """Move the rows of a graph by a mixed step; rows beyond its last one fill the tiles."""
    before, residual, moved, narrow, rounded, found = rooms
    first, rest, right = matrices
    count, width = end - begin, out.shape[1]
    many = (count + ROWS - 1) // ROWS * ROWS
    # Rows are short: one long loop over all of them costs less than many.
    numbers = count * width
    here, there = flat(z, begin, count), flat(out, begin, count)
    last, change = flat(before, 0, count), flat(residual, 0, count)
    for k in range(numbers):
        change[k] = stored(there[k] - here[k], residual)
    if momentum:
        change = flat(moved, 0, count)
        for k in range(numbers):
            change[k] = stored(here[k] - last[k], moved)
    copy(here, last)
    sums = narrow if rank > 0 else found
    multiply(residual, 0, many, first, sums, 0, False)
    if momentum:
        multiply(moved, 0, many, rest, sums, 0, True)
    if rank > 0:
        for i in range(many):
            for c in range(rank):
                rounded[i, c] = stored(narrow[i, c], rounded)
        multiply(rounded, 0, many, right, found, 0, False)
    step = flat(found, 0, count)
    for k in range(numbers):
        number = there[k] + step[k]
        # Written so that NaN stays NaN.
        number = low if number < low else number
        here[k] = high if number > high else number


@numba.njit(**SERIAL)
def _evaluate(begin, end, rowptr, col, value, z, weight, product, bias, out, code):  # type: ignore[no-untyped-def]
    """Evaluate f for the rows of a graph; the squares of its distance from z, and of f."""
    count = end - begin
    # A few rows too many cost less than an incomplete tile.
    many = min((count + ROWS - 1) // ROWS * ROWS, z.shape[0] - begin)
    multiply(z, begin, begin + many, weight, product, -begin, False)
    found, here = flat(out, begin, count), flat(z, begin, count)
    copy(flat(bias, begin, count), found)
    sum_rows(begin, end, rowptr, product, col, value, out, 0, True, 0, -begin)
    activate(found, code)
    residual = size = z.dtype.type(0)
    for k in range(found.shape[0]):
        moved = found[k] - here[k]
        residual += moved * moved
        size += found[k] * found[k]
    return float(residual), float(size)


@numba.njit(**SERIAL)
def _guessed(begin, end, bias, z, rooms, start, code):  # type: ignore[no-untyped-def]
    """The first point of a graph: ``act(bias + [act(bias), bias] @ start)``."""
    _, active, given, _, _, found = rooms
    count = end - begin
    many = (count + ROWS - 1) // ROWS * ROWS
    known, point = flat(bias, begin, count), flat(found, 0, count)
    copy(known, point)
    activate(point, code)
    first, rest = flat(active, 0, count), flat(given, 0, count)
    for k in range(point.shape[0]):
        first[k] = stored(point[k], active)
    for k in range(point.shape[0]):
        rest[k] = stored(known[k], given)
    copy(known, point)
    multiply(active, 0, many, start[0], found, 0, True)
    multiply(given, 0, many, start[1], found, 0, True)
    activate(point, code)
    copy(point, flat(z, begin, count))


@numba.njit(**PARALLEL)
def _solve_whole(  # type: ignore[no-untyped-def]
    rowptr, col, value, begins, largest, z, start, weight, bias, out, residual_sq, firsts, rests, rights, rank,
    plain, until, low, high, code, tol, floor, enough, trace, evals, rejected, done,
):  # fmt: skip
    nodes, width = z.shape
    graphs, most = begins.shape[0], trace.shape[0]
    like = firsts[0]
    room = largest + ROWS
    for part in prange(_PARTS):
        product = np.empty((room, width), z.dtype)
        rooms = (
            np.empty((room, width), z.dtype),
            np.zeros((room, width), like.dtype),
            np.zeros((room, width), like.dtype),
            np.empty((room, max(rank, 1)), z.dtype),
            np.zeros((room, max((rank + 1) // 2 * 2, 1)), like.dtype),
            np.zeros((room, width), z.dtype),
        )
        before = rooms[0]
        for graph in range(part * graphs // _PARTS, (part + 1) * graphs // _PARTS):
            begin = begins[graph]
            end = begins[graph + 1] if graph + 1 < graphs else nodes
            if start.shape[1] > 0:
                _guessed(begin, end, bias, z, rooms, start, code)
            least = size_floor = 0.0
            is_plain, plain_left = True, 0
            for number in range(most):
                residual, size = _evaluate(
                    begin, end, rowptr, col, value, z, weight, product, bias, out, code
                )
                if number == 0:
                    size_floor, least = floor * size, residual
                relative = np.sqrt(residual / max(size, size_floor)) if residual != 0 else 0.0
                trace[number, graph] = relative if np.isfinite(relative) else np.inf
                evals[graph] = number + 1
                done[graph] = relative <= tol
                # The safeguard of the ordinary loop; written so that NaN is bad.
                bad = not is_plain and not residual <= enough * least
                if done[graph] or not (bad or np.isfinite(residual)):
                    break
                if bad and not residual < least:
                    # Back to the point before, whose image is not worth keeping: this is rare.
                    for i in range(begin, end):
                        copy(before[i - begin], z[i])
                    _evaluate(begin, end, rowptr, col, value, z, weight, product, bias, out, code)
                if bad:
                    rejected[graph] += 1
                    plain_left = 2 ** min(rejected[graph] - 1, 4)
                least = min(least, residual)
                is_plain, plain_left = plain_left > 0, max(plain_left - 1, 0)
                if is_plain or number < plain or number >= until:
                    for i in range(begin, end):
                        copy(z[i], before[i - begin])
                        copy(out[i], z[i])
                    continue
                step = min(number, firsts.shape[0] - 1)
                matrices = firsts[step], rests[step], rights[step]
                _mixed(begin, end, z, out, rooms, matrices, rank, number > plain, low, high)
            for i in range(begin, end):
                residual_sq[i] = 0
                for c in range(width):
                    residual_sq[i] += (out[i, c] - z[i, c]) * (out[i, c] - z[i, c])
            for number in range(evals[graph], most):
                trace[number, graph] = trace[evals[graph] - 1, graph]


class Found(NamedTuple):
    """What became of every graph: see ``whole.attempt``."""

    value: Tensor
    residual_sq: Tensor
    trace: np.ndarray
    evals: np.ndarray
    rejected: np.ndarray
    done: np.ndarray


def solve_whole(
    matrix: SparseMatrix,
    begins: np.ndarray,
    z: Tensor,
    start: tuple[Packed, Packed] | None,
    weight: Tensor,
    bias: Tensor,
    activation: str,
    mixing: list[tuple[Packed, Packed, Packed]],
    mixed: range,
    bounds: tuple[float, float],
    tol: float,
    floor: float,
    enough: float,
    most: int,
    out: Tensor,
) -> Found:
    """See ``whole.attempt``."""
    _threads()
    rowptr, col, value = matrix.arrays
    matrices = [np.stack([step[k].numbers for step in mixing]) for k in range(3)]
    guess = matrices[0][:2, :0] if start is None else np.stack([one.numbers for one in start])
    low, high = (bias.numpy().dtype.type(bound) for bound in bounds)
    graphs = begins.shape[0]
    largest = int(np.diff(begins, append=z.shape[0]).max())
    residual_sq = z.new_empty(z.shape[0])
    trace = np.empty((most, graphs))
    evals, rejected = np.zeros((2, graphs), np.int64)
    done = np.zeros(graphs, np.bool_)
    _solve_whole(
        rowptr, col, value, begins, largest, z.numpy(), guess, pack(weight.contiguous().numpy()), bias.numpy(),
        out.numpy(), residual_sq.numpy(), *matrices, mixing[0][2].shape[0], mixed.start, mixed.stop,
        low, high, CODES[activation], tol, floor, enough, trace, evals, rejected, done,
    )  # fmt: skip
    return Found(out, residual_sq, trace[: evals.max()], evals, rejected, done)
