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


def _sum(vectors: int, fetches: bool = False, masked: bool = False) -> Any:
    """The sum over edges for so many vectors of a row; masked, for the columns that there are."""

    @intrinsic
    def add(typingctx, row, column, x, col, value, edge, end, first, begin, new, old, ahead):  # type: ignore[no-untyped-def]
        position = types.intp
        signature = types.void(row, position, x, col, value, *(position,) * 7)
        return signature, codegen

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        emit = Emitter(context, builder, signature, arguments, 0)
        column, (edge, end, first, begin, new, old, ahead) = arguments[1], arguments[5:]
        row, _, width = emit.array(0)
        x, step, _ = emit.array(2)
        col, _, entries = emit.array(3)
        value, _, _ = emit.array(4)
        row, x = emit.at(row, column), emit.at(x, column)
        mask = emit.first_lanes(builder.sub(width, column)) if masked else None
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
                numbers = _LINE // (signature.args[2].dtype.bitwidth // 8)
                for place in range(0, vectors * emit.lanes, numbers):
                    emit.fetch(emit.at(ahead_of, place))
            weight = emit.splat(builder.load(emit.at(value, e), align=emit.size))
            found = neighbour(e)
            return [
                emit.fused(total, weight, emit.load(emit.at(found, v * emit.lanes), mask))
                for v, total in enumerate(sums)
            ]

        places = [emit.at(row, v * emit.lanes) for v in range(vectors)]
        totals = emit.loop(edge, end, [emit.load(one, mask) for one in places], body)
        for total, one in zip(totals, places, strict=True):
            emit.store(total, one, mask)
        return context.get_dummy_value()

    return add


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
