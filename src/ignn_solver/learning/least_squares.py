"""Least squares over the rows of a graph's states, summed in float64."""

from __future__ import annotations

import torch
from torch import Tensor

#: On larger graphs matrices are fitted on this many rows.
MAX_ROWS = 65_536
_CHUNK = 16_384
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


def gram(left: Tensor, right: Tensor) -> Tensor:
    """``left^T right`` summed in float64 over chunks of rows."""
    total = torch.zeros(left.shape[1], right.shape[1], dtype=torch.float64, device=left.device)
    for begin in range(0, left.shape[0], _CHUNK):
        part = slice(begin, begin + _CHUNK)
        total += _product(left[part], right[part]).double()
    return total


def _product(left: Tensor, right: Tensor) -> Tensor:
    if left.device.type != "cpu":
        return left.T @ right
    # The library behind numpy makes but half of a product that is symmetric, and is faster on many processors.
    return torch.from_numpy(left.numpy().T @ right.numpy())


class LeastSquares:
    """Ridge regressions on the same regressors, whose Gram matrix is made once.

    Args:
        regressors: ``rows x k``.
        ridge: Tikhonov term, relative to the mean squared regressor.
    """

    def __init__(self, regressors: Tensor, ridge: float) -> None:
        self.regressors = regressors
        self.normal = gram(regressors, regressors)
        damped = self.normal.clone()
        scale = self.normal.diagonal().mean().clamp_min(torch.finfo(torch.float64).tiny)
        damped.diagonal().add_(ridge * scale)
        self._factor = torch.linalg.cholesky(damped)

    def fit(self, target: Tensor) -> Tensor:
        """The solution C of ``regressors @ C = target``; columns that are all zero get zero."""
        wanted = gram(self.regressors, target)
        return torch.cholesky_solve(wanted, self._factor).to(target.dtype)

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
