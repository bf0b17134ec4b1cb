"""Rough evaluations: products in bfloat16, of what has changed since a point where f is known."""

from __future__ import annotations

import torch
from torch import Tensor

from . import kernels
from .equilibrium import PROJECTED, EquilibriumMap, Evaluation
from .kernels import products
from .memory import POOL, Scratch

#: How much smaller than the residual at the base point a residual may be for a rough evaluation to show it:
#: rounding to bfloat16 moves a result by about a thousandth of its distance from the base.
FLOOR = 0.01
#: With fewer numbers than this the conversions cost what the products save.
_WORTHWHILE = 2**17
#: With more numbers than this, which are a gibibyte, memory is scarcer than time: it takes one copy and a half.
MOST = 2**28

_projected = Scratch()
_ROUNDED = torch.empty(0, dtype=torch.bfloat16)


def pays(x: Tensor) -> bool:
    """Whether products in bfloat16 are faster than in the precision of ``x``, ``n x d``, where it lies."""
    return (
        x.dtype == torch.float32
        and _WORTHWHILE <= x.numel() <= MOST
        and kernels.use_compiled(x)
        and kernels.HAS_PAIRS
    )


class RoughMap:
    r"""The map :math:`\sigma\big(A\,((Z - Z_0) W) + (A Z_0 W + b)\big)`, which is f, with its product rounded.

    What stands in the last brackets is computed once, in full. Only the change since :math:`Z_0` goes through
    bfloat16, in half the bytes and twice as fast, so the error is about a thousandth of that change, and not
    of the states.

    Args:
        f: The map, in float32.
        base: :math:`Z_0`, ``n x d``; not to be written to while this is in use.
        out: Where to put its image.

    Attributes:
        at_base: The evaluation of f at the base, a full one.
        onward: What an evaluation needs first, for a solver that makes it along with its step.
        known: The point for which that was done.
    """

    def __init__(self, f: EquilibriumMap, base: Tensor, out: Tensor | None = None) -> None:
        self.f, base = f, base.contiguous()
        projected = _projected.like(_ROUNDED, tuple(base.shape))
        self.onward = products.Onward(base, products.prepare(f.weight, rough=True), projected)
        self.known: Tensor | None = None
        self._inputs = POOL.like(f.bias)
        exact = products.prepare(f.weight)
        at_base = products.product(base, exact, PROJECTED.like(base))
        found = kernels.evaluate(
            f.adjacency.matrix, at_base, f.bias, base, f.activation, None, out, self._inputs
        )
        self.at_base = Evaluation(*found)

    def evaluate(self, z: Tensor, out: Tensor | None = None) -> Evaluation:
        """``f(z)``, about, with the squared row norms of its distance from z, and of itself."""
        f, projected = self.f, self.onward.out
        if z is not self.known:
            products.rounded_product(z, *self.onward)
        self.known = None
        found = kernels.evaluate(
            f.adjacency.matrix, projected, self._inputs, z, f.activation, None, out
        )
        return Evaluation(*found)
