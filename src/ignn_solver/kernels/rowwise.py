"""What the compiled kernels do to one row: gather its neighbours, activate, measure."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
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

#: Beyond this size the gathered matrix does not stay in the cache, and fetching ahead pays.
_CACHED_BYTES = 2**24
_AHEAD = 4


def fetch_ahead(x: np.ndarray) -> int:
    """How many edges ahead to fetch rows of ``x``; 0 where they are in the cache anyway."""
    return _AHEAD if x.nbytes > _CACHED_BYTES else 0


@intrinsic
def _prefetch(typingctx, array, row, column):  # type: ignore[no-untyped-def]
    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, kind, view, arguments[1:])
        pointer, integer = ir.IntType(8).as_pointer(), ir.IntType(32)
        prefetch = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [pointer, integer, integer, integer]),
            "llvm.prefetch.p0",
        )
        # For reading, into every level, as data.
        flags = [integer(0), integer(3), integer(1)]
        builder.call(prefetch, [builder.bitcast(place, pointer), *flags])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), codegen


@intrinsic
def widened(typingctx, number):  # type: ignore[no-untyped-def]
    """A number as it is; or, of the 16 bits of a bfloat16, the float32."""
    if isinstance(number, types.Float):
        return number(number), lambda context, builder, signature, arguments: arguments[0]

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        bits = builder.zext(arguments[0], ir.IntType(32))
        return builder.bitcast(builder.shl(bits, ir.IntType(32)(16)), ir.FloatType())

    return types.float32(types.uint16), codegen


@intrinsic
def rounded(typingctx, number):  # type: ignore[no-untyped-def]
    """The 16 bits of the bfloat16 nearest to a float32; of two as near, the even one."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        integer = ir.IntType(32)
        bits = builder.bitcast(arguments[0], integer)
        odd = builder.and_(builder.lshr(bits, integer(16)), integer(1))
        bits = builder.add(bits, builder.add(odd, integer(0x7FFF)))
        return builder.trunc(builder.lshr(bits, integer(16)), ir.IntType(16))

    return types.uint16(types.float32), codegen


@numba.njit(**SERIAL)
def _fetch(x, row):  # type: ignore[no-untyped-def]
    for column in range(0, x.shape[1], 64 // x.itemsize):
        _prefetch(x, np.intp(row), np.intp(column))


@numba.njit(**SERIAL)
def gather(  # type: ignore[no-untyped-def]
    row, x, col, value, edge, end, first, begin, new, old, ahead
):
    """Add ``value[e] * x[col[e]]`` to ``row`` for every edge e from ``edge`` to ``end``.

    Row j of the gathered matrix lies at ``new + j`` in ``x`` for j from ``first`` to ``begin``, and at
    ``old + j`` elsewhere. A ``x`` of 16-bit integers holds bfloat16.
    """
    width = row.shape[0]
    last = col.shape[0] - 1
    e = edge
    # Eight rows at once: the sum is read and written once for all of them, and eight streams from
    # memory run side by side.
    while e + 8 <= end:
        if ahead > 0:
            for later in range(e + ahead, e + ahead + 8):
                _fetch(x, _place(col[min(later, last)], first, begin, new, old))
        x0 = x[_place(col[e], first, begin, new, old)]
        x1 = x[_place(col[e + 1], first, begin, new, old)]
        x2 = x[_place(col[e + 2], first, begin, new, old)]
        x3 = x[_place(col[e + 3], first, begin, new, old)]
        x4 = x[_place(col[e + 4], first, begin, new, old)]
        x5 = x[_place(col[e + 5], first, begin, new, old)]
        x6 = x[_place(col[e + 6], first, begin, new, old)]
        x7 = x[_place(col[e + 7], first, begin, new, old)]
        v0, v1, v2, v3 = value[e], value[e + 1], value[e + 2], value[e + 3]
        v4, v5, v6, v7 = value[e + 4], value[e + 5], value[e + 6], value[e + 7]
        for c in range(width):
            first_two = v0 * widened(x0[c]) + v1 * widened(x1[c])
            next_two = v2 * widened(x2[c]) + v3 * widened(x3[c])
            third_two = v4 * widened(x4[c]) + v5 * widened(x5[c])
            last_two = v6 * widened(x6[c]) + v7 * widened(x7[c])
            row[c] += (first_two + next_two) + (third_two + last_two)
        e += 8
    while e + 2 <= end:
        if ahead > 0:
            for later in range(e + ahead, e + ahead + 2):
                _fetch(x, _place(col[min(later, last)], first, begin, new, old))
        x0 = x[_place(col[e], first, begin, new, old)]
        x1 = x[_place(col[e + 1], first, begin, new, old)]
        v0, v1 = value[e], value[e + 1]
        for c in range(width):
            row[c] += v0 * widened(x0[c]) + v1 * widened(x1[c])
        e += 2
    if e < end:
        x0 = x[_place(col[e], first, begin, new, old)]
        v0 = value[e]
        for c in range(width):
            row[c] += v0 * widened(x0[c])


@numba.njit(**SERIAL)
def _place(j, first, begin, new, old):  # type: ignore[no-untyped-def]
    return j + (new if first <= j < begin else old)


@numba.njit(**SERIAL)
def finish(row, z, scale, code):  # type: ignore[no-untyped-def]
    """Activate ``row`` in place; the squared norms of ``row - z`` and of ``row``."""
    zero = row.dtype.type(0)
    one = row.dtype.type(1)
    width = row.shape[0]
    if code == 0:
        for c in range(width):
            # Written so that NaN stays NaN.
            row[c] = zero if row[c] < zero else row[c]
    elif code == 1:
        for c in range(width):
            row[c] = np.tanh(row[c])
    elif code == 2:
        for c in range(width):
            row[c] = one / (one + np.exp(-row[c]))
    else:
        for c in range(width):
            row[c] *= scale[c]
    residual = zero
    size = zero
    for c in range(width):
        difference = row[c] - z[c]
        residual += difference * difference
        size += row[c] * row[c]
    return residual, size
