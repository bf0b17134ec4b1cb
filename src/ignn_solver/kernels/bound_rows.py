"""What each stage of a certificate's bounds does to some rows, compiled by numba.

Sums may be fused, but nothing else may be changed: a proof rests on every rounding. What a stage finds of
its rows goes to ``found``, a few numbers. In stages that multiply by A, ``rowptr``,
``col`` and ``value`` hold the rows in the order of ``visits``.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from .pairs import pair_product

CHECKED: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "nogil": True,
}
_EPSILON = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)


@numba.njit(**CHECKED, inline="always")
def upper(square, grown, lost):  # type: ignore[no-untyped-def]
    """An upper bound on a norm, from its computed square."""
    return math.sqrt(np.float64(square) * grown + lost)


@numba.njit(**CHECKED, inline="always")
def rounded(entries, spread, bias, size, allowed):  # type: ignore[no-untyped-def]
    """What rounding can have done to a row of f(z) of so many entries."""
    terms = (entries + 3) * allowed.roundoff
    gamma = terms / (1 - terms) if terms < 1 else np.inf
    share = allowed.projected + gamma * (allowed.factor + allowed.projected)
    error = share * spread + gamma * bias + allowed.activation * size
    return (error + allowed.underflow * (entries + 1)) * (1 + 1e-12 + 1e-15 * entries)


@numba.njit(**CHECKED)
def norms(first, last, residual_sq, value_sq, bias_sq, allowed, at_value, source, sizes, found):  # type: ignore[no-untyped-def]
    """Upper norms of the residual and of b, of z and of f(z); how many rows have one that is not finite."""
    grown, lost = allowed.grown, allowed.lost
    residual_grown, residual_lost = allowed.residual_grown, allowed.residual_lost
    broken = 0
    for i in range(first, last):
        residual = upper(residual_sq[i], residual_grown, residual_lost)
        size = upper(value_sq[i], grown, lost)
        whole = size if at_value else size + residual
        source[i, 0], source[i, 1] = residual, upper(bias_sq[i], grown, lost)
        sizes[i, 0], sizes[i, 1] = whole, size
        broken += 0 if whole + residual < np.inf else 1
    found[0] = broken


@numba.njit(**CHECKED)
def errors(  # type: ignore[no-untyped-def]
    first, last, visits, rowptr, col, value, allowed, slack, shrunk, sizes, source, found
):
    """What rounding can have done to f(z), in place of the norm of b; maxima and sums of both sources."""
    most = most_error = length = total = total_error = 0.0
    for place in range(first, last):
        i = visits[place]
        entries = rowptr[place + 1] - rowptr[place]
        spread, _ = pair_product(col, value, sizes, rowptr[place], rowptr[place + 1])
        residual = source[i, 0]
        error = rounded(entries, spread * (1 + slack), source[i, 1], sizes[i, 1], allowed)
        source[i, 1] = error
        most, most_error = max(most, residual), max(most_error, error)
        length += shrunk[i]
        total += residual
        total_error += error
    found[0], found[1], found[2], found[3], found[4] = most, most_error, length, total, total_error


@numba.njit(**CHECKED)
def overlaps(first, last, source, shrunk, near, pieces, overlap):  # type: ignore[no-untyped-def]
    """Add up, for each piece and both columns, v times the sources and v times where the estimate begins."""
    known = near.shape[0] > 0
    for i in range(first, last):
        piece, weight = pieces[i], shrunk[i]
        overlap[piece, 0] += source[i, 0] * weight
        overlap[piece, 1] += source[i, 1] * weight
        overlap[piece, 2] += (near[i, 0] if known else weight) * weight
        overlap[piece, 3] += (near[i, 1] if known else weight) * weight


@numba.njit(**CHECKED)
def start(  # type: ignore[no-untyped-def]
    first, last, source, shrunk, near, pieces, scale, share, mean, small, current, previous, even
):
    """In float32, against their scale: the sources, the first estimate, and what may be missing of it."""
    unit, unit_error = 1 / scale[0], 1 / scale[1]
    even_share, even_share_error = mean[0] * unit, mean[1] * unit_error
    for i in range(first, last):
        piece = pieces[i]
        small[i, 0], small[i, 1] = source[i, 0] * unit, source[i, 1] * unit_error
        even[i, 0], even[i, 1] = even_share * shrunk[i], even_share_error * shrunk[i]
        known = near.shape[0] > 0
        beyond = near[i, 0] if known else shrunk[i]
        beyond_error = near[i, 1] if known else shrunk[i]
        estimate = source[i, 0] + share[piece, 0] * beyond
        estimate_error = source[i, 1] + share[piece, 1] * beyond_error
        current[i, 0], current[i, 1] = estimate * unit, estimate_error * unit_error
        previous[i, 0], previous[i, 1] = current[i, 0], current[i, 1]


@numba.njit(**CHECKED, inline="always")
def _larger(most, number, over):  # type: ignore[no-untyped-def]
    """The larger of ``most`` and ``number / over``; a division takes longer than all the rest, and is rare."""
    return number / over if number > most * over else most


@numba.njit(**CHECKED)
def sweep(  # type: ignore[no-untyped-def]
    first, last, visits, rowptr, col, value, factor, omega, look, even, small, current, previous,
    images, found,
):  # fmt: skip
    """The next estimate, in place of the previous one; if asked, the image of the current one and what it lacks."""
    plain = plain_error = grown = grown_error = np.float32(0)
    for place in range(first, last):
        i = visits[place]
        product, product_error = pair_product(col, value, current, rowptr[place], rowptr[place + 1])
        # Both columns are read before either is written, so that they can be handled as one.
        part, part_error = small[i, 0], small[i, 1]
        before, before_error = previous[i, 0], previous[i, 1]
        image, image_error = part + factor * product, part_error + factor * product_error
        next_one = before + omega * (image - before)
        next_error = before_error + omega * (image_error - before_error)
        if look:
            now, now_error = current[i, 0], current[i, 1]
            added, added_error = even[i, 0], even[i, 1]
            gap, gap_error = abs(image - now), abs(image_error - now_error)
            grown = _larger(grown, gap, part + added)
            grown_error = _larger(grown_error, gap_error, part_error + added_error)
            plain = _larger(plain, gap, added)
            plain_error = _larger(plain_error, gap_error, added_error)
            images[i, 0], images[i, 1] = image, image_error
        previous[i, 0], previous[i, 1] = next_one, next_error
    found[0], found[1], found[2], found[3] = grown, grown_error, plain, plain_error


@numba.njit(**CHECKED)
def ended(first, last, scale, source, current, estimate, beyond):  # type: ignore[no-untyped-def]
    """What sweeps gave, in float64, and what of it is new."""
    for i in range(first, last):
        # What a product of these rounds is small against it only if nothing cancels; NaN stays NaN.
        whole, error = scale[0] * current[i, 0], scale[1] * current[i, 1]
        whole, error = 0.0 if whole < 0 else whole, 0.0 if error < 0 else error
        estimate[i, 0], estimate[i, 1] = whole, error
        beyond[i, 0], beyond[i, 1] = whole - source[i, 0], error - source[i, 1]


@numba.njit(**CHECKED)
def check(  # type: ignore[no-untyped-def]
    first, last, visits, rowptr, col, value, factor, growth, slack, shrunk, source, estimate, found
):
    """By how much of v the estimates fall short, as they are and grown; NaN may be lost there, but not in a sum."""
    gap = gap_error = grown = grown_error = whole = whole_error = total = 0.0
    for place in range(first, last):
        i = visits[place]
        product, product_error = pair_product(
            col, value, estimate, rowptr[place], rowptr[place + 1]
        )
        image = (source[i, 0] + factor * product) * (1 + slack) - estimate[i, 0]
        image_error = (source[i, 1] + factor * product_error) * (1 + slack) - estimate[i, 1]
        # What these comparisons round is far less than the slack that is added in the end.
        gap, gap_error = (
            _larger(gap, image, shrunk[i]),
            _larger(gap_error, image_error, shrunk[i]),
        )
        more = (1 + growth) * image - growth * source[i, 0]
        more_error = (1 + growth) * image_error - growth * source[i, 1]
        grown = _larger(grown, more, shrunk[i])
        grown_error = _larger(grown_error, more_error, shrunk[i])
        total += image + image_error
        whole += estimate[i, 0]
        whole_error += estimate[i, 1]
    found[0], found[1], found[2], found[3] = gap, gap_error, grown, grown_error
    found[4], found[5], found[6] = whole, whole_error, total


@numba.njit(**CHECKED)
def finish(  # type: ignore[no-untyped-def]
    first, last, source, estimate, shrunk, growth, lift, slack, at_value, bound, granted
):
    """The estimates, lifted to bounds: of the distance from f(z), or from z itself, and of what is granted."""
    for i in range(first, last):
        whole = ((1 + growth[0]) * estimate[i, 0] + lift[0] * shrunk[i]) * (1 + slack)
        if not at_value:
            whole = whole * (1 + _EPSILON) - source[i, 0]
        granted[i] = ((1 + growth[1]) * estimate[i, 1] + lift[1] * shrunk[i]) * (1 + slack)
        bound[i] = (whole + granted[i]) * (1 + 4 * _EPSILON)


@numba.njit(**CHECKED)
def alone(  # type: ignore[no-untyped-def]
    rowptr, residual_sq, value_sq, bias_sq, allowed, shrunk, pieces, bound, granted, sums
):
    """Each row's residual, and its rounding if neighbours are as large as it; sums of v times both, and of v."""
    for i in range(bound.shape[0]):
        residual = upper(residual_sq[i], allowed.residual_grown, allowed.residual_lost)
        size = upper(value_sq[i], allowed.grown, allowed.lost)
        bias = upper(bias_sq[i], allowed.grown, allowed.lost)
        error = rounded(rowptr[i + 1] - rowptr[i], size + residual, bias, size, allowed)
        bound[i], granted[i] = residual, error
        piece, weight = pieces[i], shrunk[i]
        sums[piece, 0] += residual * weight
        sums[piece, 1] += error * weight
        sums[piece, 2] += weight * weight


@numba.njit(**CHECKED)
def along(shrunk, pieces, sums, series, bound, granted):  # type: ignore[no-untyped-def]
    """What comes of both in the long run, along v: ``series`` times their share of it; whether all is finite."""
    total = 0.0
    for i in range(bound.shape[0]):
        piece = pieces[i]
        weight = shrunk[i] * series / max(sums[piece, 2], TINY)
        granted[i] += sums[piece, 1] * weight
        bound[i] = sums[piece, 0] * weight + granted[i]
        total += bound[i]
    return np.isfinite(total)
