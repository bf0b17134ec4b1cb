"""Fitting the narrow stand-in from which the learned solver starts."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..equilibrium import EquilibriumMap
from ..kernels import products
from ..kernels.plain_products import gram
from ..solvers.narrow import NarrowMap, stepped
from .least_squares import LeastSquares, leading_directions, taken

#: A narrow step that leaves more than this share of the error is not worth its cost.
_WORTH = 0.9


@dataclass(frozen=True)
class NarrowStart:
    """A fitted start.

    Attributes:
        basis: V, ``d x r``.
        start: S, ``2d x r``.
        steps: The matrix of each step, ``steps x 2r x r``.
        states: The states that it leads to, ``n x d``.
        error: Their distance from the fixed point, on the rows that were fitted on.
    """

    basis: Tensor
    start: Tensor
    steps: Tensor
    states: Tensor
    error: float


class NarrowFit:
    r"""Fits stand-ins of any width to one map; what they share is made once.

    The directions V are the leading ones of :math:`A Z^\star W`. Each step is the least-squares correction
    towards :math:`A Z^\star W V`, the coordinates of the fixed point.

    Args:
        f: The map.
        solution: Its fixed point, ``n x d``.
        rows: The rows to fit on.
        ridge: Tikhonov term.
    """

    def __init__(self, f: EquilibriumMap, solution: Tensor, rows: Tensor, ridge: float) -> None:
        self.f, self.rows, self.ridge = f, rows, ridge
        self._wanted = taken(solution, rows)
        self._received = taken(f.adjacency.matmul(solution @ f.weight), rows)
        normal = gram(self._received, self._received)
        self._directions = leading_directions(normal, normal.shape[0]).to(solution.dtype)
        self._given = torch.cat([taken(f.start(), rows), taken(f.bias, rows)], 1)
        self._start = LeastSquares(gram(self._given, self._given), ridge)

    def fit(self, narrow: int, most: int) -> NarrowStart:
        """Fit the start S and, step after step, the matrix that comes closest.

        Args:
            narrow: r.
            most: The most steps; fewer where more gain too little.
        """
        rows = self.rows
        basis = self._directions[:, self._directions.shape[1] - narrow :].contiguous()
        target = self._received @ basis
        start = self._start.solve(gram(self._given, target), target.dtype)
        stand_in = NarrowMap(self.f, basis)
        t, previous, matrices = stand_in.first(start), None, []
        states, error = self._judged(stand_in, t)
        for _ in range(most if narrow else 0):
            image = stand_in.image(t)
            before = t if previous is None else previous
            points = taken(t, rows), taken(image, rows), taken(before, rows)
            normal = products.normal(*points, target)
            fit = LeastSquares(normal[:, : 2 * narrow], self.ridge)
            matrix = fit.solve(normal[:, 2 * narrow :], target.dtype)
            proposed = stepped(t, image, previous, matrix)
            closer, now = self._judged(stand_in, proposed)
            if not now < _WORTH * error:
                break
            matrices.append(matrix)
            t, previous, states, error = proposed, t, closer, now
        none = basis.new_empty(0, 2 * narrow, narrow)
        steps = torch.stack(matrices) if matrices else none
        return NarrowStart(basis, start, steps, states, error)

    def _judged(self, stand_in: NarrowMap, t: Tensor) -> tuple[Tensor, float]:
        """The states of coordinates, and their distance from the fixed point."""
        states = stand_in.states(t)
        return states, float(torch.dist(taken(states, self.rows), self._wanted))
