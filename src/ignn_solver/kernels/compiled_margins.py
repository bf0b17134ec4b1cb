"""Classes and margins from scores in one compiled pass; see ``certificate.heads``."""

from __future__ import annotations

import numba
import numpy as np
import torch
from numba import prange
from torch import Tensor

from .bound_rows import CHECKED, upper
from .compiled_bounds import few_threads

#: Rows that a thread takes at once.
_BLOCK = 1024


@numba.njit(**CHECKED)
def _rows(  # type: ignore[no-untyped-def]
    first, last, scores, square, grown, lost, slope, intercept, apart, keep, classes, margin
):
    for i in range(first, last):
        best = 0
        for c in range(1, scores.shape[1]):
            if scores[i, c] > scores[i, best]:
                best = c
        off = (2 + 1e-9) * (upper(square[i], grown, lost) * slope + intercept)
        nearest = np.inf
        for c in range(scores.shape[1]):
            if c != best:
                left = (np.float64(scores[i, best]) - np.float64(scores[i, c])) - off
                # Written so that NaN leaves nothing.
                sure = left > 0 and apart[best, c] >= 0
                nearest = min(nearest, left / apart[best, c] if sure else 0.0)
        classes[i] = best
        margin[i] = nearest * keep


@numba.njit(**CHECKED, parallel=True)
def _margins(  # type: ignore[no-untyped-def]
    scores, square, grown, lost, slope, intercept, apart, keep, classes, margin
):
    count = scores.shape[0]
    for block in prange((count + _BLOCK - 1) // _BLOCK):
        first = block * _BLOCK
        _rows(
            first, min(count, first + _BLOCK), scores, square, grown, lost, slope, intercept,
            apart, keep, classes, margin,
        )  # fmt: skip


def margins(
    scores: Tensor,
    square: Tensor,
    allowed: tuple[float, float],
    slope: float,
    intercept: float,
    apart: Tensor,
    keep: float,
) -> tuple[Tensor, Tensor]:
    """The class with the largest score, and the margin, of each row.

    Args:
        scores: ``rows x classes``.
        square: Squared norms of what the scores were made from, ``rows``.
        allowed: The norm is at most the root of ``square * first + second``.
        slope: A score's rounding error is at most ``slope * norm + intercept``.
        intercept: See ``slope``.
        apart: Largest change of the difference of two scores a unit of movement, ``classes x classes``.
        keep: What is kept of a margin after its own rounding.
    """
    few_threads(scores.numel())
    classes = torch.empty(scores.shape[0], dtype=torch.int64)
    margin = torch.empty(scores.shape[0], dtype=torch.float64)
    _margins(
        scores.contiguous().numpy(), square.contiguous().numpy(), *allowed, slope, intercept,
        apart.numpy(), keep, classes.numpy(), margin.numpy(),
    )  # fmt: skip
    return classes, margin
