"""The product of a few rows with a small matrix, compiled by numba.

A sweep needs it inside its loop over blocks, where several threads run at once and no BLAS may be called.
"""

from __future__ import annotations

import numba

from .rowwise import SERIAL


@numba.njit(**SERIAL)
def multiply(x, begin, end, weight, out, shift):  # type: ignore[no-untyped-def]
    """``out[shift + i] = x[i] @ weight`` for every row i from ``begin`` to ``end``."""
    i = begin
    while i + 4 <= end:
        _four_rows(x, i, weight, out, shift + i)
        i += 4
    while i < end:
        row = out[shift + i]
        row[:] = 0
        for k in range(weight.shape[0]):
            _add(row, x[i, k], weight[k])
        i += 1


@numba.njit(**SERIAL)
def _four_rows(x, i, weight, out, place):  # type: ignore[no-untyped-def]
    # Sixteen factors stay in registers while four rows of the weight are read once for four results:
    # two thirds of what a tuned BLAS does on one core.
    out0, out1, out2, out3 = out[place], out[place + 1], out[place + 2], out[place + 3]
    out0[:] = 0
    out1[:] = 0
    out2[:] = 0
    out3[:] = 0
    depth = weight.shape[0]
    k = 0
    while k + 4 <= depth:
        a0, a1, a2, a3 = x[i, k], x[i, k + 1], x[i, k + 2], x[i, k + 3]
        b0, b1, b2, b3 = x[i + 1, k], x[i + 1, k + 1], x[i + 1, k + 2], x[i + 1, k + 3]
        c0, c1, c2, c3 = x[i + 2, k], x[i + 2, k + 1], x[i + 2, k + 2], x[i + 2, k + 3]
        d0, d1, d2, d3 = x[i + 3, k], x[i + 3, k + 1], x[i + 3, k + 2], x[i + 3, k + 3]
        w0, w1, w2, w3 = weight[k], weight[k + 1], weight[k + 2], weight[k + 3]
        for c in range(weight.shape[1]):
            v0, v1, v2, v3 = w0[c], w1[c], w2[c], w3[c]
            out0[c] += (a0 * v0 + a1 * v1) + (a2 * v2 + a3 * v3)
            out1[c] += (b0 * v0 + b1 * v1) + (b2 * v2 + b3 * v3)
            out2[c] += (c0 * v0 + c1 * v1) + (c2 * v2 + c3 * v3)
            out3[c] += (d0 * v0 + d1 * v1) + (d2 * v2 + d3 * v3)
        k += 4
    while k < depth:
        row = weight[k]
        _add(out0, x[i, k], row)
        _add(out1, x[i + 1, k], row)
        _add(out2, x[i + 2, k], row)
        _add(out3, x[i + 3, k], row)
        k += 1


@numba.njit(**SERIAL)
def _add(row, factor, other):  # type: ignore[no-untyped-def]
    for c in range(row.shape[0]):
        row[c] += factor * other[c]
