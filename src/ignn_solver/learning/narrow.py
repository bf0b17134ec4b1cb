"""Fitting the narrow stand-in from which the learned solver starts."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..equilibrium import EquilibriumMap
from ..solvers.narrow import NarrowMap, first_coordinates, stepped
from .least_squares import LeastSquares, gram, leading_directions

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


def fit_narrow(
    f: EquilibriumMap, solution: Tensor, rows: Tensor, narrow: int, most: int, ridge: float
) -> NarrowStart:
    r"""Fit the directions V, the start S and, step after step, the matrix that comes closest.

    V are the leading directions of :math:`A Z^\star W`. Each step is the least-squares correction
    towards :math:`A Z^\star W V`, the coordinates of the fixed point.

    Args:
        f: The map.
        solution: Its fixed point, ``n x d``.
        rows: The rows to fit on.
        narrow: r.
        most: The most steps; fewer where more gain too little.
        ridge: Tikhonov term.
    """
    received = f.adjacency.matmul(solution @ f.weight)
    fitted = received[rows]
    basis = leading_directions(gram(fitted, fitted), narrow).to(solution.dtype).contiguous()
    del received
    target = fitted @ basis
    base, bias, wanted = f.start()[rows], f.bias[rows], solution[rows]
    start = LeastSquares(torch.cat([base, bias], 1), ridge).fit(target)
    stand_in = NarrowMap(f, basis)
    t, previous, matrices = first_coordinates(f, start), None, []
    error = float(torch.dist(stand_in.states(t)[rows], wanted))
    for _ in range(most if narrow else 0):
        image = stand_in.image(t)
        here, point = image[rows], t[rows]
        last = torch.zeros_like(point) if previous is None else point - previous[rows]
        matrix = LeastSquares(torch.cat([here - point, last], 1), ridge).fit(target - here)
        proposed = stepped(t, image, previous, matrix)
        now = float(torch.dist(stand_in.states(proposed)[rows], wanted))
        if not now < _WORTH * error:
            break
        matrices.append(matrix)
        t, previous, error = proposed, t, now
    none = basis.new_empty(0, 2 * narrow, narrow)
    steps = torch.stack(matrices) if matrices else none
    return NarrowStart(basis, start, steps, stand_in.states(t), error)
