"""The sum over a node's neighbours, held in registers from the first edge to the last."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from .rowwise import SERIAL
from .vectors import VECTOR_BYTES, Emitter

#: Beyond this size the gathered matrix does not stay in the cache, and fetching ahead pays.
_CACHED_BYTES = 2**24
_AHEAD = 16
_LINE = 64


def fetch_ahead(x: np.ndarray) -> int:
    """How many edges ahead to fetch rows of ``x``; 0 where they are in the cache anyway."""
    return _AHEAD if x.nbytes > _CACHED_BYTES else 0


def _added(
    emit: Emitter,
    place: int,
    column: Any,
    edges: tuple[Any, ...],
    totals: list[Any],
    fetches: bool,
    mask: Any,
) -> list[Any]:
    """The sums with all neighbours added; ``x``, ``col`` and ``value`` are the arguments from ``place`` on."""
    builder = emit.builder
    edge, end, first, begin, new, old, ahead = edges
    x, step, _ = emit.array(place)
    col, _, entries = emit.array(place + 1)
    value, _, _ = emit.array(place + 2)
    x = emit.at(x, column)
    last = builder.sub(entries, emit.integer(1))

    def neighbour(e: Any) -> Any:
        j = builder.load(emit.at(col, e))
        j = builder.sext(j, emit.integer) if j.type != emit.integer else j
        inside = builder.and_(
            builder.icmp_signed(">=", j, first), builder.icmp_signed("<", j, begin)
        )
        return emit.at(x, builder.mul(builder.add(j, builder.select(inside, new, old)), step))

    def body(e: Any, sums: list[Any]) -> list[Any]:
        if fetches:
            later = builder.add(e, ahead)
            later = builder.select(builder.icmp_signed("<", later, last), later, last)
            ahead_of = neighbour(later)
            numbers = _LINE // (emit.signature.args[place].dtype.bitwidth // 8)
            for number in range(0, len(totals) * emit.lanes, numbers):
                emit.fetch(emit.at(ahead_of, number))
        weight = emit.splat(builder.load(emit.at(value, e), align=emit.size))
        found = neighbour(e)
        return [
            emit.fused(total, weight, emit.load(emit.at(found, v * emit.lanes), mask))
            for v, total in enumerate(sums)
        ]

    return emit.loop(edge, end, totals, body)


def _sum(vectors: int, fetches: bool = False, masked: bool = False) -> Any:
    """The sum over edges for so many vectors of a row; masked, for the columns that there are."""

    @intrinsic
    def add(typingctx, row, column, x, col, value, edge, end, first, begin, new, old, ahead):  # type: ignore[no-untyped-def]
        position = types.intp
        signature = types.void(row, position, x, col, value, *(position,) * 7)
        return signature, codegen

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        emit = Emitter(context, builder, signature, arguments, 0)
        row, _, width = emit.array(0)
        row = emit.at(row, arguments[1])
        mask = emit.first_lanes(builder.sub(width, arguments[1])) if masked else None
        places = [emit.at(row, v * emit.lanes) for v in range(vectors)]
        given = [emit.load(one, mask) for one in places]
        totals = _added(emit, 2, arguments[1], arguments[5:], given, fetches, mask)
        for total, one in zip(totals, places, strict=True):
            emit.store(total, one, mask)
        return context.get_dummy_value()

    return add


def _relu(vectors: int, fetches: bool = False, masked: bool = False) -> Any:
    """One row of f for so many vectors: the sum over edges, bias and ReLU, measured before it is stored."""

    @intrinsic
    def evaluate(  # type: ignore[no-untyped-def]
        typingctx,
        out,
        i,
        column,
        x,
        col,
        value,
        edge,
        end,
        old,
        ahead,
        bias,
        z,
        residual_sq,
        value_sq,
    ):
        position = types.intp
        rest = (*(position,) * 4, bias, z, residual_sq, value_sq)
        return types.void(out, position, position, x, col, value, *rest), codegen

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        emit = Emitter(context, builder, signature, arguments, 0)
        _, i, column, _, _, _, edge, end, old, ahead, *_ = arguments
        mask = emit.first_lanes(builder.sub(emit.columns(0), column)) if masked else None
        zero = emit.integer(0)

        def vectors_of(position: int) -> list[Any]:
            begin, step, _ = emit.array(position)
            row = emit.at(begin, builder.mul(i, step), column)
            return [emit.at(row, v * emit.lanes) for v in range(vectors)]

        given = [emit.load(one, mask) for one in vectors_of(10)]
        edges = edge, end, zero, zero, zero, old, ahead
        totals = _added(emit, 3, column, edges, given, fetches, mask)
        residual = size = emit.zero
        for total, place, before in zip(totals, vectors_of(0), vectors_of(11), strict=True):
            # Written so that NaN stays NaN.
            negative = builder.fcmp_ordered("<", total, emit.zero)
            found = builder.select(negative, emit.zero, total)
            emit.store(found, place, mask)
            moved = builder.fsub(found, emit.load(before, mask))
            residual = emit.fused(residual, moved, moved)
            size = emit.fused(size, found, found)
        for position, sums in ((12, residual), (13, size)):
            place = emit.at(emit.array(position)[0], i)
            so_far = builder.load(place, align=emit.size)
            builder.store(builder.fadd(so_far, emit.total(sums)), place, align=emit.size)
        return context.get_dummy_value()

    return evaluate


_eight, _four, _three, _two, _one = (_sum(vectors) for vectors in (8, 4, 3, 2, 1))
_far_eight, _far_four, _far_two, _far_one = (_sum(vectors, True) for vectors in (8, 4, 2, 1))
_part = _sum(1, masked=True)


@numba.njit(**SERIAL)
def gather(  # type: ignore[no-untyped-def]
    row, x, col, value, edge, end, first, begin, new, old, ahead
):
    """Add ``value[e] * x[col[e]]`` to ``row`` for every edge e from ``edge`` to ``end``.

    Row j of the gathered matrix lies at ``new + j`` in ``x`` for j from ``first`` to ``begin``, and at
    ``old + j`` elsewhere. A ``x`` of 16-bit integers holds bfloat16.
    """
    width = row.shape[0]
    lanes = VECTOR_BYTES // row.itemsize
    c = 0
    while c < width:
        vectors = (width - c) // lanes
        if vectors == 0:
            _part(row, c, x, col, value, edge, end, first, begin, new, old, ahead)
            c = width
        elif ahead > 0:
            if vectors >= 8:
                _far_eight(row, c, x, col, value, edge, end, first, begin, new, old, ahead)
                c += 8 * lanes
            elif vectors >= 4:
                _far_four(row, c, x, col, value, edge, end, first, begin, new, old, ahead)
                c += 4 * lanes
            elif vectors >= 2:
                _far_two(row, c, x, col, value, edge, end, first, begin, new, old, ahead)
                c += 2 * lanes
            else:
                _far_one(row, c, x, col, value, edge, end, first, begin, new, old, ahead)
                c += lanes
        elif vectors >= 8:
            _eight(row, c, x, col, value, edge, end, first, begin, new, old, ahead)
            c += 8 * lanes
        elif vectors >= 4:
            _four(row, c, x, col, value, edge, end, first, begin, new, old, ahead)
            c += 4 * lanes
        elif vectors == 3:
            _three(row, c, x, col, value, edge, end, first, begin, new, old, ahead)
            c += 3 * lanes
        elif vectors == 2:
            _two(row, c, x, col, value, edge, end, first, begin, new, old, ahead)
            c += 2 * lanes
        else:
            _one(row, c, x, col, value, edge, end, first, begin, new, old, ahead)
            c += lanes


_relu_eight, _relu_four, _relu_three, _relu_two, _relu_one = (
    _relu(vectors) for vectors in (8, 4, 3, 2, 1)
)
_relu_far_eight, _relu_far_four, _relu_far_two, _relu_far_one = (
    _relu(vectors, True) for vectors in (8, 4, 2, 1)
)
_relu_part = _relu(1, masked=True)


@numba.njit(**SERIAL)
def relu_rows(  # type: ignore[no-untyped-def]
    begin, end, rowptr, col, value, x, old, ahead, bias, z, out, residual_sq, value_sq
):
    """Rows of ``y = relu(matrix @ x + bias)`` into ``out``, with the squared norms of ``y - z`` and ``y`` of each.

    A call has more arguments than a short row has numbers: hence all rows in one. Row j of the gathered
    matrix lies at ``old + j`` in ``x``.
    """
    width = out.shape[1]
    lanes = VECTOR_BYTES // out.itemsize
    for i in range(begin, end):
        residual_sq[i] = 0
        value_sq[i] = 0
    column = 0
    while column < width:
        vectors = (width - column) // lanes
        if vectors == 0:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _relu_part(
                    out,
                    i,
                    column,
                    x,
                    col,
                    value,
                    edge,
                    last,
                    old,
                    ahead,
                    bias,
                    z,
                    residual_sq,
                    value_sq,
                )
            column += lanes
        elif ahead > 0 and vectors >= 8:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _relu_far_eight(
                    out,
                    i,
                    column,
                    x,
                    col,
                    value,
                    edge,
                    last,
                    old,
                    ahead,
                    bias,
                    z,
                    residual_sq,
                    value_sq,
                )
            column += 8 * lanes
        elif ahead > 0 and vectors >= 4:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _relu_far_four(
                    out,
                    i,
                    column,
                    x,
                    col,
                    value,
                    edge,
                    last,
                    old,
                    ahead,
                    bias,
                    z,
                    residual_sq,
                    value_sq,
                )
            column += 4 * lanes
        elif ahead > 0 and vectors >= 2:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _relu_far_two(
                    out,
                    i,
                    column,
                    x,
                    col,
                    value,
                    edge,
                    last,
                    old,
                    ahead,
                    bias,
                    z,
                    residual_sq,
                    value_sq,
                )
            column += 2 * lanes
        elif ahead > 0:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _relu_far_one(
                    out,
                    i,
                    column,
                    x,
                    col,
                    value,
                    edge,
                    last,
                    old,
                    ahead,
                    bias,
                    z,
                    residual_sq,
                    value_sq,
                )
            column += lanes
        elif vectors >= 8:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _relu_eight(
                    out,
                    i,
                    column,
                    x,
                    col,
                    value,
                    edge,
                    last,
                    old,
                    ahead,
                    bias,
                    z,
                    residual_sq,
                    value_sq,
                )
            column += 8 * lanes
        elif vectors >= 4:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _relu_four(
                    out,
                    i,
                    column,
                    x,
                    col,
                    value,
                    edge,
                    last,
                    old,
                    ahead,
                    bias,
                    z,
                    residual_sq,
                    value_sq,
                )
            column += 4 * lanes
        elif vectors == 3:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _relu_three(
                    out,
                    i,
                    column,
                    x,
                    col,
                    value,
                    edge,
                    last,
                    old,
                    ahead,
                    bias,
                    z,
                    residual_sq,
                    value_sq,
                )
            column += 3 * lanes
        elif vectors == 2:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _relu_two(
                    out,
                    i,
                    column,
                    x,
                    col,
                    value,
                    edge,
                    last,
                    old,
                    ahead,
                    bias,
                    z,
                    residual_sq,
                    value_sq,
                )
            column += 2 * lanes
        else:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _relu_one(
                    out,
                    i,
                    column,
                    x,
                    col,
                    value,
                    edge,
                    last,
                    old,
                    ahead,
                    bias,
                    z,
                    residual_sq,
                    value_sq,
                )
            column += lanes


@numba.njit(**SERIAL)
def sum_rows(begin, end, rowptr, col, value, x, own, out, shift, ahead):  # type: ignore[no-untyped-def]
    """``out[shift + i] = own * x[i] + (matrix @ x)[i]`` for the rows from ``begin`` to ``end``."""
    width = out.shape[1]
    lanes = VECTOR_BYTES // out.itemsize
    for i in range(begin, end):
        for c in range(width):
            out[shift + i, c] = own * x[i, c] if own != 0 else out.dtype.type(0)
    column = 0
    while column < width:
        vectors = (width - column) // lanes
        if vectors == 0:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _part(out[shift + i], column, x, col, value, edge, last, 0, 0, 0, 0, ahead)
            column += lanes
        elif ahead > 0 and vectors >= 8:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _far_eight(out[shift + i], column, x, col, value, edge, last, 0, 0, 0, 0, ahead)
            column += 8 * lanes
        elif ahead > 0 and vectors >= 4:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _far_four(out[shift + i], column, x, col, value, edge, last, 0, 0, 0, 0, ahead)
            column += 4 * lanes
        elif ahead > 0 and vectors >= 2:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _far_two(out[shift + i], column, x, col, value, edge, last, 0, 0, 0, 0, ahead)
            column += 2 * lanes
        elif ahead > 0:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _far_one(out[shift + i], column, x, col, value, edge, last, 0, 0, 0, 0, ahead)
            column += lanes
        elif vectors >= 8:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _eight(out[shift + i], column, x, col, value, edge, last, 0, 0, 0, 0, ahead)
            column += 8 * lanes
        elif vectors >= 4:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _four(out[shift + i], column, x, col, value, edge, last, 0, 0, 0, 0, ahead)
            column += 4 * lanes
        elif vectors == 3:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _three(out[shift + i], column, x, col, value, edge, last, 0, 0, 0, 0, ahead)
            column += 3 * lanes
        elif vectors == 2:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _two(out[shift + i], column, x, col, value, edge, last, 0, 0, 0, 0, ahead)
            column += 2 * lanes
        else:
            for i in range(begin, end):
                edge, last = rowptr[i], rowptr[i + 1]
                _one(out[shift + i], column, x, col, value, edge, last, 0, 0, 0, 0, ahead)
            column += lanes
