"""The stages of a certificate's bounds, compiled by numba: the rows are shared between threads."""

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from . import bound_rows as rows

_PARALLEL = {**rows.CHECKED, "parallel": True}
#: Sums of every part would be as large as the graph if it were in more pieces; for fewer rows one part will do.
_FEW_PIECES, _MANY_ROWS = 64, 2**13


@numba.njit(**_PARALLEL)
def sources(  # type: ignore[no-untyped-def]
    rowptr, col, value, splits, visits, residual_sq, value_sq, bias_sq, allowed, slack, shrunk, at_value,
    source, sizes, found,
):  # fmt: skip
    """Upper norms of the residual and what rounding can have done, into ``source``; whether all is finite."""
    for part in prange(splits.shape[0] - 1):
        rows.norms(
            splits[part], splits[part + 1], residual_sq, value_sq, bias_sq, allowed[0], at_value,
            source, sizes, found[part],
        )  # fmt: skip
    finite = found[:, 0].sum() == 0
    if finite:
        for part in prange(splits.shape[0] - 1):
            rows.errors(
                splits[part], splits[part + 1], visits, rowptr, col, value, allowed[0], slack,
                shrunk, sizes, source, found[part],
            )  # fmt: skip
    return finite


@numba.njit(**rows.CHECKED)
def shares(splits, source, shrunk, near, pieces, num_pieces, factor):  # type: ignore[no-untyped-def]
    """Factors that make the first estimate of each piece exact along v, where sweeps are slowest."""
    parts, count = splits.shape[0] - 1, shrunk.shape[0]
    if num_pieces > _FEW_PIECES or count < _MANY_ROWS:
        parts = 1
    overlap = np.zeros((parts, num_pieces, 4))
    if parts == 1:
        rows.overlaps(0, count, source, shrunk, near, pieces, overlap[0])
    else:
        _overlaps(splits, source, shrunk, near, pieces, overlap)
    share = np.empty((num_pieces, 2))
    for piece in range(num_pieces):
        for c in range(2):
            dot = size = 0.0
            for part in range(parts):
                dot += overlap[part, piece, c]
                size += overlap[part, piece, 2 + c]
            share[piece, c] = dot * (factor / (1 - factor)) / max(size, rows.TINY)
    return share


@numba.njit(**_PARALLEL)
def _overlaps(splits, source, shrunk, near, pieces, overlap):  # type: ignore[no-untyped-def]
    for part in prange(splits.shape[0] - 1):
        rows.overlaps(
            splits[part], splits[part + 1], source, shrunk, near, pieces, overlap[part]
        )  # fmt: skip


@numba.njit(**_PARALLEL)
def ended(splits, scale, source, current, estimate, beyond):  # type: ignore[no-untyped-def]
    """What sweeps gave, in float64, and what of it is new."""
    for part in prange(splits.shape[0] - 1):
        rows.ended(splits[part], splits[part + 1], scale, source, current, estimate, beyond)


@numba.njit(**_PARALLEL)
def start(  # type: ignore[no-untyped-def]
    splits, source, shrunk, near, pieces, scale, share, mean, small, current, previous, even
):
    """The scaled sources and the first estimate."""
    for part in prange(splits.shape[0] - 1):
        rows.start(
            splits[part], splits[part + 1], source, shrunk, near, pieces, scale, share, mean,
            small, current, previous, even,
        )  # fmt: skip


@numba.njit(**_PARALLEL)
def sweep(  # type: ignore[no-untyped-def]
    rowptr, col, value, splits, visits, factor, omega, look, even, small, current, previous, images,
    found,
):  # fmt: skip
    """One sweep."""
    for part in prange(splits.shape[0] - 1):
        rows.sweep(
            splits[part], splits[part + 1], visits, rowptr, col, value, factor, omega, look, even,
            small, current, previous, images, found[part],
        )  # fmt: skip


@numba.njit(**_PARALLEL)
def lifted(  # type: ignore[no-untyped-def]
    rowptr, col, value, splits, visits, factor, theta, slack, growth, length, shrunk, source, estimate,
    at_value, found, bound, granted,
):  # fmt: skip
    """Check the estimates in float64, grow and lift them to bounds."""
    for part in prange(splits.shape[0] - 1):
        rows.check(
            splits[part], splits[part + 1], visits, rowptr, col, value, factor * (1 + slack), growth,
            slack, shrunk, source, estimate, found[part],
        )  # fmt: skip
    lift, growths = np.full(2, np.inf), np.zeros(2)
    if np.isfinite(found[:, 6].sum()):
        for c in range(2):
            lift[c] = found[:, c].max() / (1 - theta) * (1 + slack)
            grown = found[:, 2 + c].max() / (1 - theta) * (1 + slack)
            # As they are or grown, whichever adds less.
            if growth * found[:, 4 + c].sum() + grown * length < lift[c] * length:
                lift[c], growths[c] = grown, growth
    for part in prange(splits.shape[0] - 1):
        rows.finish(
            splits[part], splits[part + 1], source, estimate, shrunk, growths, lift, slack,
            at_value, bound, granted,
        )  # fmt: skip
