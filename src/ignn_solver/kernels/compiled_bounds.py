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

from ..memory import Scratch
from . import bound_rows as rows
from . import bound_stages as stages
from .bound_rows import CHECKED, TINY
from .compiled import _threads

if TYPE_CHECKING:
    from ..certificate.bounds import Sweeper

#: With less work than this, waking a second thread takes longer than the loop.
_SERIAL_ENTRIES = 2**13
#: Two pairs of columns in float64, and five in float32, for the work on the way.
_WIDE, _NARROW = Scratch(), Scratch()
_SINGLE = torch.empty(0, dtype=torch.float32)
_NOWHERE = np.empty((0, 2))


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
def _guessed(  # type: ignore[no-untyped-def]
    rowptr, residual_sq, value_sq, bias_sq, allowed, shrunk, pieces, num_pieces, factor, bound, granted
):  # fmt: skip
    """Fill ``bound`` and ``granted`` by estimates; whether they are finite."""
    sums = np.zeros((num_pieces, 3))
    rows.alone(
        rowptr, residual_sq, value_sq, bias_sq, allowed[0], shrunk, pieces, bound, granted, sums
    )
    return rows.along(shrunk, pieces, sums, factor / (1 - factor), bound, granted)


@numba.njit(**CHECKED)
def _bounded(  # type: ignore[no-untyped-def]
    rowptr, col, value, splits, visits, residual_sq, value_sq, bias_sq, allowed, shrunk, factor, rate,
    theta, slack, symmetric, at_value, sweeps, first_look, growth, near, pieces, num_pieces, wide,
    narrow, bound, granted, beyond,
):  # fmt: skip
    """Fill ``bound``, ``granted`` and ``beyond``; the products spent.

    That is 0 where a norm is not finite.
    """
    source, estimate = wide[0], wide[1]
    found = np.zeros((splits.shape[0] - 1, 8))
    if not stages.sources(
        rowptr, col, value, splits, visits, residual_sq, value_sq, bias_sq, allowed, slack, shrunk,
        at_value, source, estimate, found,
    ):  # fmt: skip
        return 0
    length = found[:, 2].sum()
    share = stages.shares(splits, source, shrunk, near, pieces, num_pieces, factor)
    scale, total, mean = np.empty(2), np.empty(2), np.empty(2)
    for c in range(2):
        scale[c], total[c] = max(found[:, c].max(), TINY), found[:, 3 + c].sum()
        # An estimate is about 1 / (1 - factor) of its source, and v may be added in proportion.
        mean[c] = (1 - theta) * total[c] / length / (1 - factor)
    small, even, images, current, previous = narrow[0], narrow[1], narrow[2], narrow[3], narrow[4]
    stages.start(
        splits, source, shrunk, near, pieces, scale, share, mean, small, current, previous, even
    )
    squared = factor * factor if symmetric else 0.0
    omega, look, spent = 1.0, first_look, 1
    while spent < sweeps:
        judged = growth > 0 and spent >= look
        stages.sweep(
            rowptr, col, value, splits, visits, np.float32(factor), np.float32(omega), judged,
            even, small, current, previous, images, found,
        )  # fmt: skip
        previous, current = current, previous
        omega = 1 / (1 - squared * omega / (4 if spent > 1 else 2))
        spent += 1
        if judged:
            left = 0.0
            for c in range(2):
                grown = found[:, c].max() * ((1 + growth) / growth)
                lacking = min(grown, found[:, 2 + c].max() / (2 * growth)) * factor
                left += lacking * (total[c] / max(total[0] + total[1], TINY))
            if left <= 1:
                current = images
                break
            more = math.log(left) / -math.log(rate) if np.isfinite(left) else float(sweeps)
            look = spent - 1 + max(1, math.ceil(more / 2))
    stages.ended(splits, scale, source, current, estimate, beyond)
    stages.lifted(
        rowptr, col, value, splits, visits, factor, theta, slack, growth, length, shrunk, source, estimate,
        at_value, found, bound, granted,
    )  # fmt: skip
    return spent


def bounded(
    sweeper: Sweeper,
    residual_sq: Tensor,
    value_sq: Tensor,
    bias_sq: Tensor,
    allowed: np.ndarray,
    at_value: bool,
    sweeps: int,
    enough: float,
    near: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, int]:
    """The bounds of ``Certifier``, what of them is granted to rounding, where to begin nearby, and the sweeps.

    Args:
        sweeper: The operator K, with a vector that it shrinks.
        residual_sq: Squared norms of the rows of ``f(z) - z``, ``n``.
        value_sq: Squared norms of the rows of ``f(z)``, ``n``.
        bias_sq: Squared norms of the rows of b, ``n``.
        allowed: What rounding can have done to them: one ``ALLOWANCE``.
        at_value: Whether the residual is that of the states themselves, and not of the z they are f of.
        sweeps: Products with K to spend at most.
        enough: Stop sweeping when the bounds are about this close, as a share.
        near: Where to begin, from states not far away: the third of what was returned for them, ``n x 2``.

    Returns:
        No sweeps were spent where a norm is not finite; then nothing is filled.
    """
    matrix, layout = sweeper.adjacency.matrix, sweeper.layout
    assert layout is not None
    few_threads(matrix.num_entries)
    bound = torch.empty(matrix.shape[0], dtype=torch.float64)
    granted, beyond = torch.empty_like(bound), bound.new_empty(matrix.shape[0], 2)
    shape = (matrix.shape[0], 2)
    wide, narrow = _WIDE.like(bound, (2, *shape)), _NARROW.like(_SINGLE, (5, *shape))
    start = _NOWHERE if near is None else near.numpy()
    first_look = sweeper.first_look if near is None else 1
    spent = _bounded(
        *layout.rows, matrix.splits, layout.visits, residual_sq.numpy(), value_sq.numpy(), bias_sq.numpy(),
        allowed, sweeper.shrunk.view(-1).numpy(), sweeper.factor, sweeper.rate,
        float(sweeper.theta), sweeper.slack, sweeper.adjacency.symmetric, at_value, sweeps,
        first_look, enough / 2, start, layout.pieces, layout.num_pieces, wide.numpy(),
        narrow.numpy(), bound.numpy(), granted.numpy(), beyond.numpy(),
    )  # fmt: skip
    return bound, granted, beyond, spent


def guessed(
    sweeper: Sweeper,
    residual_sq: Tensor,
    value_sq: Tensor,
    bias_sq: Tensor,
    allowed: np.ndarray,
) -> tuple[Tensor, Tensor] | None:
    """About what :func:`bounded` gives for f(z), in no product: it proves nothing.

    Errors are taken to lie along v on each piece of the graph, which is where they live longest.

    Returns:
        The bounds and what of them is granted to rounding; ``None`` where a norm is not finite.
    """
    layout = sweeper.layout
    assert layout is not None
    bound = torch.empty(residual_sq.shape[0], dtype=torch.float64)
    granted = torch.empty_like(bound)
    finite = _guessed(
        sweeper.adjacency.matrix.arrays[0], residual_sq.numpy(), value_sq.numpy(), bias_sq.numpy(),
        allowed, sweeper.shrunk.view(-1).numpy(), layout.pieces, layout.num_pieces, sweeper.factor,
        bound.numpy(), granted.numpy(),
    )  # fmt: skip
    return (bound, granted) if finite else None
