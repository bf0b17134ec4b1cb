"""The learned step compiled by numba: residual, momentum and both products while a block is in cache."""

from __future__ import annotations

import numba
import numpy as np
from numba import prange
from torch import Tensor

from .compiled import _threads
from .compiled_sweep import blas_alone
from .rowwise import PARALLEL

_BLOCK = 256


@numba.njit(**PARALLEL)
def _mix(z, image, previous, left, right, out, block):  # type: ignore[no-untyped-def]
    rows, width = z.shape
    rank = left.shape[1]
    full = right.shape[0] == 0
    momentum = left.shape[0] > width
    for part in prange((rows + block - 1) // block):
        begin = part * block
        end = min(begin + block, rows)
        regressors = np.empty((end - begin, left.shape[0]), z.dtype)
        for i in range(begin, end):
            for c in range(width):
                regressors[i - begin, c] = image[i, c] - z[i, c]
            if momentum:
                for c in range(width):
                    regressors[i - begin, width + c] = z[i, c] - previous[i, c]
        target = out[begin:end]
        if full:
            np.dot(regressors, left, target)
        else:
            mixed = np.empty((end - begin, rank), z.dtype)
            np.dot(regressors, left, mixed)
            np.dot(mixed, right, target)
        for i in range(begin, end):
            for c in range(width):
                out[i, c] += image[i, c]


def mix(
    z: Tensor, image: Tensor, previous: Tensor, left: Tensor, right: Tensor, out: Tensor
) -> Tensor:
    """``image + [image - z, z - previous] left right``; see ``kernels.mix``."""
    _threads()
    given = (one.contiguous().numpy() for one in (z, image, previous, left, right))
    with blas_alone():
        _mix(*given, out.numpy(), _BLOCK)
    return out
