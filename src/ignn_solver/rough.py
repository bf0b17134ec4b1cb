"""Leaps: several rough steps around a point where f is known, each one pass over memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import torch
from torch import Tensor

from . import kernels
from .equilibrium import PROJECTED, EquilibriumMap, Evaluation, FixedPointMap
from .kernels import leap, products
from .memory import POOL, Scratch

#: How much smaller than the residual at the base point a residual may be for a rough evaluation to show it:
#: rounding to bfloat16 moves a result by about a thousandth of its distance from the base.
FLOOR = 0.005
#: With fewer numbers than this the conversions cost what the products save.
_WORTHWHILE = 2**17
#: With more numbers than this, which are a gibibyte, memory is scarcer than time: it takes three copies.
MOST = 2**28
#: A leap ends where the next residual is expected to be so much of the one wanted.
_SURELY = 0.97

_changes = Scratch(), Scratch()
_products = Scratch(), Scratch()
_ROUNDED = torch.empty(0, dtype=torch.bfloat16)

#: The left and right factor of a step, prepared; ``None`` for a plain one.
Mixing = tuple[products.Prepared, products.Prepared] | None


def pays(x: Tensor) -> bool:
    """Whether products in bfloat16 are faster than in the precision of ``x``, ``n x d``, where it lies."""
    return (
        x.dtype == torch.float32
        and x.shape[1] % 2 == 0
        and _WORTHWHILE <= x.numel() <= MOST
        and kernels.use_compiled(x)
        and kernels.HAS_PAIRS
    )


def leaps(f: FixedPointMap) -> bool:
    """Whether a solver had better leap on this map."""
    # Small graphs of a batch end at their own times, which a leap would hide.
    return type(f) is EquilibriumMap and pays(f.bias) and f.adjacency.num_graphs == 1


@dataclass(frozen=True)
class Base:
    """A point at which f was evaluated in full, to leap from.

    Attributes:
        f: The map.
        point: The point, ``n x d``.
        evaluation: The evaluation there.
        inputs: What the activation was applied to there, ``n x d``.
    """

    f: EquilibriumMap
    point: Tensor
    evaluation: Evaluation
    inputs: Tensor


def base_at(f: EquilibriumMap, z: Tensor, out: Tensor | None = None) -> Base:
    """Evaluate f at ``z`` in full, and keep what a leap from there needs; the image may go to ``out``."""
    z, inputs = z.contiguous(), POOL.like(f.bias)
    projected = products.product(z, products.prepare(f.weight), PROJECTED.like(z))
    found = kernels.evaluate(
        f.adjacency.matrix, projected, f.bias, z, f.activation, None, out, inputs
    )
    return Base(f, z, Evaluation(*found), inputs)


@dataclass(frozen=True)
class Landing:
    """Where a leap has led.

    Attributes:
        point: The point, in full precision, at which f is not evaluated yet, ``n x d``.
        residuals: Relative residual at each rough evaluation.
        expected: The relative residual that is expected at the point.
        base: Where it began, ``n x d``.
        change: How far from there the last point was that was evaluated; to be read before the next leap.
    """

    point: Tensor
    residuals: list[float]
    expected: float
    base: Tensor
    change: Tensor

    def before(self) -> Tensor:
        """The last point that was evaluated, ``n x d``."""
        return leap.land(self.base, self.change, POOL.like(self.base))


def leap_from(
    base: Base,
    mixing: Callable[[int], Mixing],
    pace: Callable[[int], float],
    wanted: float,
    most: int,
    enough: float = 1.0,
    previous: Tensor | None = None,
) -> Landing:
    r"""Step on from a base until the next residual is expected to be low enough.

    An evaluation on the way is that of :math:`\sigma\big(A\,((Z - Z_0) W) + (A Z_0 W + b)\big)`, which is f. Only
    the change since :math:`Z_0` is kept, and goes through the product, in bfloat16: in half the bytes and twice as
    fast. So the error is about a thousandth of that change, and not of the states.

    Args:
        base: Where f is known.
        mixing: From the number of a step, from 0 on, to its factors.
        pace: From the number of a step to the factor by which it is expected to lower the relative residual.
        wanted: The relative residual to reach.
        most: The most rough evaluations to make.
        enough: The leap ends early where the squared residual is not at most so many times the lowest before.
        previous: The point before the base, ``n x d``; without it the first step has to leave the momentum out.
    """
    f, point, evaluation = base.f, base.point, base.evaluation
    shape = tuple(point.shape)
    changes = _changes[0].like(_ROUNDED, shape), _changes[1].like(_ROUNDED, shape)
    along = _products[0].like(_ROUNDED, shape), _products[1].like(_ROUNDED, shape)
    weight, out = products.prepare(f.weight, rough=True), POOL.like(point)
    least, size = float(evaluation.residual_sq.sum()), float(evaluation.value_sq.sum())
    now = _relative(least, size)
    wanted = max(wanted, FLOOR * now)
    # How much less a step lowers the residual than it was expected to.
    late = 1.0
    residuals: list[float] = []
    for number in count():
        # What this pass evaluates is known only after it, but now it is decided whether it is the last.
        evaluated = late * now * pace(number - 1) if number else now
        ends = number >= most or late * evaluated * pace(number) <= _SURELY * wanted
        image, landing = None if number else evaluation.value, out if ends else None
        residual, size = leap.step(
            f.adjacency.matrix, base.inputs, point, image, None if number else previous, changes, along,
            weight, mixing(number), f.value_range, f.activation, landing,
        )  # fmt: skip
        goes_on = True
        if number:
            before, now = now, _relative(residual, size)
            residuals.append(now)
            late = max(1.0, now / (before * pace(number - 1)))
            # Written so that NaN ends it.
            goes_on = residual <= enough * least and now > wanted
            least = min(least, residual)
        if ends:
            break
        if not goes_on:
            leap.land(point, changes[1], out)
            break
        changes, along = (changes[1], changes[0]), (along[1], along[0])
    return Landing(out, residuals, late * now * pace(number), point, changes[0])


def _relative(residual: float, size: float) -> float:
    return math.sqrt(residual / size) if size > 0 else math.inf
