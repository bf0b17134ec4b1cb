"""The bounds of a certificate in one compiled call: what ``certificate.bounds`` does in torch, for one graph.

On a small graph a proof is a hundred operations on a few thousand numbers, and calling each of them takes
longer than doing it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numba
import numpy as np
import torch
from torch import Tensor

from . import bound_stages as stages
from .bound_rows import CHECKED
from .compiled import _threads

if TYPE_CHECKING:
    from ..certificate.bounds import Sweeper

#: With less work than this, waking a second thread takes longer than the loop.
_SERIAL_ENTRIES = 2**13
_TINY = float(np.finfo(np.float64).tiny)


#: What rounding can do to one evaluation of f; see ``certificate.rounding``. The norm of a row of the residual
#: is at most the root of ``square * residual_grown + residual_lost``, and so for z, f(z) and b.
ALLOWANCE = np.dtype(
    [
        ("residual_grown", "f8"),
        ("residual_lost", "f8"),
        ("grown", "f8"),
        ("lost", "f8"),
        ("roundoff", "f8"),  # u of the type in which f was computed
        ("projected", "f8"),  # relative error of a row of z W
        ("factor", "f8"),  # norm of W
        ("activation", "f8"),  # relative error of the activation
        ("underflow", "f8"),  # what underflow can take from an entry
    ]
)


def few_threads(entries: int) -> None:
    """Share the next loop between threads, if it has entries enough for that."""
    if entries < _SERIAL_ENTRIES:
        numba.set_num_threads(1)
    else:
        _threads()


@numba.njit(**CHECKED)
def _bounded(  # type: ignore[no-untyped-def]
    rowptr, col, value, splits, residual_sq, value_sq, bias_sq, allowed, shrunk, factor, rate,
    theta, slack, symmetric, at_value, sweeps, first_look, growth, bound, granted,
):  # fmt: skip
    """Fill ``bound`` and ``granted``; the products spent, or 0 where a norm is not finite."""
    count = rowptr.shape[0] - 1
    source, estimate = np.empty((count, 2)), np.empty((count, 2))
    found = np.zeros((splits.shape[0] - 1, 8))
    if not stages.sources(
        rowptr, col, value, splits, residual_sq, value_sq, bias_sq, allowed, slack, shrunk,
        at_value, source, estimate, found,
    ):  # fmt: skip
        return 0
    size, length = found[:, 4].sum(), found[:, 5].sum()
    scale, share, mean = np.empty(2), np.empty(2), np.empty(2)
    for c in range(2):
        scale[c] = max(found[:, c].max(), _TINY)
        share[c] = found[:, 2 + c].sum() / size * (factor / (1 - factor))
        mean[c] = (1 - theta) * (found[:, 6 + c].sum() / length + share[c])
    small, current = np.empty((count, 2), np.float32), np.empty((count, 2), np.float32)
    previous, inverse = np.empty((count, 2), np.float32), np.empty((count, 4), np.float32)
    images = np.empty((count, 2), np.float32)
    stages.start(splits, source, shrunk, scale, share, mean, small, current, previous, inverse)
    squared = factor * factor if symmetric else 0.0
    omega, look, spent = 1.0, first_look, 1
    while spent < sweeps:
        judged = growth > 0 and spent >= look
        stages.sweep(
            rowptr, col, value, splits, np.float32(factor), np.float32(omega), judged,
            inverse, small, current, previous, images, found,
        )  # fmt: skip
        previous, current = current, previous
        omega = 1 / (1 - squared * omega / (4 if spent > 1 else 2))
        spent += 1
        if judged:
            left = 0.0
            for c in range(2):
                grown = found[:, c].max() * ((1 + growth) / growth)
                left = max(left, min(grown, found[:, 2 + c].max() / (2 * growth)) * factor)
            if left <= 1:
                current = images
                break
            more = math.log(left) / -math.log(rate) if np.isfinite(left) else float(sweeps)
            look = spent - 1 + max(1, math.ceil(more / 2))
    for i in range(count):
        estimate[i, 0], estimate[i, 1] = scale[0] * current[i, 0], scale[1] * current[i, 1]
    stages.lifted(
        rowptr, col, value, splits, factor, theta, slack, growth, length, shrunk, source, estimate,
        at_value, found, bound, granted,
    )  # fmt: skip
    return spent


def bounded(
    sweeper: Sweeper,
    residual_sq: Tensor,
    value_sq: Tensor,
    bias_sq: Tensor,
    allowed: tuple[float, ...],
    at_value: bool,
    sweeps: int,
    enough: float,
) -> tuple[Tensor, Tensor, int]:
    """The bounds of ``Certifier`` and what of them is granted to rounding, both ``n``, and the sweeps spent.

    Args:
        sweeper: The operator K, with a vector that it shrinks.
        residual_sq: Squared norms of the rows of ``f(z) - z``, ``n``.
        value_sq: Squared norms of the rows of ``f(z)``, ``n``.
        bias_sq: Squared norms of the rows of b, ``n``.
        allowed: What rounding can have done to them: the fields of ``ALLOWANCE``.
        at_value: Whether the residual is that of the states themselves, and not of the z they are f of.
        sweeps: Products with K to spend at most.
        enough: Stop sweeping when the bounds are about this close, as a share.

    Returns:
        No sweeps were spent where a norm is not finite; then the bounds are not filled.
    """
    matrix = sweeper.adjacency.matrix
    few_threads(matrix.num_entries)
    bound, granted = torch.empty(2, matrix.shape[0], dtype=torch.float64)
    spent = _bounded(
        *matrix.arrays, matrix.splits, residual_sq.numpy(), value_sq.numpy(), bias_sq.numpy(),
        np.array([allowed], ALLOWANCE), sweeper.shrunk.view(-1).numpy(), sweeper.factor, sweeper.rate,
        float(sweeper.theta), sweeper.slack, sweeper.adjacency.symmetric, at_value, sweeps,
        sweeper.first_look, enough / 2, bound.numpy(), granted.numpy(),
    )  # fmt: skip
    return bound, granted, spent
