"""The stages of a certificate's bounds, compiled by numba: the rows are shared between threads."""

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from . import bound_rows as rows

_PARALLEL = {**rows.CHECKED, "parallel": True}


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
