"""A learned solver for a model in training: a few numbers a step, which follow W as it changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ..equilibrium import FeatureMap, FixedPointMap
from ..errors import InputError
from ..kernels import products
from ..memory import POOL
from ..rough import pays
from .learned import powers


@dataclass
class Pair:
    """The state of a solve: where this pair of evaluations began, and where the last one did."""

    f: FeatureMap
    matrices: list[products.Prepared]
    last: Tensor
    begin: Tensor | None = None
    count: int = 0
    proposed: Tensor | None = None

    def regressors(self, z: Tensor, fz: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Both residuals of the pair and the momentum of the pair before: each ``n x d``."""
        assert self.begin is not None
        return fz - z, z - self.begin, self.begin - self.last


@dataclass(frozen=True, eq=False)
class Following:
    r"""Two plain evaluations, then a learned correction that costs one product with a ``d x d`` matrix.

    With :math:`Y_1 = f(Z_k)`, :math:`Y_2 = f(Y_1)` and the regressors
    :math:`X_1 = Y_2 - Y_1, X_2 = Y_1 - Z_k, X_3 = Z_k - Z_{k-1}`,

    .. math::
        Z_{k+1} = Y_2 + \sum_i s_{ki} X_i + \Big(\sum_i c_{ki} X_i\Big) \sum_{j \ge 1} p_{kj} M^j,
        \qquad M = W \bar D

    clamped to the range of the activation, with the mean slopes :math:`\bar D` at the start of the solve. On
    the lines that W's eigenvalues span, Chebyshev's method for :math:`f \circ f` is as fast for each
    evaluation as that for f, and corrects half as often. The backward fixed point has the same spectrum.

    Attributes:
        scalars: s, ``steps x 3``.
        weights: c, ``steps x 3``.
        polynomial: p, ``steps x degree``.
    """

    scalars: Tensor = field(repr=False)
    weights: Tensor = field(repr=False)
    polynomial: Tensor = field(repr=False)

    safeguard = True

    def tensors(self) -> dict[str, Tensor]:
        """Everything learnt, by name."""
        return {
            "scalars": self.scalars,
            "weights": self.weights,
            "polynomial": self.polynomial,
        }

    def initial(self, f: FixedPointMap) -> tuple[Tensor, int]:
        """The map at zero: no pass over the edges."""
        return f.start(), 0

    def init(self, f: FixedPointMap, z0: Tensor) -> Pair:
        """The matrix of every correction, from W as it is now."""
        if not isinstance(f, FeatureMap):
            raise InputError(f"a learned solver solves equilibrium maps, not {type(f).__name__}")
        stack = powers(f, z0, self.polynomial.shape[1])[1:]
        matrices = torch.einsum("kj,jab->kab", self.polynomial.to(z0.dtype), stack)
        return Pair(f, [products.prepare(one, pays(z0)) for one in matrices], z0)

    def step(self, z: Tensor, fz: Tensor, state: Pair) -> tuple[Tensor, Any]:
        """A plain step, and after every second evaluation a corrected one."""
        if state.begin is None:
            # The loop reuses the memory of its images, but not that of what was proposed.
            state.begin = z if z is state.proposed else z.clone()
            return fz, state
        k = min(state.count, len(self.scalars) - 1)
        proposed = corrected(state, z, fz, self.scalars[k], self.weights[k], state.matrices[k])
        state.last, state.begin = state.begin, None
        state.proposed = proposed
        state.count += 1
        return proposed, state


def corrected(
    state: Pair,
    z: Tensor,
    fz: Tensor,
    scalars: Tensor,
    weights: Tensor,
    matrix: products.Prepared,
) -> Tensor:
    """The point after a pair of evaluations, ``n x d``."""
    assert state.begin is not None
    points = (fz, z, state.begin, state.last)
    plain, mixing = _of_points(1.0, scalars), _of_points(0.0, weights)
    return products.combine(points, plain, mixing, matrix, POOL.like(fz), state.f.value_range)


def _of_points(constant: float, factors: Tensor) -> list[float]:
    """Factors of the regressors as factors of ``f(z)``, ``z`` and the two points before."""
    first, second, third = factors.tolist()
    return [constant + first, second - first, third - second, -third]
