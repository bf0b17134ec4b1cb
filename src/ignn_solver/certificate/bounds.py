r"""From residuals to errors: the smallest vector e with ``e >= s + K e``, K = factor * A, from above.

If the true errors satisfy :math:`e^\star \le s + K e^\star` entry by entry, K is non-negative, and some
:math:`v > 0` has :math:`K v \le \theta v` with :math:`\theta < 1`, then the spectral radius of K is below
1 and every e with :math:`e \ge s + K e` bounds :math:`e^\star`. So an estimate of
:math:`(I - K)^{-1} s` may come from anywhere; adding a multiple of v makes it a bound, and that is
checked in float64 with room for its own rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..adjacency import Adjacency
from .factor import EPSILON, Factor

_DOMINATING_SWEEPS = 5000


@dataclass(frozen=True)
class Sweeper:
    """The operator K = factor * A in float64, with a vector that it provably shrinks.

    Attributes:
        adjacency: A in float64.
        factor: The factor.
        shrunk: v, positive, ``n``.
        theta: ``K v <= theta v`` on each graph, ``num_graphs``; below 1.
        slack: Relative room for the rounding of one product with K.
    """

    adjacency: Adjacency
    factor: float
    shrunk: Tensor
    theta: Tensor
    slack: float

    @classmethod
    def build(cls, adjacency: Adjacency, factor: Factor) -> Sweeper | None:
        """Find v; ``None`` if none is found, because A is too large for this factor.

        For an undirected graph v = sqrt(degree) satisfies A v = v. Otherwise v sums up
        ``w + K w + K^2 w + ...``, which converges as the spectral norm of K is below 1.
        """
        exact = adjacency.to(torch.float64)
        longest = int(adjacency.matrix.rowptr.diff().max())
        slack = (longest + 16) * EPSILON
        root = exact.degree.clamp_min(0).sqrt()
        start = torch.where(root > 0, root, 1.0)
        shrunk = start
        for _ in range(_DOMINATING_SWEEPS):
            image = factor.value * (exact.matmul(shrunk) * (1 + slack))
            theta = exact.max_per_graph(image / shrunk) * (1 + slack)
            summed = start + image
            settled = bool((summed - shrunk <= 0.5 * start).all()) and bool((theta < 1).all())
            if settled or bool((theta <= (1 + factor.value) / 2).all()):
                return cls(exact, factor.value, shrunk, theta, slack)
            shrunk = summed
        return None

    def product(self, x: Tensor) -> Tensor:
        """``K x`` for ``x >= 0``, rounded up."""
        return self.adjacency.matmul(x) * (self.factor * (1 + self.slack))

    def bound(
        self, sources: Tensor, sweeps: int, start: Tensor | None = None, enough: float = 0.02
    ) -> tuple[Tensor, int]:
        r"""Bounds on :math:`(I - K)^{-1} s` for every column s of ``sources``, ``n x columns``.

        Args:
            sources: Non-negative, ``n x columns``.
            sweeps: Spend at most this many products with K, at least one.
            start: An estimate to start from.
            enough: Stop when the multiple of v that is added is this small against the estimate.

        Returns:
            The bounds, and the sweeps spent.
        """
        estimate = sources if start is None else start
        previous, omega = estimate, 1.0
        shrunk = self.shrunk.unsqueeze(-1)
        # On an undirected graph the spectrum of K is real, and Chebyshev's iteration takes about the
        # square root of the sweeps that plain iteration takes.
        squared = self.factor**2 if self.adjacency.symmetric else 0.0
        for spent in range(1, sweeps + 1):
            image = sources + self.product(estimate)
            gap = self.adjacency.max_per_graph((image * (1 + self.slack) - estimate) / shrunk)
            lift = gap.clamp_min(0) / (1 - self.theta).unsqueeze(-1)
            added = self.adjacency.spread(lift) * shrunk
            if spent == sweeps or self._small(added, estimate, enough):
                break
            omega = 1 / (1 - squared * omega / (4 if spent > 1 else 2))
            estimate, previous = omega * (image - previous) + previous, estimate
        return (estimate + added * (1 + self.slack)) * (1 + self.slack), spent

    def _small(self, added: Tensor, estimate: Tensor, enough: float) -> bool:
        large = self.adjacency.sum_per_graph(estimate) * enough
        return bool((self.adjacency.sum_per_graph(added) <= large).all())
