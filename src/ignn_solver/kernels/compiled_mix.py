"""What happens to each number around products in bfloat16, compiled by numba: one pass before, one after."""

from __future__ import annotations

import numba
from numba import prange
from torch import Tensor

from .compiled import _threads, as_numpy
from .rowwise import PARALLEL, rounded, widened


@numba.njit(**PARALLEL)
def _differences(x, y, out):  # type: ignore[no-untyped-def]
    for i in prange(x.shape[0]):
        for c in range(x.shape[1]):
            out[i, c] = rounded(x[i, c] - y[i, c])


@numba.njit(**PARALLEL)
def _regressors(image, z, previous, out):  # type: ignore[no-untyped-def]
    width = z.shape[1]
    for i in prange(z.shape[0]):
        for c in range(width):
            out[i, c] = rounded(image[i, c] - z[i, c])
            out[i, width + c] = rounded(z[i, c] - previous[i, c])


@numba.njit(**PARALLEL)
def _sum(image, correction, out):  # type: ignore[no-untyped-def]
    for i in prange(image.shape[0]):
        for c in range(image.shape[1]):
            out[i, c] = image[i, c] + widened(correction[i, c])


def differences(x: Tensor, y: Tensor, out: Tensor) -> None:
    """Put ``x - y`` into ``out``, bfloat16."""
    _threads()
    _differences(as_numpy(x), as_numpy(y), as_numpy(out))


def regressors(image: Tensor, z: Tensor, previous: Tensor, out: Tensor) -> None:
    """Put ``[image - z, z - previous]`` into ``out``, bfloat16; only the former where that has no more columns."""
    _threads()
    if out.shape[1] == z.shape[1]:
        _differences(as_numpy(image), as_numpy(z), as_numpy(out))
    else:
        _regressors(as_numpy(image), as_numpy(z), as_numpy(previous), as_numpy(out))


def add(image: Tensor, correction: Tensor, out: Tensor) -> None:
    """Put ``image + correction`` into ``out``; the correction is bfloat16, all else float32."""
    _threads()
    _sum(as_numpy(image), as_numpy(correction), as_numpy(out))
