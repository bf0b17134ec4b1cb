"""Fitting the solver that follows a model in training: about ten numbers a step, in closed form."""

from __future__ import annotations

import torch
from torch import Tensor

from ..equilibrium import FeatureMap
from ..kernels import products
from ..solvers.following import Following, Pair, corrected
from ..solvers.learned import powers

#: So few numbers need few rows.
_MAX_ROWS = 1024
_ROUNDS = 4


def fit_following(
    f: FeatureMap, start: Tensor, solution: Tensor, steps: int = 6, degree: int = 4, seed: int = 0
) -> Following:
    """Fit, pair of evaluations after pair, the correction that brings the iterate closest to ``solution``.

    Args:
        f: The map.
        start: Where its solves begin, such as the last epoch's equilibrium, ``n x d``.
        solution: Its fixed point, ``n x d``.
        steps: Corrections with numbers of their own; later ones repeat the last.
        degree: Degree of the polynomials in W.
        seed: Draws the rows to fit on.
    """
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(start.shape[0], generator=generator)[:_MAX_ROWS].to(start.device)
    stack = powers(f, start, degree)
    state = Pair(f, [], start)
    z, found = start, []
    for _ in range(steps):
        state.begin = z
        z = f.evaluate(z).value.clone()
        fz = f.evaluate(z).value.clone()
        regressors = [one[rows] for one in state.regressors(z, fz)]
        scalars, weights, polynomial = _fit(regressors, stack, (solution - fz)[rows])
        found.append((scalars, weights, polynomial))
        matrix = torch.einsum("j,jab->ab", polynomial.to(z.dtype), stack[1:])
        following = corrected(state, z, fz, scalars, weights, products.prepare(matrix))
        state.last, z = state.begin, following
    columns = [torch.stack(column).to(start.dtype) for column in zip(*found, strict=True)]
    return Following(*columns)


def _fit(regressors: list[Tensor], stack: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Scalars, weights and polynomial of one correction.

    Least squares with free coefficients for every regressor and power gives the start; then weights and
    polynomial are improved in turn, each a small least-squares problem.
    """
    count, degrees = len(regressors), stack.shape[0]
    normal, wanted = _normal_equations(regressors, stack.double(), target)
    free = _solved(normal, wanted, torch.eye(count * degrees, dtype=torch.float64)).view(
        count, degrees
    )
    left, sizes, _ = torch.linalg.svd(free[:, 1:], full_matrices=False)
    weights = left[:, 0] * sizes[0]
    scalars, polynomial = free[:, 0], free[0, 1:]
    constant = torch.zeros(count, count, degrees, dtype=torch.float64)
    constant[:, :, 0] = torch.eye(count)
    for _ in range(_ROUNDS):
        basis = torch.zeros(degrees - 1, count, degrees, dtype=torch.float64)
        basis[:, :, 1:] = torch.eye(degrees - 1)[:, None, :] * weights[None, :, None]
        polynomial = _solved(normal, wanted, torch.cat([constant, basis]).flatten(1))[count:]
        basis = torch.zeros(count, count, degrees, dtype=torch.float64)
        basis[:, :, 1:] = torch.eye(count)[:, :, None] * polynomial
        found = _solved(normal, wanted, torch.cat([constant, basis]).flatten(1))
        scalars, weights = found[:count], found[count:]
    return scalars, weights, polynomial


def _solved(normal: Tensor, wanted: Tensor, basis: Tensor) -> Tensor:
    """Least squares among the combinations of ``basis``, one a row."""
    small, right = basis @ normal @ basis.T, basis @ wanted
    scale = small.diagonal().clamp_min(torch.finfo(torch.float64).tiny).rsqrt()
    scaled = scale[:, None] * small * scale
    scaled.diagonal().add_(1e-8)
    return scale * torch.linalg.solve(scaled, scale * right)


def _normal_equations(
    regressors: list[Tensor], stack: Tensor, target: Tensor
) -> tuple[Tensor, Tensor]:
    # <X P_i, Y P_j> is <X^T Y P_j, P_i>: products of d x d matrices instead of n x d ones.
    count, degrees = len(regressors), stack.shape[0]
    normal = stack.new_zeros(count, degrees, count, degrees)
    wanted = stack.new_zeros(count, degrees)
    for i, one in enumerate(regressors):
        wanted[i] = ((one.T @ target).double() * stack).sum((1, 2))
        for j, other in enumerate(regressors[: i + 1]):
            block = torch.einsum("pab,qab->pq", stack, (one.T @ other).double() @ stack)
            normal[i, :, j] = block
            normal[j, :, i] = block.T.clone()
    size = count * degrees
    return normal.reshape(size, size).cpu(), wanted.reshape(size).cpu()
