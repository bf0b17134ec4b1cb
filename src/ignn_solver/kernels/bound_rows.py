"""What each stage of a certificate's bounds does to some rows, compiled by numba.

Sums may be fused, but nothing else may be changed: a proof rests on every rounding. What a stage finds of
its rows goes to ``found``, eight numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

CHECKED: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "nogil": True,
}
_EPSILON = float(np.finfo(np.float64).eps)


# A call for every row would take longer than the row.
@numba.njit(**CHECKED, inline="always")
def _product(rowptr, col, value, x, i):  # type: ignore[no-untyped-def]
    """Row i of the matrix times both columns of ``x``."""
    # Four sums at once, as one would wait for itself; gathers by vector instructions are slower still.
    zero = x.dtype.type(0)
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = zero
    e, end = rowptr[i], rowptr[i + 1]
    while e + 4 <= end:
        j0, j1, j2, j3 = col[e], col[e + 1], col[e + 2], col[e + 3]
        v0, v1, v2, v3 = value[e], value[e + 1], value[e + 2], value[e + 3]
        a0 += v0 * x[j0, 0]
        b0 += v0 * x[j0, 1]
        a1 += v1 * x[j1, 0]
        b1 += v1 * x[j1, 1]
        a2 += v2 * x[j2, 0]
        b2 += v2 * x[j2, 1]
        a3 += v3 * x[j3, 0]
        b3 += v3 * x[j3, 1]
        e += 4
    while e < end:
        a0 += value[e] * x[col[e], 0]
        b0 += value[e] * x[col[e], 1]
        e += 1
    return (a0 + a1) + (a2 + a3), (b0 + b1) + (b2 + b3)


@numba.njit(**CHECKED, inline="always")
def upper(square, grown, lost):  # type: ignore[no-untyped-def]
    """An upper bound on a norm, from its computed square."""
    return math.sqrt(np.float64(square) * grown + lost)


@numba.njit(**CHECKED)
def norms(first, last, residual_sq, value_sq, allowed, at_value, source, sizes, found):  # type: ignore[no-untyped-def]
    """Upper norms of the residual, of z and of f(z); their sum shows whether all of them are finite."""
    total = 0.0
    for i in range(first, last):
        source[i, 0] = upper(residual_sq[i], allowed.residual_grown, allowed.residual_lost)
        sizes[i, 1] = upper(value_sq[i], allowed.grown, allowed.lost)
        sizes[i, 0] = sizes[i, 1] if at_value else sizes[i, 1] + source[i, 0]
        total += sizes[i, 0] + source[i, 0]
    found[0] = total


@numba.njit(**CHECKED)
def errors(  # type: ignore[no-untyped-def]
    first, last, rowptr, col, value, bias_sq, allowed, slack, shrunk, sizes, source, found
):
    """What rounding can have done to f(z); the maxima of both sources, and how they lie along v."""
    most = most_error = along = along_error = size = length = total = total_error = 0.0
    for i in range(first, last):
        entries = rowptr[i + 1] - rowptr[i]
        spread, _ = _product(rowptr, col, value, sizes, i)
        terms = (entries + 3) * allowed.roundoff
        gamma = terms / (1 - terms) if terms < 1 else np.inf
        bias = upper(bias_sq[i], allowed.grown, allowed.lost)
        share = allowed.projected + gamma * (allowed.factor + allowed.projected)
        error = share * (spread * (1 + slack)) + gamma * bias
        error += allowed.activation * sizes[i, 1]
        error = (error + allowed.underflow * (entries + 1)) * (1 + 1e-12 + 1e-15 * entries)
        source[i, 1] = error
        most, most_error = max(most, source[i, 0]), max(most_error, error)
        along += source[i, 0] * shrunk[i]
        along_error += error * shrunk[i]
        size += shrunk[i] * shrunk[i]
        length += shrunk[i]
        total += source[i, 0]
        total_error += error
    found[0], found[1], found[2], found[3] = most, most_error, along, along_error
    found[4], found[5], found[6], found[7] = size, length, total, total_error


@numba.njit(**CHECKED)
def start(first, last, source, shrunk, scale, share, mean, small, current, previous, inverse):  # type: ignore[no-untyped-def]
    """In float32, against their scale: the sources, the first estimate, and 1 over what may be missing."""
    shares = 1 / scale[0], 1 / scale[1]
    for i in range(first, last):
        for c in range(2):
            small[i, c] = source[i, c] * shares[c]
            current[i, c] = (source[i, c] + share[c] * shrunk[i]) * shares[c]
            previous[i, c] = current[i, c]
            inverse[i, c] = scale[c] / (source[i, c] + mean[c] * shrunk[i])
            inverse[i, 2 + c] = scale[c] / (mean[c] * shrunk[i])


@numba.njit(**CHECKED)
def sweep(  # type: ignore[no-untyped-def]
    first,
    last,
    rowptr,
    col,
    value,
    factor,
    omega,
    look,
    inverse,
    small,
    current,
    previous,
    images,
    found,
):
    """The next estimate, in place of the previous one; if asked, the image of the current one and what it lacks."""
    plain = plain_error = grown = grown_error = np.float32(0)
    for i in range(first, last):
        product, product_error = _product(rowptr, col, value, current, i)
        image, image_error = small[i, 0] + factor * product, small[i, 1] + factor * product_error
        if look:
            gap, gap_error = abs(image - current[i, 0]), abs(image_error - current[i, 1])
            grown, plain = max(grown, gap * inverse[i, 0]), max(plain, gap * inverse[i, 2])
            grown_error = max(grown_error, gap_error * inverse[i, 1])
            plain_error = max(plain_error, gap_error * inverse[i, 3])
            images[i, 0], images[i, 1] = image, image_error
        previous[i, 0] += omega * (image - previous[i, 0])
        previous[i, 1] += omega * (image_error - previous[i, 1])
    found[0], found[1], found[2], found[3] = grown, grown_error, plain, plain_error


@numba.njit(**CHECKED)
def check(  # type: ignore[no-untyped-def]
    first, last, rowptr, col, value, factor, growth, slack, shrunk, source, estimate, found
):
    """By how much of v the estimates fall short, as they are and grown; NaN may be lost there, but not in a sum."""
    gap = gap_error = grown = grown_error = whole = whole_error = total = 0.0
    for i in range(first, last):
        product, product_error = _product(rowptr, col, value, estimate, i)
        image = (source[i, 0] + factor * product) * (1 + slack) - estimate[i, 0]
        image_error = (source[i, 1] + factor * product_error) * (1 + slack) - estimate[i, 1]
        gap, gap_error = max(gap, image / shrunk[i]), max(gap_error, image_error / shrunk[i])
        more = (1 + growth) * image - growth * source[i, 0]
        more_error = (1 + growth) * image_error - growth * source[i, 1]
        grown, grown_error = max(grown, more / shrunk[i]), max(grown_error, more_error / shrunk[i])
        total += image + image_error
        whole += estimate[i, 0]
        whole_error += estimate[i, 1]
    found[0], found[1], found[2], found[3] = gap, gap_error, grown, grown_error
    found[4], found[5], found[6] = whole, whole_error, total


@numba.njit(**CHECKED)
def finish(  # type: ignore[no-untyped-def]
    first, last, source, estimate, shrunk, growth, lift, slack, at_value, bound, granted
):
    """The estimates, lifted to bounds: of the distance from f(z), or from z itself, and of what is granted."""
    for i in range(first, last):
        whole = ((1 + growth[0]) * estimate[i, 0] + lift[0] * shrunk[i]) * (1 + slack)
        if not at_value:
            whole = whole * (1 + _EPSILON) - source[i, 0]
        granted[i] = ((1 + growth[1]) * estimate[i, 1] + lift[1] * shrunk[i]) * (1 + slack)
        bound[i] = (whole + granted[i]) * (1 + 4 * _EPSILON)
