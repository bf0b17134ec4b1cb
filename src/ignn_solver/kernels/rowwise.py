"""What the compiled kernels do to one row: activate, measure, round."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

# Sums may be reordered and multiplications fused, so that the loops vectorise; NaN and infinity keep
# their meaning, because the solvers look for them.
SERIAL: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    "nogil": True,
}
PARALLEL = {**SERIAL, "parallel": True}
CODES = {"relu": 0, "tanh": 1, "sigmoid": 2}
SCALED = 3


def _round(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
    """The 16 bits of the bfloat16 nearest to a float32; of two as near, the even one."""
    integer = ir.IntType(32)
    bits = builder.bitcast(arguments[0], integer)
    odd = builder.and_(builder.lshr(bits, integer(16)), integer(1))
    bits = builder.add(bits, builder.add(odd, integer(0x7FFF)))
    return builder.trunc(builder.lshr(bits, integer(16)), ir.IntType(16))


@intrinsic
def stored(typingctx, number, array):  # type: ignore[no-untyped-def]
    """A float32 as an array holds it: as it is, or rounded to the 16 bits of a bfloat16."""
    if isinstance(array.dtype, types.Float):
        return number(number, array), lambda context, builder, signature, arguments: arguments[0]
    return types.uint16(types.float32, array), _round


def _widen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
    """The float32 that the 16 bits of a bfloat16 stand for."""
    integer = ir.IntType(32)
    bits = builder.shl(builder.zext(arguments[0], integer), integer(16))
    return builder.bitcast(bits, ir.FloatType())


@intrinsic
def widened(typingctx, number, array):  # type: ignore[no-untyped-def]
    """What an array holds as :func:`stored` says, as a number again."""
    if isinstance(array.dtype, types.Float):
        return number(number, array), lambda context, builder, signature, arguments: arguments[0]
    return types.float32(types.uint16, array), _widen


@numba.njit(**SERIAL)
def copy(row, out):  # type: ignore[no-untyped-def]
    """Put ``row`` into ``out``: an assignment would first look for overlaps, which costs more than a short copy."""
    for c in range(out.shape[0]):
        out[c] = row[c]


@numba.njit(**SERIAL)
def flat(x, begin, count):  # type: ignore[no-untyped-def]
    """So many rows of a contiguous matrix from ``begin`` on, one after the other, as one."""
    return x[begin : begin + count].reshape(count * x.shape[1])


@numba.njit(**SERIAL)
def clear(row):  # type: ignore[no-untyped-def]
    """Put 0 everywhere."""
    for c in range(row.shape[0]):
        row[c] = 0


@numba.njit(**SERIAL)
def activate(row, code):  # type: ignore[no-untyped-def]
    """The activation of a row, in place."""
    zero = row.dtype.type(0)
    one = row.dtype.type(1)
    if code == 0:
        for c in range(row.shape[0]):
            # Written so that NaN stays NaN.
            row[c] = zero if row[c] < zero else row[c]
    elif code == 1:
        for c in range(row.shape[0]):
            row[c] = np.tanh(row[c])
    else:
        for c in range(row.shape[0]):
            row[c] = one / (one + np.exp(-row[c]))


@numba.njit(**SERIAL)
def finish(row, z, scale, code):  # type: ignore[no-untyped-def]
    """Activate or scale ``row`` in place; the squared norms of ``row - z`` and of ``row``."""
    zero = row.dtype.type(0)
    residual = zero
    size = zero
    if code == 0:
        # In one loop, as it is the usual one; written so that NaN stays NaN.
        for c in range(row.shape[0]):
            y = zero if row[c] < zero else row[c]
            row[c] = y
            residual += (y - z[c]) * (y - z[c])
            size += y * y
        return residual, size
    if code == SCALED:
        for c in range(row.shape[0]):
            row[c] *= scale[c]
    else:
        activate(row, code)
    for c in range(row.shape[0]):
        residual += (row[c] - z[c]) * (row[c] - z[c])
        size += row[c] * row[c]
    return residual, size
