"""The guess that a certified stop makes before it proves anything, compiled by numba."""

from __future__ import annotations

import math

import numba
import numpy as np
import torch
from torch import Tensor

from .bound_rows import CHECKED


@numba.njit(**CHECKED)
def _first_estimates(residual_sq, value_sq, shrunk, factor, out):  # type: ignore[no-untyped-def]
    along = along_value = size = 0.0
    for i in range(shrunk.shape[0]):
        out[0, i] = math.sqrt(np.float64(residual_sq[i]))
        out[1, i] = math.sqrt(np.float64(value_sq[i]))
        along += out[0, i] * shrunk[i]
        along_value += out[1, i] * shrunk[i]
        size += shrunk[i] * shrunk[i]
    share = factor / (1 - factor) / size
    for i in range(shrunk.shape[0]):
        out[0, i] += share * along * shrunk[i]
        out[1, i] += share * along_value * shrunk[i]


def first_estimates(
    residual_sq: Tensor, value_sq: Tensor, shrunk: Tensor, factor: float
) -> tuple[Tensor, Tensor]:
    """The first estimates of ``certificate.bounds.Sweeper`` for the roots of two vectors, ``n`` each."""
    out = torch.empty(2, shrunk.shape[0], dtype=torch.float64)
    _first_estimates(
        residual_sq.numpy(), value_sq.numpy(), shrunk.view(-1).numpy(), factor, out.numpy()
    )
    first, second = out
    return first, second
