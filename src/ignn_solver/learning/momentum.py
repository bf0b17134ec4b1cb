"""Fitting the default learned solver in closed form: one small least-squares problem a step."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .. import kernels
from ..equilibrium import EquilibriumMap, FeatureMap
from ..errors import InputError
from ..memory import Pool
from ..solvers.learned import Learned, assemble, first_guess, powers
from ..sweeping import SweepMap

#: On larger graphs the matrices are fitted on this many rows.
MAX_ROWS = 65_536
_CHUNK = 16_384


@dataclass(frozen=True)
class MomentumOptions:
    """How to fit.

    Attributes:
        steps: Steps with matrices of their own; later ones repeat the last.
        rank: Rank of each step's matrix; 0 for full, ``None`` to choose by cost.
        ridge: Tikhonov term, relative to the mean squared regressor.
        degree: Degree of the polynomials in W used when W has changed.
        seed: Draws the rows to fit on where there are very many.
        base: What the steps build on: ``"plain"`` evaluations or a ``"sweep"`` in place, which saves about
            one evaluation and costs one more product with W in each.
    """

    steps: int = 14
    rank: int | None = None
    ridge: float = 1e-4
    degree: int = 4
    seed: int = 0
    base: str = "plain"

    def __post_init__(self) -> None:
        if self.base not in ("plain", "sweep"):
            raise InputError(f'base must be "plain" or "sweep", not {self.base!r}')


def fit_momentum(f: EquilibriumMap, solution: Tensor, options: MomentumOptions) -> Learned:
    r"""Fit the start and, step after step, the matrix that brings the iterate closest to ``solution``.

    Each step solves :math:`\min_C \|f(Z) + \Phi C - Z^\star\|^2` with
    :math:`\Phi = [f(Z) - Z, Z - Z_{prev}]`, then moves on with the result.

    Args:
        f: The map.
        solution: Its fixed point, found by a classical solver, ``n x d``.
        options: How to fit.
    """
    rows = _rows(f.bias.shape[0], options.seed).to(f.bias.device)
    rank = choose_rank(f) if options.rank is None else options.rank
    rank = 0 if rank >= f.weight.shape[0] else rank
    stepped = SweepMap(f) if options.base == "sweep" else f
    spectral_start, spectral = _fit_polynomials(stepped, solution, rows, options)
    base, target = f.start(), solution[rows]
    regressors = torch.cat([base[rows], f.bias[rows]], 1)
    start = _least_squares(regressors, target - base[rows], options.ridge)
    z = first_guess(f, base, start)
    del base
    previous, lefts, rights, pool = z, [], [], Pool(z)
    for _ in range(options.steps):
        fz = stepped.evaluate(z).value
        image, point = fz[rows], z[rows]
        regressors = torch.cat([image - point, point - previous[rows]], 1)
        matrix = _least_squares(regressors, target - image, options.ridge)
        left, right = _factors(matrix, regressors, rank)
        lefts.append(left)
        rights.append(right)
        proposed = kernels.mix(z, fz, previous, left, right, pool.take(), f.into_range_)
        previous, z = z, proposed
    return Learned(
        weight=f.weight.detach().clone(),
        start=start,
        left=torch.stack(lefts),
        right=torch.stack(rights),
        spectral_start=spectral_start,
        spectral=spectral,
        details={
            "preset": "learned",
            "steps": options.steps,
            "rank": rank,
            "base": options.base,
        },
    )


def choose_rank(f: EquilibriumMap) -> int:
    """The rank at which mixing costs about as much as an evaluation, by counting operations.

    An edge costs about four times the time of its arithmetic, because its row is fetched from memory.
    """
    nodes, width = f.bias.shape
    evaluation = 2 * nodes * width * width + 4 * 2 * f.adjacency.num_entries * width
    rank = int(evaluation / (6 * nodes * width))
    return max(8, 8 * round(rank / 8))


def _rows(count: int, seed: int) -> Tensor:
    if count <= MAX_ROWS:
        return torch.arange(count)
    generator = torch.Generator().manual_seed(seed)
    return torch.randperm(count, generator=generator)[:MAX_ROWS].sort().values


def _gram(left: Tensor, right: Tensor) -> Tensor:
    """``left^T right`` summed in float64 over chunks of rows."""
    total = torch.zeros(left.shape[1], right.shape[1], dtype=torch.float64, device=left.device)
    for begin in range(0, left.shape[0], _CHUNK):
        part = slice(begin, begin + _CHUNK)
        total += (left[part].T @ right[part]).double()
    return total


def _least_squares(regressors: Tensor, target: Tensor, ridge: float) -> Tensor:
    """The ridge solution of ``regressors @ C = target``; columns that are all zero get zero."""
    gram = _gram(regressors, regressors)
    scale = gram.diagonal().mean().clamp_min(torch.finfo(torch.float64).tiny)
    gram.diagonal().add_(ridge * scale)
    return torch.linalg.solve(gram, _gram(regressors, target)).to(target.dtype)


def _factors(matrix: Tensor, regressors: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """The best factors of the given rank, judged by what they do to the regressors."""
    if rank == 0:
        return matrix, matrix.new_empty(0, matrix.shape[1])
    covariance = matrix.double().T @ _gram(regressors, regressors) @ matrix.double()
    vectors = torch.linalg.eigh(covariance).eigenvectors[:, -rank:].to(matrix.dtype)
    return matrix @ vectors, vectors.T.contiguous()


def _fit_polynomials(
    f: FeatureMap, solution: Tensor, rows: Tensor, options: MomentumOptions
) -> tuple[Tensor, Tensor]:
    """The same fit with each matrix a polynomial in W: few numbers, which follow W as it changes."""
    base, target = f.start(), solution[rows]
    stack = powers(f, base, options.degree)
    start = _fit_coefficients((base[rows], f.bias[rows]), stack, target - base[rows])
    z = first_guess(f, base, assemble(start, stack))
    del base
    stack = powers(f, z, options.degree)
    previous, found, pool = z, [], Pool(z)
    for _ in range(options.steps):
        fz = f.evaluate(z).value
        image, point = fz[rows], z[rows]
        pair = (image - point, point - previous[rows])
        coefficients = _fit_coefficients(pair, stack, target - image)
        found.append(coefficients)
        whole = assemble(coefficients, stack)
        none = whole.new_empty(0, whole.shape[1])
        proposed = kernels.mix(z, fz, previous, whole, none, pool.take(), f.into_range_)
        previous, z = z, proposed
    return start, torch.stack(found)


def _fit_coefficients(pair: tuple[Tensor, Tensor], stack: Tensor, target: Tensor) -> Tensor:
    # <X P_i, Y P_j> is <X^T Y, P_i P_j^T>: two d x d products instead of n x d ones for every power.
    grams = [[_gram(one, other) for other in pair] for one in pair]
    targets = [_gram(one, target) for one in pair]
    degrees = stack.shape[0]
    basis = stack.double()
    size = 2 * degrees
    normal = basis.new_zeros(size, size)
    wanted = basis.new_zeros(size)
    for h in range(2):
        for i in range(degrees):
            wanted[h * degrees + i] = (targets[h] * basis[i]).sum()
            for g in range(2):
                product = grams[h][g] @ basis
                row = (basis[i] * product).sum((-2, -1))
                normal[h * degrees + i, g * degrees : (g + 1) * degrees] = row
    scale = normal.diagonal().clamp_min(torch.finfo(torch.float64).tiny).rsqrt()
    scaled = scale[:, None] * normal * scale
    scaled.diagonal().add_(1e-8)
    return (scale * torch.linalg.solve(scaled, scale * wanted)).view(2, degrees).to(target.dtype)
