"""Least squares over the rows of a graph's states, summed in float64."""

from __future__ import annotations

import torch
from torch import Tensor

#: On larger graphs matrices are fitted on this many rows.
MAX_ROWS = 65_536
_CHUNK = 16_384


def sampled_rows(count: int, seed: int) -> Tensor:
    """The rows to fit on: all of them, or as many as is plenty, drawn at random, ascending."""
    if count <= MAX_ROWS:
        return torch.arange(count)
    generator = torch.Generator().manual_seed(seed)
    return torch.randperm(count, generator=generator)[:MAX_ROWS].sort().values


def gram(left: Tensor, right: Tensor) -> Tensor:
    """``left^T right`` summed in float64 over chunks of rows."""
    total = torch.zeros(left.shape[1], right.shape[1], dtype=torch.float64, device=left.device)
    for begin in range(0, left.shape[0], _CHUNK):
        part = slice(begin, begin + _CHUNK)
        total += (left[part].T @ right[part]).double()
    return total


def least_squares(regressors: Tensor, target: Tensor, ridge: float) -> Tensor:
    """The ridge solution of ``regressors @ C = target``; columns that are all zero get zero."""
    normal = gram(regressors, regressors)
    scale = normal.diagonal().mean().clamp_min(torch.finfo(torch.float64).tiny)
    normal.diagonal().add_(ridge * scale)
    return torch.linalg.solve(normal, gram(regressors, target)).to(target.dtype)


def leading_directions(normal: Tensor, count: int) -> Tensor:
    """The eigenvectors of the ``count`` largest eigenvalues of a Gram matrix, as columns."""
    return torch.linalg.eigh(normal).eigenvectors[:, normal.shape[0] - count :]


def factors(matrix: Tensor, regressors: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """The best factors of the given rank, judged by what they do to the regressors; 0 for the matrix itself."""
    if rank == 0:
        return matrix, matrix.new_empty(0, matrix.shape[1])
    covariance = matrix.double().T @ gram(regressors, regressors) @ matrix.double()
    vectors = leading_directions(covariance, rank).to(matrix.dtype)
    return matrix @ vectors, vectors.T.contiguous()
