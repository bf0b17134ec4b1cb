"""Fitting the learned solver's matrices as polynomials in W: few numbers, which follow W as it changes."""

from __future__ import annotations

import torch
from torch import Tensor

from ..equilibrium import FeatureMap
from ..kernels import products
from ..memory import POOL
from ..solvers.learned import assemble, powers, spectral_guess
from .least_squares import few_rows


def fit_polynomials(
    f: FeatureMap, solution: Tensor, rows: Tensor, steps: int, degree: int
) -> tuple[Tensor, Tensor]:
    """Coefficients of the start, ``2 x (degree + 1)``, and of every step, ``steps x 2 x (degree + 1)``.

    Args:
        f: The map.
        solution: Its fixed point, ``n x d``.
        rows: The rows to fit on; of many, some are enough for so few numbers.
        steps: How many steps.
        degree: Degree of the polynomials.
    """
    rows = few_rows(rows)
    base, target = f.start(), solution[rows]
    stack = powers(f, base, degree)
    start = _fit_coefficients((base[rows], f.bias[rows]), stack, target - base[rows])
    z = spectral_guess(f, base, assemble(start, stack))
    del base
    stack = powers(f, z, degree)
    previous, found = z, []
    for _ in range(steps):
        fz = f.evaluate(z).value
        image, point = fz[rows], z[rows]
        pair = (image - point, point - previous[rows])
        coefficients = _fit_coefficients(pair, stack, target - image)
        found.append(coefficients)
        whole = assemble(coefficients, stack)
        matrices = products.prepare(whole), products.prepare(whole[:0])
        proposed = products.mix(z, fz, previous, *matrices, POOL.like(z), f.value_range)
        previous, z = z, proposed
    return start, torch.stack(found)


def _fit_coefficients(pair: tuple[Tensor, Tensor], stack: Tensor, target: Tensor) -> Tensor:
    """The coefficients that come closest to ``target``, for two regressors times every power, ``2 x q``."""
    width = target.shape[1]
    side_by_side = stack.permute(1, 0, 2).reshape(width, -1)
    regressors = torch.cat([(one @ side_by_side).view(len(target), -1, width) for one in pair], 1)
    flat = regressors.transpose(0, 1).reshape(regressors.shape[1], -1)
    # Each to length 1: powers of a contraction shrink.
    scale = torch.linalg.norm(flat, dim=1).clamp_min(torch.finfo(flat.dtype).tiny).reciprocal()
    flat = (flat * scale[:, None]).double()
    normal = flat @ flat.T
    normal.diagonal().add_(1e-8)
    found = torch.linalg.solve(normal, flat @ target.double().flatten())
    return (scale * found).view(2, -1).to(target.dtype)
