"""Dense products with small matrices, compiled by numba: a block of rows stays in the cache between two of them."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numba import prange
from torch import Tensor, from_numpy

from .compiled import _threads
from .rowwise import CODES, PARALLEL, SERIAL, activate, copy, flat, stored
from .tiles import BLOCK, multiply, pack, pack_rounded
from .tiles import roundings as roundings
from .vectors import HAS_PAIRS


@numba.njit(**PARALLEL)
def _product(x, packed, out):  # type: ignore[no-untyped-def]
    rows = x.shape[0]
    for block in prange((rows + BLOCK - 1) // BLOCK):
        begin = block * BLOCK
        multiply(x, begin, min(begin + BLOCK, rows), packed, out, 0, False)


@numba.njit(**SERIAL)
def room(columns, like):  # type: ignore[no-untyped-def]
    """Room for a block of rows to be multiplied by ``like``; those of pairs are filled up by a zero."""
    rows = np.empty((BLOCK, (columns + 1) // 2 * 2 if like.itemsize == 2 else columns), like.dtype)
    if rows.shape[1] > columns:
        rows[:, columns] = 0
    return rows


@numba.njit(**SERIAL)
def _block(x, begin, end, like):  # type: ignore[no-untyped-def]
    """Rows ``begin`` to ``end`` of ``x`` as they are multiplied by ``like``: copied, and rounded where that is."""
    rows = room(x.shape[1], like)
    for i in range(end - begin):
        for c in range(x.shape[1]):
            rows[i, c] = stored(x[begin + i, c], rows)
    return rows


@numba.njit(**SERIAL)
def _clamp(x, begin, end, low, high):  # type: ignore[no-untyped-def]
    for i in range(begin, end):
        for c in range(x.shape[1]):
            # Written so that NaN stays NaN.
            number = low if x[i, c] < low else x[i, c]
            x[i, c] = high if number > high else number


@numba.njit(**PARALLEL)
def _combine(  # type: ignore[no-untyped-def]
    first, second, third, fourth, plain, mixing, packed, out, low, high
):
    rows, width = first.shape
    for block in prange((rows + BLOCK - 1) // BLOCK):
        begin = block * BLOCK
        end = min(begin + BLOCK, rows)
        part = room(width, packed)
        for i in range(begin, end):
            for c in range(width):
                a, b, d, e = first[i, c], second[i, c], third[i, c], fourth[i, c]
                out[i, c] = plain[0] * a + plain[1] * b + plain[2] * d + plain[3] * e
                mixed = mixing[0] * a + mixing[1] * b + mixing[2] * d + mixing[3] * e
                part[i - begin, c] = stored(mixed, part)
        multiply(part, 0, end - begin, packed, out, begin, True)
        _clamp(out, begin, end, low, high)


@numba.njit(**PARALLEL)
def _mix(  # type: ignore[no-untyped-def]
    z, image, previous, left, right, shape, out, low, high
):
    rows, width = z.shape
    regressors, rank = shape
    for block in prange((rows + BLOCK - 1) // BLOCK):
        begin = block * BLOCK
        count = min(BLOCK, rows - begin)
        gathered = room(regressors, left)
        for i in range(count):
            row, here, there = gathered[i], z[begin + i], image[begin + i]
            copy(there, out[begin + i])
            # Short loops over rows: of longer ones the arrays cannot be told apart, and they are not vectorised.
            for c in range(width):
                row[c] = stored(there[c] - here[c], gathered)
            if regressors > width:
                before, rest = previous[begin + i], row[width:]
                for c in range(width):
                    rest[c] = stored(here[c] - before[c], gathered)
        if rank > 0:
            mixed = np.empty((BLOCK, rank), z.dtype)
            multiply(gathered, 0, count, left, mixed, 0, False)
            multiply(_block(mixed, 0, count, right), 0, count, right, out, begin, True)
        else:
            multiply(gathered, 0, count, left, out, begin, True)
        _clamp(out, begin, begin + count, low, high)


@numba.njit(**PARALLEL)
def _normal(z, image, previous, target, sums):  # type: ignore[no-untyped-def]
    """Fill ``sums``, one matrix for each part of the rows; the parts do not depend on the number of threads."""
    parts, regressors = sums.shape[0], sums.shape[1]
    rows, width = z.shape
    for part in prange(parts):
        sums[part] = 0
        end = (part + 1) * rows // parts
        for begin in range(part * rows // parts, end, BLOCK):
            count = min(BLOCK, end - begin)
            gathered = np.empty((count, 3 * width), z.dtype)
            for i in range(count):
                row, here, there = gathered[i], z[begin + i], image[begin + i]
                before, wanted = previous[begin + i], target[begin + i]
                momentum, error = row[width:], row[2 * width :]
                for c in range(width):
                    row[c] = there[c] - here[c]
                for c in range(width):
                    momentum[c] = here[c] - before[c]
                for c in range(width):
                    error[c] = wanted[c] - there[c]
            turned = np.empty((regressors, count), z.dtype)
            for line in range(0, regressors, _LINE):
                for i in range(count):
                    for c in range(line, min(line + _LINE, regressors)):
                        turned[c, i] = gathered[i, c]
            multiply(turned, 0, regressors, pack(gathered), sums[part], 0, True)


@numba.njit(**PARALLEL)
def _activated(bias, t, write, out, code):  # type: ignore[no-untyped-def]
    rows = bias.shape[0]
    for block in prange((rows + BLOCK - 1) // BLOCK):
        begin = block * BLOCK
        end = min(begin + BLOCK, rows)
        for i in range(begin, end):
            copy(bias[i], out[i])
        multiply(_block(t, begin, end, write), 0, end - begin, write, out, begin, True)
        for i in range(begin, end):
            activate(out[i], code)


@numba.njit(**PARALLEL)
def _through(bias, t, write, read, out, code):  # type: ignore[no-untyped-def]
    rows, width = bias.shape
    for block in prange((rows + BLOCK - 1) // BLOCK):
        begin = block * BLOCK
        end = min(begin + BLOCK, rows)
        states = np.empty((BLOCK, width), bias.dtype)
        for i in range(end - begin):
            copy(bias[begin + i], states[i])
        multiply(_block(t, begin, end, write), 0, end - begin, write, states, 0, True)
        for i in range(end - begin):
            activate(states[i], code)
        multiply(_block(states, 0, end - begin, read), 0, end - begin, read, out, begin, False)


@numba.njit(**SERIAL)
def _activated_pair(bias, begin, count, like, code):  # type: ignore[no-untyped-def]
    """So many rows of ``[act(bias), bias]`` from ``begin`` on, as they are multiplied by ``like``."""
    width = bias.shape[1]
    pair = room(2 * width, like)
    # Narrow rows are short: one long loop over all of them costs less than many.
    active = np.empty(count * width, bias.dtype)
    copy(flat(bias, begin, count), active)
    activate(active, code)
    for i in range(count):
        given, first, row = bias[begin + i], pair[i], active[i * width : (i + 1) * width]
        second = first[width:]
        for c in range(width):
            first[c] = stored(row[c], pair)
        for c in range(width):
            second[c] = stored(given[c], pair)
    return pair


@numba.njit(**PARALLEL)
def _from_bias(bias, packed, out, code):  # type: ignore[no-untyped-def]
    rows = bias.shape[0]
    for block in prange((rows + BLOCK - 1) // BLOCK):
        begin = block * BLOCK
        count = min(BLOCK, rows - begin)
        pair = _activated_pair(bias, begin, count, packed, code)
        multiply(pair, 0, count, packed, out, begin, False)


@numba.njit(**PARALLEL)
def _guess(bias, packed, out, code):  # type: ignore[no-untyped-def]
    rows = bias.shape[0]
    for block in prange((rows + BLOCK - 1) // BLOCK):
        begin = block * BLOCK
        count = min(BLOCK, rows - begin)
        pair, found = _activated_pair(bias, begin, count, packed, code), flat(out, begin, count)
        copy(flat(bias, begin, count), found)
        multiply(pair, 0, count, packed, out, begin, True)
        activate(found, code)


#: Columns that are turned at once, and rows at most whose products are summed up in single precision.
_LINE, _SUMMED = 16, 8192


class Packed(NamedTuple):
    """A small matrix as the compiled products read it."""

    numbers: np.ndarray
    shape: tuple[int, ...]


def prepare(weight: Tensor, rough: bool) -> Packed:
    """See ``products.prepare``."""
    given = weight.contiguous().numpy()
    return Packed((pack_rounded if rough and HAS_PAIRS else pack)(given), given.shape)


def product(x: Tensor, weight: Packed, out: Tensor) -> None:
    """See ``products.product``."""
    _threads()
    _product(x.contiguous().numpy(), weight.numbers, out.numpy())


def mix(
    z: Tensor,
    image: Tensor,
    previous: Tensor,
    left: Packed,
    right: Packed,
    out: Tensor,
    bounds: tuple[float, float],
) -> None:
    """See ``products.mix``."""
    _threads()
    arrays = [one.contiguous().numpy() for one in (z, image, previous)]
    low, high = (arrays[0].dtype.type(bound) for bound in bounds)
    shape = left.shape[0], right.shape[0]
    _mix(*arrays, left.numbers, right.numbers, shape, out.numpy(), low, high)


def normal(z: Tensor, image: Tensor, previous: Tensor, target: Tensor) -> Tensor:
    """See ``products.normal``."""
    _threads()
    rows, width = z.shape
    arrays = [one.contiguous().numpy() for one in (z, image, previous, target)]
    # Even, for two threads.
    parts = 2 * max(1, -(-rows // (2 * _SUMMED)))
    sums = np.empty((parts, 2 * width, 3 * width), arrays[0].dtype)
    _normal(*arrays, sums)
    return from_numpy(sums.sum(0, dtype=np.float64))


def combine(
    points: tuple[Tensor, ...],
    plain: list[float],
    mixing: list[float],
    matrix: Packed,
    out: Tensor,
    bounds: tuple[float, float],
) -> None:
    """See ``products.combine``."""
    _threads()
    arrays = [one.contiguous().numpy() for one in points]
    kind = arrays[0].dtype
    factors = np.array(plain, kind), np.array(mixing, kind)
    low, high = (kind.type(bound) for bound in bounds)
    _combine(*arrays, *factors, matrix.numbers, out.numpy(), low, high)


def activated(bias: Tensor, t: Tensor, write: Packed, activation: str, out: Tensor) -> None:
    """See ``products.activated``."""
    _threads()
    arrays = bias.contiguous().numpy(), t.contiguous().numpy()
    _activated(*arrays, write.numbers, out.numpy(), CODES[activation])


def through(
    bias: Tensor, t: Tensor, write: Packed, read: Packed, activation: str, out: Tensor
) -> None:
    """See ``products.through``."""
    _threads()
    arrays = bias.contiguous().numpy(), t.contiguous().numpy()
    _through(*arrays, write.numbers, read.numbers, out.numpy(), CODES[activation])


def from_bias(bias: Tensor, weight: Packed, activation: str, out: Tensor) -> None:
    """See ``products.from_bias``."""
    _threads()
    _from_bias(bias.contiguous().numpy(), weight.numbers, out.numpy(), CODES[activation])


def guess(bias: Tensor, weight: Packed, activation: str, out: Tensor) -> None:
    """See ``products.guess``."""
    _threads()
    _guess(bias.contiguous().numpy(), weight.numbers, out.numpy(), CODES[activation])
