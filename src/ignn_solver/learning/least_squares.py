"""Least squares over the rows of a graph's states, summed in float64."""

from __future__ import annotations

import torch
from torch import Tensor

#: On larger graphs matrices are fitted on this many rows.
MAX_ROWS = 262_144
#: A fit of a few numbers for all features needs no more rows than this.
_FEW_ROWS = 256


def sampled_rows(count: int, seed: int) -> Tensor:
    """The rows to fit on: all of them, or as many as is plenty, drawn at random, ascending."""
    if count <= MAX_ROWS:
        return torch.arange(count)
    generator = torch.Generator().manual_seed(seed)
    return torch.randperm(count, generator=generator)[:MAX_ROWS].sort().values


def few_rows(rows: Tensor) -> Tensor:
    """Evenly some of the rows, as many as a fit of a few numbers needs."""
    return rows[:: -(-len(rows) // _FEW_ROWS)]


def taken(x: Tensor, rows: Tensor) -> Tensor:
    """Those rows of ``x``, which are ascending; x itself if they are all."""
    return x if len(rows) == len(x) else x[rows]


class LeastSquares:
    """Ridge regressions on the same regressors, R.

    Args:
        normal: ``R^T R``, ``k x k``, in float64.
        ridge: Tikhonov term, relative to the mean squared regressor.
    """

    def __init__(self, normal: Tensor, ridge: float) -> None:
        self.normal = normal
        damped = normal.clone()
        scale = normal.diagonal().mean().clamp_min(torch.finfo(torch.float64).tiny)
        damped.diagonal().add_(ridge * scale)
        self._factor = torch.linalg.cholesky(damped)

    def solve(self, wanted: Tensor, dtype: torch.dtype) -> Tensor:
        """The solution C of ``R C = T``, given ``R^T T``; columns that are all zero get zero."""
        return torch.cholesky_solve(wanted, self._factor).to(dtype)

    def factors(self, matrix: Tensor, rank: int) -> tuple[Tensor, Tensor]:
        """The best factors of a solution, judged by what they do to the regressors; rank 0 for no factors."""
        if rank == 0:
            return matrix, matrix.new_empty(0, matrix.shape[1])
        # Directions that float32 cannot tell apart serve equally well.
        covariance = matrix.T @ (self.normal.to(matrix.dtype) @ matrix)
        vectors = leading_directions(covariance, rank)
        return matrix @ vectors, vectors.T.contiguous()


def leading_directions(normal: Tensor, count: int) -> Tensor:
    """The eigenvectors of the ``count`` largest eigenvalues of a Gram matrix, as columns."""
    return torch.linalg.eigh(normal).eigenvectors[:, normal.shape[0] - count :]
