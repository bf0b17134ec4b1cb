"""A row of a sparse matrix times two columns that lie side by side: one load, one product for both."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .vectors import Emitter

#: As many sums at once, because one would wait for itself.
_SUMS = 4


@intrinsic
def pair_product(typingctx, col, value, x, begin, end):  # type: ignore[no-untyped-def]
    """The sums over the entries ``begin`` to ``end`` of ``value`` times both columns of x, in the type of x.

    ``col`` says which row of x, contiguous and ``m x 2``, each entry stands for; entries of another type than x
    are converted.
    """
    position = types.intp
    return types.UniTuple(x.dtype, 2)(col, value, x, position, position), _codegen


def _codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
    emit = Emitter(context, builder, signature, arguments, 2, lanes=2)
    begin, end = arguments[3:]
    (col, _, _), (value, _, _), (x, _, _) = (emit.array(position) for position in range(3))

    def term(e: Any, total: Any) -> Any:
        j = builder.load(emit.at(col, e))
        j = builder.sext(j, emit.integer) if j.type != emit.integer else j
        weight = builder.load(emit.at(value, e))
        if weight.type != emit.number:
            convert = builder.fpext if emit.size == 8 else builder.fptrunc
            weight = convert(weight, emit.number)
        pair = emit.load(emit.at(x, builder.shl(j, emit.integer(1))))
        return emit.fused(total, emit.splat(weight), pair)

    def terms(k: Any, totals: list[Any]) -> list[Any]:
        first = builder.add(begin, builder.mul(k, emit.integer(_SUMS)))
        return [
            term(builder.add(first, emit.integer(place)), total)
            for place, total in enumerate(totals)
        ]

    rounds = builder.sdiv(builder.sub(end, begin), emit.integer(_SUMS))
    totals = emit.loop(emit.integer(0), rounds, [emit.zero] * _SUMS, terms)
    left = builder.add(begin, builder.mul(rounds, emit.integer(_SUMS)))
    totals[:1] = emit.loop(left, end, totals[:1], lambda e, sums: [term(e, sums[0])])
    while len(totals) > 1:
        halves = zip(totals[::2], totals[1::2], strict=True)
        totals = [builder.fadd(one, other) for one, other in halves]
    lanes = [builder.extract_element(totals[0], ir.IntType(32)(lane)) for lane in range(2)]
    return context.make_tuple(builder, signature.return_type, lanes)
