r"""From residuals to errors: the smallest vector e with ``e >= s + K e``, K = factor * A, from above.

If the true errors satisfy :math:`e^\star \le s + K e^\star` entry by entry, K is non-negative, and some
:math:`v > 0` has :math:`K v \le \theta v` with :math:`\theta < 1`, then the spectral radius of K is below
1 and every e with :math:`e \ge s + K e` bounds :math:`e^\star`. So an estimate of
:math:`(I - K)^{-1} s` may come from anywhere. Growing it by a share :math:`\delta` and adding a multiple of v
makes it a bound:

.. math::
    (1 + \delta) e + c v \ge s + K ((1 + \delta) e + c v)
    \quad\text{if}\quad c (1 - \theta) v \ge (1 + \delta) (s + K e - e) - \delta s,

and that is checked in float64 with room for its own rounding. Growth covers what is missing where the
source is large, so that v has to cover only what is missing elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from ..adjacency import Adjacency
from ..sparse import SparseMatrix
from .factor import EPSILON, Factor

_DOMINATING_SWEEPS = 5000
#: With no more entries than this, rows are so short, and a copy of them so small, that it pays to sort them.
_FEW_ENTRIES = 2**17
_TINY = torch.finfo(torch.float64).tiny


class Layout(NamedTuple):
    """A graph as compiled sweeps read it.

    Attributes:
        rows: ``rowptr``, ``col`` and ``value`` of A, row after row in the order of ``visits``.
        visits: The node of each of these rows, ``n``.
        pieces: The connected piece that each node is in, ``n``.
        num_pieces: How many there are.
    """

    rows: tuple[np.ndarray, np.ndarray, np.ndarray]
    visits: np.ndarray
    pieces: np.ndarray
    num_pieces: int

    @classmethod
    def of(cls, matrix: SparseMatrix) -> Layout | None:
        """Lay out a matrix; ``None`` if it is not on the CPU."""
        if matrix.device.type != "cpu":
            return None
        rowptr, col, value = matrix.arrays
        graph = sp.csr_matrix((value, col, rowptr), shape=matrix.shape)
        num_pieces, pieces = connected_components(graph, directed=False)
        visits = np.arange(matrix.shape[0], dtype=np.uint32)
        if len(col) <= _FEW_ENTRIES:
            # The processor foresees where a row ends if the one before was as long. Threads keep their rows.
            part = np.searchsorted(matrix.splits, visits, side="right")
            visits = np.lexsort((np.diff(rowptr), part)).astype(np.uint32)
            ordered = graph[visits]
            rowptr, col, value = ordered.indptr, ordered.indices, ordered.data
        return cls((rowptr, col, value), visits, pieces, int(num_pieces))


@dataclass(frozen=True)
class Sweeper:
    """The operator K = factor * A, with a vector that it provably shrinks.

    Attributes:
        adjacency: The graph.
        factor: The factor.
        shrunk: v, positive, ``n x 1``.
        theta: ``K v <= theta v`` on each graph, ``num_graphs``; below 1.
        slack: Relative room for the rounding of one product with K.
        layout: The graph as compiled sweeps read it, on the CPU.
        first_look: The sweep at which an estimate is judged first.
    """

    adjacency: Adjacency
    factor: float
    shrunk: Tensor
    theta: Tensor
    slack: float
    layout: Layout | None
    first_look: int = 3

    @classmethod
    def of(cls, adjacency: Adjacency, factor: Factor) -> Sweeper | None:
        """The same as :meth:`build`; what was found last is kept with the graph."""
        value = adjacency.matrix.value
        if value.is_inference():
            # It does not record whether it was changed.
            return cls.build(adjacency, factor)
        key = (factor.value, value._version)
        if adjacency.shrinking is None or adjacency.shrinking[0] != key:
            built = cls.build(adjacency, factor)
            if built is None:
                return None
            # Not the sweeper itself: it would keep the graph alive.
            adjacency.shrinking = (
                key, built.shrunk, built.theta, built.slack, built.layout,
            )  # fmt: skip
        return cls(adjacency, factor.value, *adjacency.shrinking[1:])

    @classmethod
    def build(cls, adjacency: Adjacency, factor: Factor) -> Sweeper | None:
        """Find v; ``None`` if none is found, because A is too large for this factor.

        For an undirected graph v = sqrt(degree) satisfies A v = v. Otherwise v sums up
        ``w + K w + K^2 w + ...``, which converges as the spectral norm of K is below 1.
        """
        matrix = adjacency.matrix
        entries = matrix.rowptr.diff()
        slack = (int(entries.max()) + 16) * EPSILON
        operator = _operator(matrix, factor.value, slack)
        root = adjacency.degree.double().clamp_min(0).sqrt()
        start = shrunk = torch.where(root > 0, root, 1.0)
        for _ in range(_DOMINATING_SWEEPS):
            image = operator.matmul(shrunk)
            theta = adjacency.max_per_graph(image / shrunk) * (1 + slack)
            summed = start + image
            settled = bool((summed - shrunk <= 0.5 * start).all()) and bool((theta < 1).all())
            if settled or bool((theta <= (1 + factor.value) / 2).all()):
                layout = Layout.of(matrix)
                return cls(adjacency, factor.value, shrunk.unsqueeze(-1), theta, slack, layout)
            if bool((image >= shrunk).all()):
                break  # the spectral radius is at least 1
            shrunk = summed
        return None

    @cached_property
    def operator(self) -> SparseMatrix:
        """K in float64, with every entry rounded up by ``slack``."""
        return _operator(self.adjacency.matrix, self.factor, self.slack)

    @cached_property
    def rough(self) -> SparseMatrix:
        """A in float32."""
        return self.adjacency.matrix.to(torch.float32)

    @property
    def rate(self) -> float:
        """What is left of an estimate's error after a sweep, in the long run.

        On an undirected graph the spectrum of K is real, and Chebyshev's iteration takes about the
        square root of the sweeps that plain iteration takes.
        """
        if not self.adjacency.symmetric:
            return self.factor
        return self.factor / (1 + math.sqrt(1 - self.factor**2))

    def product(self, x: Tensor) -> Tensor:
        """``K x`` for ``x >= 0``, rounded up."""
        return self.operator.matmul(x)

    def bound(self, sources: Tensor, sweeps: int, enough: float = 0.02) -> tuple[Tensor, int]:
        r"""Bounds on :math:`(I - K)^{-1} s` for every column s of ``sources``, ``n x columns``.

        Args:
            sources: Non-negative, ``n x columns``.
            sweeps: Spend at most this many products with K, at least one.
            enough: Stop when the bounds are about this close, as a share: half of it by growth.

        Returns:
            The bounds, and the sweeps spent.
        """
        # An estimate proves nothing until it is checked, so it can be improved in float32.
        scale = self.adjacency.spread(self.adjacency.max_per_graph(sources)).clamp_min(_TINY)
        small = (sources / scale).to(torch.float32)
        previous = current = (self.first_estimate(sources) / scale).to(torch.float32)
        totals = self.adjacency.sum_per_graph(sources)
        even = self._even(totals) / scale
        weights = totals / totals.sum(-1, keepdim=True).clamp_min(_TINY)
        squared = self.factor**2 if self.adjacency.symmetric else 0.0
        omega, look, spent = 1.0, self.first_look, 1
        while spent < sweeps:
            image = torch.add(small, self.rough.matmul(current), alpha=self.factor)
            spent += 1
            if enough > 0 and spent > look:
                left = self._unsettled(small, (image - current).abs(), even, weights, enough)
                if left <= 1:
                    current = image
                    break
                # Many graphs converge faster than at this rate.
                more = math.log(left) / -math.log(self.rate) if math.isfinite(left) else sweeps
                look = spent - 1 + max(1, math.ceil(more / 2))
            previous, current = current, torch.lerp(previous, image, omega)
            omega = 1 / (1 - squared * omega / (4 if spent > 2 else 2))
        # What a product of it rounds is small against it only if nothing cancels.
        estimate = (current.to(torch.float64) * scale).clamp_min(0)
        image = sources + self.product(estimate)
        plain = self._lifted(sources, image, estimate, 0.0)
        grown = self._lifted(sources, image, estimate, enough / 2)
        per_graph = self.adjacency.sum_per_graph(grown) < self.adjacency.sum_per_graph(plain)
        return torch.where(self.adjacency.spread(per_graph), grown, plain), spent

    def first_estimate(self, sources: Tensor) -> Tensor:
        """A guess, not a bound: in each piece exact along v, where sweeps converge most slowly, ``n x columns``."""
        dots = torch.cat([sources * self.shrunk, self.shrunk * self.shrunk], -1)
        if self.layout is None:
            sums = self.adjacency.spread(self.adjacency.sum_per_graph(dots))
        else:
            pieces = torch.from_numpy(self.layout.pieces).long()
            sums = dots.new_zeros(self.layout.num_pieces, dots.shape[1])
            sums = sums.index_add_(0, pieces, dots)[pieces]
        share = sums[:, :-1] / sums[:, -1:] * (self.factor / (1 - self.factor))
        return torch.addcmul(sources, share, self.shrunk)

    def _missing(self, sources: Tensor, image: Tensor, estimate: Tensor, growth: float) -> Tensor:
        """The multiple of v that turns the estimate, grown by a share, into a bound."""
        gap = (1 + growth) * (image * (1 + self.slack) - estimate) - growth * sources
        lift = self.adjacency.max_per_graph(gap / self.shrunk).clamp_min(0)
        lift = lift / (1 - self.theta).unsqueeze(-1)
        return self.adjacency.spread(lift) * self.shrunk

    def _lifted(self, sources: Tensor, image: Tensor, estimate: Tensor, growth: float) -> Tensor:
        added = self._missing(sources, image, estimate, growth) * (1 + self.slack)
        return ((1 + growth) * estimate + added) * (1 + self.slack)

    def _even(self, totals: Tensor) -> Tensor:
        """What may be missing at each node if v, added to cover it, is to be as large as the estimate."""
        # An estimate is about 1 / (1 - factor) of its source.
        lengths = self.adjacency.sum_per_graph(self.shrunk) * (1 - self.factor)
        mean = (1 - self.theta).unsqueeze(-1) * totals / lengths
        return self.adjacency.spread(mean) * self.shrunk

    def _unsettled(
        self, sources: Tensor, gap: Tensor, even: Tensor, weights: Tensor, enough: float
    ) -> float:
        """What the image of an estimate misses against what is enough, about; of a batch, the most.

        What it has too much counts as well, because the sign may change with every step. What each column misses
        counts by its weight, because in the end they are added.
        """
        growth = enough / 2
        plain = self.adjacency.max_per_graph(gap / even) / enough
        grown = self.adjacency.max_per_graph(gap / (sources + even)) * ((1 + growth) / growth)
        return float((torch.minimum(plain, grown) * weights).sum(-1).max()) * self.factor


def _operator(matrix: SparseMatrix, factor: float, slack: float) -> SparseMatrix:
    return matrix.with_value(matrix.value.double() * (factor * (1 + slack)))
