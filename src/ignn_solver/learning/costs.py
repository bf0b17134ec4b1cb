"""What a solve with a learned solver costs, so that fitting can choose among solvers."""

from __future__ import annotations

from dataclasses import dataclass

from ..equilibrium import EquilibriumMap
from ..rough import leaps

#: Costs are counted in multiplications of a large product in float32. What one costs in bfloat16:
_ROUGH = 0.5
#: What it costs to fetch one number of a neighbour's row, and in narrow rows to find the row.
_ENTRY, _FIND = 2.5, 70
#: What it costs to read and write a number of the states in an evaluation, in a mixed step besides, in a step of a
#: leap and when that is mixed, in a narrow step, and at the start: all wait for memory as for their products.
_STREAM, _MIXED_STREAM, _LEAP_STREAM, _LEAP_MIXED_STREAM = 67, 39, 28, 10
_NARROW_STREAM, _START_STREAM = 38, 49
#: Beyond this size states come from memory in every pass, and this is what each number costs more; in a leap they
#: take fewer bytes, and narrow ones pass more often.
_CACHED_BYTES, _FAR, _LEAP_FAR, _NARROW_FAR = 2**25, 60, 32, 350
#: What the calls for one pass over the states cost whatever their size.
_CALLS = 7e6


@dataclass(frozen=True)
class Costs:
    """What the parts of a solve cost on one map, as measured on machines with two cores.

    Attributes:
        begin: Before and after the steps, whatever they are.
        plain: A plain step, which is an evaluation.
        mixing: How much more a mixed step costs than a plain one.
        narrow: A step with the narrow stand-in.
    """

    begin: float
    plain: float
    mixing: float
    narrow: float

    @classmethod
    def of(cls, f: EquilibriumMap, narrow: int, rank: int) -> Costs:
        """Costs with a stand-in of width ``narrow`` and steps of this rank, 0 for whole matrices."""
        (nodes, width), entries = f.bias.shape, f.adjacency.num_entries
        numbers, rough = nodes * width, leaps(f)
        dense = _ROUGH if rough else 1
        far = numbers * f.bias.element_size() > _CACHED_BYTES
        whole = numbers * (width + _STREAM + far * _FAR) + _ENTRY * entries * width + _CALLS
        plain, mixing = whole, numbers * (_MIXED_STREAM + far * _FAR) + _CALLS
        if rough:
            plain = numbers * (dense * width + _LEAP_STREAM + far * _LEAP_FAR) + _CALLS
            plain, mixing = plain + _ENTRY * entries * width, numbers * _LEAP_MIXED_STREAM
        less = numbers * (dense * 2 * narrow + _NARROW_STREAM) + entries * (_FIND + 2 * narrow)
        start = numbers * (dense * 3 * narrow + _START_STREAM)
        return cls(
            # A leap begins and ends with a whole evaluation.
            start + 2 * (whole - plain) * rough,
            plain,
            mixing + numbers * dense * (3 * rank or 2 * width),
            less + 2 * _CALLS + far * _NARROW_FAR * nodes * narrow,
        )
