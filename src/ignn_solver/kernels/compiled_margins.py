"""Scores, classes and margins in one compiled pass over the states; see ``certificate.heads``."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import torch
from numba import prange
from torch import Tensor

from .bound_rows import CHECKED, upper
from .compiled_bounds import few_threads
from .rowwise import copy
from .tiles import BLOCK, multiply, pack
from .vectors import VECTOR_BYTES

#: Rows that a thread takes at once.
_PART = 4 * BLOCK
#: The largest share of a margin that one unit of a gap may give; 1 over anything smaller overflows.
_MOST = 1e300
#: What rounding can add to a product with a quotient that was rounded itself, and a little more.
_ROUNDED = 1 - 4 * float(np.finfo(np.float64).eps)


class PackedHead(NamedTuple):
    """A linear head as the compiled loop reads it.

    Attributes:
        weight: Its weight, filled up to whole vectors and packed.
        bias: Its bias, as wide as the weight.
        closeness: What a unit of the gap between two scores leaves to move, rounded down, ``classes x classes``.
    """

    weight: np.ndarray
    bias: np.ndarray
    closeness: np.ndarray


def prepare(weight: Tensor, bias: Tensor | None, apart: Tensor) -> PackedHead:
    """A linear head, made ready.

    Args:
        weight: ``classes x d``.
        bias: ``classes``, or ``None``.
        apart: Largest change of the difference of two scores a unit of movement, ``classes x classes``.
    """
    classes, depth = weight.shape
    lanes = VECTOR_BYTES // weight.element_size()
    # Filled up to whole vectors, which are faster than a part of one.
    width = (classes + lanes - 1) // lanes * lanes
    given = weight.new_zeros(depth, width).numpy()
    added = weight.new_zeros(width).numpy()
    given[:, :classes] = weight.detach().T.numpy()
    if bias is not None:
        added[:classes] = bias.detach().numpy()
    with np.errstate(divide="ignore", over="ignore"):
        closeness = 1 / apart.numpy()
    # Classes that differ by a constant never meet; NaN leaves nothing.
    far = np.minimum(closeness, _MOST) * _ROUNDED
    closeness = np.where(apart.numpy() == 0, np.inf, np.where(far >= 0, far, 0.0))
    return PackedHead(pack(given), added, closeness)


@numba.njit(**CHECKED)
def _rows(  # type: ignore[no-untyped-def]
    first, last, found, columns, largest, best, off, nearest, square, grown, lost, slope, intercept,
    closeness, keep, scores, classes, margin,
):  # fmt: skip
    # Class after class for all rows of the block, because such loops take many rows at once.
    rows, count = last - first, scores.shape[1]
    for i in range(rows):
        for c in range(count):
            columns[c, i] = scores[first + i, c] = found[i, c]
    for i in range(rows):
        largest[i], best[i], nearest[i] = columns[0, i], 0, np.inf
        off[i] = (2 + 1e-9) * (upper(square[first + i], grown, lost) * slope + intercept)
    for c in range(1, count):
        for i in range(rows):
            better = columns[c, i] > largest[i]
            largest[i] = columns[c, i] if better else largest[i]
            best[i] = c if better else best[i]
    for c in range(count):
        for i in range(rows):
            left = (np.float64(largest[i]) - np.float64(columns[c, i])) - off[i]
            close = closeness[best[i], c]
            # Written so that NaN leaves nothing.
            reach = left * close if left > 0 and close > 0 else 0.0
            reach = np.inf if best[i] == c else reach
            nearest[i] = reach if reach < nearest[i] else nearest[i]
    for i in range(rows):
        classes[first + i] = best[i]
        margin[first + i] = nearest[i] * keep


@numba.njit(**CHECKED, parallel=True)
def _margins(  # type: ignore[no-untyped-def]
    value, weight, bias, square, grown, lost, slope, intercept, closeness, keep, scores, classes,
    margin,
):  # fmt: skip
    count = value.shape[0]
    for part in prange((count + _PART - 1) // _PART):
        found = np.empty((BLOCK, bias.shape[0]), scores.dtype)
        columns = np.empty((scores.shape[1], BLOCK), scores.dtype)
        largest, best = np.empty(BLOCK, scores.dtype), np.empty(BLOCK, np.uint32)
        off, nearest = np.empty(BLOCK), np.empty(BLOCK)
        for first in range(part * _PART, min(count, (part + 1) * _PART), BLOCK):
            last = min(count, first + BLOCK)
            for i in range(last - first):
                copy(bias, found[i])
            multiply(value, first, last, weight, found, -first, True)
            _rows(
                first, last, found, columns, largest, best, off, nearest, square, grown, lost,
                slope, intercept, closeness, keep, scores, classes, margin,
            )  # fmt: skip


def margins(
    head: PackedHead,
    value: Tensor,
    square: Tensor,
    allowed: tuple[float, float],
    slope: float,
    intercept: float,
    keep: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The scores, the class with the largest, and the margin, of each row.

    Args:
        head: From states to scores.
        value: The states, ``rows x d``.
        square: Squared norms of their rows, ``rows``.
        allowed: The norm is at most the root of ``square * first + second``.
        slope: A score's rounding error is at most ``slope * norm + intercept``.
        intercept: See ``slope``.
        keep: What is kept of a margin after its own rounding.
    """
    few_threads(value.numel() // 2)
    rows = value.shape[0]
    scores = value.new_empty(rows, head.closeness.shape[0])
    classes = torch.empty(rows, dtype=torch.int64)
    margin = torch.empty(rows, dtype=torch.float64)
    _margins(
        value.contiguous().numpy(), head.weight, head.bias, square.contiguous().numpy(), *allowed,
        slope, intercept, head.closeness, keep, scores.numpy(), classes.numpy(), margin.numpy(),
    )  # fmt: skip
    return scores, classes, margin
