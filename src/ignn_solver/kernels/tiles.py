"""The product of rows with a small matrix, at the speed of a tuned BLAS, for use inside compiled loops.

No BLAS may be called where several threads run already, and some that come with torch reach half of what
processors of another maker can do.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .rowwise import SERIAL, stored
from .vectors import VECTOR_BYTES, Emitter

#: Rows and vectors of a tile: their sums, a row of the matrix and one factor just fit the registers.
_ROWS = 6
_VECTORS = 2 if VECTOR_BYTES == 32 else 4
#: Rows of a tile of one or two vectors, where registers are left: more sums hide what each waits for.
_MANY_ROWS = 6 if VECTOR_BYTES == 32 else 12
#: A number of rows that fills every tile.
ROWS = max(_ROWS, _MANY_ROWS)
#: Rows to work on at a time in a loop over blocks: whole tiles, and small enough for the cache.
BLOCK = 8 * _ROWS
#: So many products are summed up before their sum is added to those before: a sum of sums rounds less.
_STRETCH = 32


def roundings(depth: int) -> int:
    """How many roundings a number goes through at most in a sum of ``depth`` products of :func:`multiply`."""
    return min(depth, _STRETCH) + -(-depth // _STRETCH)


def _tile(rows: int, vectors: int, masked: bool = False) -> Any:
    """The product of so many rows with a panel of so many vectors; masked, of the columns that there are."""

    @intrinsic
    def tile(typingctx, x, i, packed, panel, width, out, place, column, adds):  # type: ignore[no-untyped-def]
        position = types.intp
        signature = types.void(
            x, position, packed, position, position, out, position, position, types.boolean
        )
        return signature, codegen

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        emit = Emitter(context, builder, signature, arguments, 5)
        _, i, _, panel, width, _, place, column, adds = arguments
        x, x_step, _ = emit.array(0)
        depth = emit.columns(0)
        packed, _, _ = emit.array(2)
        out, out_step, _ = emit.array(5)
        mask = emit.first_lanes(builder.sub(emit.columns(5), column)) if masked else None
        numbers = [emit.integer(row) for row in range(rows)]
        x_rows = [emit.at(x, builder.mul(builder.add(i, r), x_step)) for r in numbers]
        out_rows = [
            emit.at(out, builder.mul(builder.add(place, r), out_step), column) for r in numbers
        ]
        places = [emit.at(row, v * emit.lanes) for row in out_rows for v in range(vectors)]
        weights = emit.at(packed, panel)

        def products(k: Any, sums: list[Any]) -> list[Any]:
            row = emit.at(weights, builder.mul(k, width))
            factors = [emit.load(emit.at(row, v * emit.lanes)) for v in range(vectors)]
            found = []
            for r, x_row in enumerate(x_rows):
                number = emit.splat(builder.load(emit.at(x_row, k), align=emit.size))
                for v, factor in enumerate(factors):
                    found.append(emit.fused(sums[r * vectors + v], number, factor))
            return found

        def pairs_of_products(k: Any, sums: list[Any]) -> list[Any]:
            twice = builder.shl(k, emit.integer(1))
            row = emit.at(weights, builder.mul(twice, width))
            factors = [emit.pairs(emit.at(row, 2 * v * emit.lanes)) for v in range(vectors)]
            found = []
            for r, x_row in enumerate(x_rows):
                pair = emit.splat_pair(emit.at(x_row, twice))
                for v, factor in enumerate(factors):
                    found.append(emit.fused_pairs(sums[r * vectors + v], pair, factor))
            return found

        def add_stretch(begin: Any, end: Any, body: Any, given: list[Any]) -> None:
            for total, one in zip(emit.loop(begin, end, given, body), places, strict=True):
                emit.store(total, one, mask)

        zero = emit.integer(0)
        totals = emit.loaded_if(adds, places, mask)
        if isinstance(signature.args[0].dtype, types.Integer):
            # What is rounded to bfloat16 need not be summed up with care.
            add_stretch(zero, builder.ashr(depth, emit.integer(1)), pairs_of_products, totals)
            return context.get_dummy_value()
        length = emit.integer(_STRETCH)
        more = builder.icmp_signed("<", length, depth)
        add_stretch(zero, builder.select(more, length, depth), products, totals)
        rest = builder.sdiv(builder.sub(depth, emit.integer(1)), length)
        with cgutils.for_range(builder, rest) as stretch:
            begin = builder.mul(builder.add(stretch.index, emit.integer(1)), length)
            end = builder.add(begin, length)
            end = builder.select(builder.icmp_signed("<", end, depth), end, depth)
            sums = emit.loop(begin, end, [emit.zero] * len(places), products)
            for total, one in zip(sums, places, strict=True):
                emit.store(builder.fadd(emit.load(one, mask), total), one, mask)
        return context.get_dummy_value()

    return tile


_four, _three = _tile(_ROWS, 4), _tile(_ROWS, 3)
_two, _one = _tile(_MANY_ROWS, 2), _tile(_MANY_ROWS, 1)
_part = _tile(_ROWS, 1, masked=True)
_row, _row_part = _tile(1, 1), _tile(1, 1, masked=True)


@numba.njit(**SERIAL)
def _vectors(columns, lanes):  # type: ignore[no-untyped-def]
    """The vectors of the next panel when so many columns are left: full ones, or a single one that is not."""
    return max(1, min(_VECTORS, columns // lanes))


@numba.njit(**SERIAL)
def pack(weight):  # type: ignore[no-untyped-def]
    """The matrix as :func:`multiply` reads it: panels of a few vectors, one after the other."""
    return _filled(weight, np.zeros(weight.shape[0] * _columns(weight), weight.dtype))


@numba.njit(**SERIAL)
def pack_rounded(weight):  # type: ignore[no-untyped-def]
    """The matrix rounded to bfloat16, for rows that are: each panel holds pairs of rows, side by side.

    Rows of an odd length are multiplied as if a zero followed; so must they be stored.
    """
    return _filled(weight, np.zeros((weight.shape[0] + 1) // 2 * 2 * _columns(weight), np.uint16))


@numba.njit(**SERIAL)
def _columns(weight):  # type: ignore[no-untyped-def]
    """The columns of the matrix, filled up to whole vectors."""
    lanes = VECTOR_BYTES // weight.itemsize
    return (weight.shape[1] + lanes - 1) // lanes * lanes


@numba.njit(**SERIAL)
def _filled(weight, packed):  # type: ignore[no-untyped-def]
    depth, columns = weight.shape
    lanes = VECTOR_BYTES // weight.itemsize
    # So many rows of the matrix lie side by side.
    together = 2 if packed.itemsize == 2 else 1
    begin = 0
    place = 0
    while begin < columns:
        width = _vectors(columns - begin, lanes) * lanes
        for k in range(depth):
            row = place + k // together * together * width + k % together
            end = min(begin + width, columns)
            if together == 1:
                # Numbers that lie side by side are copied as vectors.
                for c in range(begin, end):
                    packed[row + c - begin] = stored(weight[k, c], packed)
            else:
                for c in range(begin, end):
                    packed[row + together * (c - begin)] = stored(weight[k, c], packed)
        place += (depth + together - 1) // together * together * width
        begin += width
    return packed


@numba.njit(**SERIAL)
def multiply(x, begin, end, packed, out, shift, adds):  # type: ignore[no-untyped-def]
    """``out[shift + i] = x[i] @ weight`` for every row i from ``begin`` to ``end``; or added to what is there.

    Rows of 16-bit integers hold bfloat16, an even number of them, and ``packed`` is rounded then. Each
    result is summed in the same order wherever its row lies.
    """
    columns = out.shape[1]
    lanes = VECTOR_BYTES // out.itemsize
    column = 0
    panel = 0
    while column < columns:
        vectors = _vectors(columns - column, lanes)
        width = vectors * lanes
        whole = column + width <= columns
        rows = _MANY_ROWS if whole and vectors <= 2 else _ROWS
        i = begin
        while i + rows <= end:
            if not whole:
                _part(x, i, packed, panel, width, out, shift + i, column, adds)
            elif vectors == 4:
                _four(x, i, packed, panel, width, out, shift + i, column, adds)
            elif vectors == 3:
                _three(x, i, packed, panel, width, out, shift + i, column, adds)
            elif vectors == 2:
                _two(x, i, packed, panel, width, out, shift + i, column, adds)
            else:
                _one(x, i, packed, panel, width, out, shift + i, column, adds)
            i += rows
        while i < end:
            if not whole:
                _row_part(x, i, packed, panel, width, out, shift + i, column, adds)
            else:
                for c in range(0, width, lanes):
                    part = panel + (2 * c if x.itemsize == 2 else c)
                    _row(x, i, packed, part, width, out, shift + i, column + c, adds)
            i += 1
        panel += x.shape[1] * width
        column += width
