"""Fitting the learned solver's matrices as polynomials in W: few numbers, which follow W as it changes."""

from __future__ import annotations

import torch
from torch import Tensor

from ..equilibrium import FeatureMap
from ..kernels import products
from ..memory import POOL
from ..solvers.learned import assemble, powers, spectral_guess
from .least_squares import gram


def fit_polynomials(
    f: FeatureMap, solution: Tensor, rows: Tensor, steps: int, degree: int
) -> tuple[Tensor, Tensor]:
    """Coefficients of the start, ``2 x (degree + 1)``, and of every step, ``steps x 2 x (degree + 1)``.

    Args:
        f: The map.
        solution: Its fixed point, ``n x d``.
        rows: The rows to fit on.
        steps: How many steps.
        degree: Degree of the polynomials.
    """
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
    # <X P_i, Y P_j> is <X^T Y P_j, P_i>: products of d x d matrices instead of n x d ones for every power.
    basis = stack.double()
    flat = basis.flatten(1)
    first, second = pair
    blocks = [
        flat @ (gram(one, other) @ basis).flatten(1).T
        for one, other in ((first, first), (first, second), (second, second))
    ]
    normal = torch.cat(
        [torch.cat([blocks[0], blocks[1]], 1), torch.cat([blocks[1].T, blocks[2]], 1)]
    )
    wanted = torch.cat([flat @ gram(one, target).flatten() for one in pair])
    scale = normal.diagonal().clamp_min(torch.finfo(torch.float64).tiny).rsqrt()
    scaled = scale[:, None] * normal * scale
    scaled.diagonal().add_(1e-8)
    found = scale * torch.linalg.solve(scaled, scale * wanted)
    return found.view(2, -1).to(target.dtype)
