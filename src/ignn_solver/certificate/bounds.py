r"""From residuals to errors: the smallest vector e with ``e >= s + K e``, K = factor * A, from above.

If the true errors satisfy :math:`e^\star \le s + K e^\star` entry by entry, K is non-negative, and some
:math:`v > 0` has :math:`K v \le \theta v` with :math:`\theta < 1`, then the spectral radius of K is below
1 and every e with :math:`e \ge s + K e` bounds :math:`e^\star`. So an estimate of
:math:`(I - K)^{-1} s` may come from anywhere; adding a multiple of v makes it a bound, and that is
checked in float64 with room for its own rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..adjacency import Adjacency
from ..sparse import SparseMatrix
from .factor import EPSILON, Factor

_DOMINATING_SWEEPS = 5000
_FIRST_LOOK = 4
_TINY = torch.finfo(torch.float64).tiny


@dataclass(frozen=True)
class Sweeper:
    """The operator K = factor * A in float64, with a vector that it provably shrinks.

    Attributes:
        adjacency: The graph.
        operator: K in float64, with every entry rounded up by ``slack``.
        rough: A in float32.
        factor: The factor.
        shrunk: v, positive, ``n x 1``.
        theta: ``K v <= theta v`` on each graph, ``num_graphs``; below 1.
        slack: Relative room for the rounding of one product with K.
    """

    adjacency: Adjacency
    operator: SparseMatrix
    rough: SparseMatrix
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
        matrix = adjacency.matrix
        slack = (int(matrix.rowptr.diff().max()) + 16) * EPSILON
        operator = matrix.with_value(matrix.value.double() * (factor.value * (1 + slack)))
        root = adjacency.degree.double().clamp_min(0).sqrt()
        start = shrunk = torch.where(root > 0, root, 1.0)
        for _ in range(_DOMINATING_SWEEPS):
            image = operator.matmul(shrunk)
            theta = adjacency.max_per_graph(image / shrunk) * (1 + slack)
            summed = start + image
            settled = bool((summed - shrunk <= 0.5 * start).all()) and bool((theta < 1).all())
            if settled or bool((theta <= (1 + factor.value) / 2).all()):
                rough = matrix.to(torch.float32)
                column = shrunk.unsqueeze(-1)
                return cls(adjacency, operator, rough, factor.value, column, theta, slack)
            if bool((image >= shrunk).all()):
                break  # the spectral radius is at least 1
            shrunk = summed
        return None

    def product(self, x: Tensor) -> Tensor:
        """``K x`` for ``x >= 0``, rounded up."""
        return self.operator.matmul(x)

    def bound(self, sources: Tensor, sweeps: int, enough: float = 0.02) -> tuple[Tensor, int]:
        r"""Bounds on :math:`(I - K)^{-1} s` for every column s of ``sources``, ``n x columns``.

        Args:
            sources: Non-negative, ``n x columns``.
            sweeps: Spend at most this many products with K, at least one.
            enough: Stop when what the estimate lacks, and what it has too much, are this small
                against it.

        Returns:
            The bounds, and the sweeps spent.
        """
        # An estimate proves nothing until it is checked, so it can be improved in float32.
        scale = self.adjacency.spread(self.adjacency.max_per_graph(sources)).clamp_min(_TINY)
        small = (sources / scale).to(torch.float32)
        previous = current = (self.first_estimate(sources) / scale).to(torch.float32)
        # On an undirected graph the spectrum of K is real, and Chebyshev's iteration takes about the
        # square root of the sweeps that plain iteration takes.
        squared = self.factor**2 if self.adjacency.symmetric else 0.0
        rate = self.factor / (1 + math.sqrt(1 - squared)) if squared else self.factor
        omega, look = 1.0, min(_FIRST_LOOK, sweeps)
        for spent in range(1, sweeps + 1):
            if spent == look:
                estimate = current.to(torch.float64) * scale
                image = sources + self.product(estimate)
                added = self._missing(image, estimate)
                left = self._unsettled(estimate, image, added) / enough if enough > 0 else math.inf
                if spent == sweeps or left <= 1:
                    break
                more = math.log(left) / -math.log(rate) if math.isfinite(left) else sweeps
                look = min(sweeps, spent + max(1, math.ceil(more)))
            image = torch.add(small, self.rough.matmul(current), alpha=self.factor)
            previous, current = current, torch.lerp(previous, image, omega)
            omega = 1 / (1 - squared * omega / (4 if spent > 1 else 2))
        return (estimate + added * (1 + self.slack)) * (1 + self.slack), spent

    def first_estimate(self, sources: Tensor) -> Tensor:
        """A guess, not a bound: exact along v, where sweeps converge most slowly, ``n x columns``."""
        dots = torch.cat([sources * self.shrunk, self.shrunk * self.shrunk], -1)
        *along, size = self.adjacency.sum_per_graph(dots).unbind(-1)
        share = torch.stack(along, -1) / size.unsqueeze(-1) * (self.factor / (1 - self.factor))
        return torch.addcmul(sources, self.adjacency.spread(share), self.shrunk)

    def _missing(self, image: Tensor, estimate: Tensor) -> Tensor:
        """The multiple of v that turns the estimate into a bound."""
        gap = (image * (1 + self.slack) - estimate) / self.shrunk
        lift = self.adjacency.max_per_graph(gap).clamp_min(0) / (1 - self.theta).unsqueeze(-1)
        return self.adjacency.spread(lift) * self.shrunk

    def _unsettled(self, estimate: Tensor, image: Tensor, added: Tensor) -> float:
        """What the estimate lacks, or has too much, as a share of it; of a batch, the largest."""
        excess = (estimate - image).clamp_min(0) / (1 - self.factor)
        parts = torch.stack([added, excess, estimate], -1)
        lacks, spare, whole = self.adjacency.sum_per_graph(parts).unbind(-1)
        return float((torch.maximum(lacks, spare) / whole.clamp_min(_TINY)).max())
