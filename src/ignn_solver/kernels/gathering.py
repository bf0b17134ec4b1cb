"""The sum over a node's neighbours, held in registers from the first edge to the last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .vectors import Emitter

#: Beyond this size the gathered matrix does not stay in the cache, and fetching ahead pays.
_CACHED_BYTES = 2**24
_AHEAD = 16
_LINE = 64
#: Vectors of a row whose sums are held at a time: as many as are left.
_PANELS = (8, 4, 3, 2, 1)


def fetch_ahead(x: np.ndarray) -> int:
    """How many edges ahead to fetch rows of ``x``; 0 where they are in the cache anyway."""
    return _AHEAD if x.nbytes > _CACHED_BYTES else 0


class _Edges:
    """The sum over the edges of a row: ``x``, ``col`` and ``value`` are the arguments from ``place`` on.

    Row j of the gathered matrix lies at ``new + j`` in ``x`` for j from ``first`` to ``begin``, and at
    ``old + j`` elsewhere; without the former, all do.
    """

    def __init__(self, emit: Emitter, place: int, ahead: Any, old: Any, swept: Any = None) -> None:
        self.emit, self.ahead, self.old, self.swept = emit, ahead, old, swept
        self._x, self._step, _ = emit.array(place)
        self._col, _, entries = emit.array(place + 1)
        self._value, _, _ = emit.array(place + 2)
        self._last = emit.builder.sub(entries, emit.integer(1))
        self._line = _LINE // (emit.signature.args[place].dtype.bitwidth // 8)

    def add(
        self, edge: Any, end: Any, column: Any, totals: list[Any], fetches: bool, mask: Any
    ) -> list[Any]:
        """The totals with all neighbours' numbers from ``column`` on added, ``edge`` to ``end``."""
        emit, builder = self.emit, self.emit.builder
        x = emit.at(self._x, column)

        def neighbour(e: Any) -> Any:
            j = builder.load(emit.at(self._col, e))
            j = builder.sext(j, emit.integer) if j.type != emit.integer else j
            shift = self.old
            if self.swept is not None:
                first, begin, new = self.swept
                before, after = (
                    builder.icmp_signed("<", j, first),
                    builder.icmp_signed(">=", j, begin),
                )
                shift = builder.select(builder.or_(before, after), shift, new)
            return emit.at(x, builder.mul(builder.add(j, shift), self._step))

        def body(e: Any, sums: list[Any]) -> list[Any]:
            if fetches:
                later = builder.add(e, self.ahead)
                within = builder.icmp_signed("<", later, self._last)
                found = neighbour(builder.select(within, later, self._last))
                for number in range(0, len(totals) * emit.lanes, self._line):
                    emit.fetch(emit.at(found, number))
            weight = emit.splat(builder.load(emit.at(self._value, e), align=emit.size))
            found = neighbour(e)
            return [
                emit.fused(total, weight, emit.load(emit.at(found, v * emit.lanes), mask))
                for v, total in enumerate(sums)
            ]

        return emit.loop(edge, end, totals, body)


#: What to do for so many vectors from a column on: with fetching ahead or without, and a mask or none.
_Panel = Callable[[Any, int, bool, Any], None]


def _panels(emit: Emitter, width: Any, ahead: Any, panel: _Panel) -> None:
    """Go over the columns of rows of this width, in panels of full vectors, and a masked one in the end."""
    builder, column = emit.builder, emit.integer(0)
    fetches = builder.icmp_signed(">", ahead, emit.integer(0))
    for vectors in _PANELS:
        numbers = emit.integer(vectors * emit.lanes)
        count = builder.sdiv(builder.sub(width, column), numbers)
        with cgutils.for_range(builder, count) as loop:
            here = builder.add(column, builder.mul(loop.index, numbers))
            with builder.if_else(fetches) as (then, otherwise):
                with then:
                    panel(here, vectors, True, None)
                with otherwise:
                    panel(here, vectors, False, None)
        column = builder.add(column, builder.mul(count, numbers))
    left = builder.sub(width, column)
    with builder.if_then(builder.icmp_signed(">", left, emit.integer(0))):
        panel(column, 1, False, emit.first_lanes(left))


def _places(emit: Emitter, matrix: int, i: Any, column: Any, vectors: int) -> list[Any]:
    """Where the vectors of row i of the matrix at this position of the arguments lie."""
    begin, step, _ = emit.array(matrix)
    row = emit.at(begin, emit.builder.mul(i, step), column)
    return [emit.at(row, v * emit.lanes) for v in range(vectors)]


def _each_row(
    emit: Emitter, begin: Any, end: Any, rowptr: int, do: Callable[[Any, Any, Any], None]
) -> None:
    """Call ``do`` for every row from ``begin`` to ``end`` with its number and its edges."""
    builder = emit.builder
    pointers, _, _ = emit.array(rowptr)
    with cgutils.for_range(builder, builder.sub(end, begin)) as loop:
        i = builder.add(begin, loop.index)
        bounds = [builder.load(emit.at(pointers, i, more)) for more in (0, 1)]
        wide = [b if b.type == emit.integer else builder.sext(b, emit.integer) for b in bounds]
        do(i, *wide)


@intrinsic
def gather(  # type: ignore[no-untyped-def]
    typingctx, row, x, col, value, edge, end, first, begin, new, old, ahead
):
    """Add ``value[e] * x[col[e]]`` to ``row`` for every edge e from ``edge`` to ``end``.

    Row j of the gathered matrix lies at ``new + j`` in ``x`` for j from ``first`` to ``begin``, and at
    ``old + j`` elsewhere. A ``x`` of 16-bit integers holds bfloat16.
    """

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        emit = Emitter(context, builder, signature, arguments, 0)
        edge, end, first, begin, new, old, ahead = arguments[4:]
        edges = _Edges(emit, 1, ahead, old, (first, begin, new))
        out, _, width = emit.array(0)

        def panel(column: Any, vectors: int, fetches: bool, mask: Any) -> None:
            places = [emit.at(out, column, v * emit.lanes) for v in range(vectors)]
            given = [emit.load(one, mask) for one in places]
            found = edges.add(edge, end, column, given, fetches, mask)
            for total, place in zip(found, places, strict=True):
                emit.store(total, place, mask)

        _panels(emit, width, ahead, panel)
        return context.get_dummy_value()

    return types.void(row, x, col, value, *(types.intp,) * 7), codegen


@intrinsic
def relu_rows(  # type: ignore[no-untyped-def]
    typingctx, begin, end, rowptr, x, col, value, old, ahead, bias, z, out, residual_sq, value_sq
):
    """Rows of ``y = relu(matrix @ x + bias)`` into ``out``, with the squared norms of ``y - z`` and ``y`` of each.

    Row j of the gathered matrix lies at ``old + j`` in ``x``. What becomes of a row stays in registers until
    it is stored.
    """

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        emit = Emitter(context, builder, signature, arguments, 10)
        begin, end, old, ahead = arguments[0], arguments[1], arguments[6], arguments[7]
        edges = _Edges(emit, 3, ahead, old)
        norms = [emit.array(position)[0] for position in (11, 12)]

        def panel(column: Any, vectors: int, fetches: bool, mask: Any) -> None:
            is_first = builder.icmp_signed("==", column, emit.integer(0))

            def row(i: Any, edge: Any, last: Any) -> None:
                given = [emit.load(one, mask) for one in _places(emit, 8, i, column, vectors)]
                totals = edges.add(edge, last, column, given, fetches, mask)
                sums = [emit.zero, emit.zero]
                before = _places(emit, 9, i, column, vectors)
                after = _places(emit, 10, i, column, vectors)
                for total, point, place in zip(totals, before, after, strict=True):
                    # Written so that NaN stays NaN.
                    negative = builder.fcmp_ordered("<", total, emit.zero)
                    y = builder.select(negative, emit.zero, total)
                    moved = builder.fsub(y, emit.load(point, mask))
                    emit.store(y, place, mask)
                    sums = [emit.fused(sums[0], moved, moved), emit.fused(sums[1], y, y)]
                for norm, vector in zip(norms, sums, strict=True):
                    place = emit.at(norm, i)
                    known = builder.load(place, align=emit.size)
                    so_far = builder.select(is_first, emit.number(0.0), known)
                    found = builder.fadd(so_far, emit.total(vector))
                    builder.store(found, place, align=emit.size)

            _each_row(emit, begin, end, 2, row)

        _panels(emit, emit.columns(10), ahead, panel)
        return context.get_dummy_value()

    position = types.intp
    arrays = rowptr, x, col, value, position, position, bias, z, out, residual_sq, value_sq
    return types.void(position, position, *arrays), codegen


@intrinsic
def sum_rows(  # type: ignore[no-untyped-def]
    typingctx, begin, end, rowptr, x, col, value, out, shift, adds, ahead, old
):
    """``out[shift + i] = (matrix @ x)[i]`` for the rows from ``begin`` to ``end``; or added to what is there.

    Row j of the gathered matrix lies at ``old + j`` in ``x``.
    """

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        emit = Emitter(context, builder, signature, arguments, 6)
        begin, end, shift, adds, ahead, old = (arguments[k] for k in (0, 1, 7, 8, 9, 10))
        edges = _Edges(emit, 3, ahead, old)

        def panel(column: Any, vectors: int, fetches: bool, mask: Any) -> None:
            def row(i: Any, edge: Any, last: Any) -> None:
                places = _places(emit, 6, builder.add(shift, i), column, vectors)
                given = emit.loaded_if(adds, places, mask)
                totals = edges.add(edge, last, column, given, fetches, mask)
                for total, place in zip(totals, places, strict=True):
                    emit.store(total, place, mask)

            _each_row(emit, begin, end, 2, row)

        _panels(emit, emit.columns(6), ahead, panel)
        return context.get_dummy_value()

    position = types.intp
    kinds = (
        position,
        position,
        rowptr,
        x,
        col,
        value,
        out,
        position,
        types.boolean,
        position,
        position,
    )
    return types.void(*kinds), codegen
