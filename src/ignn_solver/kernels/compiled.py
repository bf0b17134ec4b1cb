"""The kernels compiled by numba: rows are shared between threads so that each has as many edges.

Compilation takes a few seconds once per machine; the result is cached on disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np
import torch
from numba import prange
from torch import Tensor

if TYPE_CHECKING:
    from ..sparse import SparseMatrix

# Sums may be reordered and multiplications fused, so that the loops vectorise; NaN and infinity keep
# their meaning, because the solvers look for them.
_FLAGS: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    "nogil": True,
    "parallel": True,
}
_CODES = {"relu": 0, "tanh": 1, "sigmoid": 2}


@numba.njit(**_FLAGS)
def _spmm(rowptr, col, value, x, out, splits):  # type: ignore[no-untyped-def]
    width = x.shape[1]
    for part in prange(splits.shape[0] - 1):
        for i in range(splits[part], splits[part + 1]):
            out[i, :] = 0
            for edge in range(rowptr[i], rowptr[i + 1]):
                j = col[edge]
                weight = value[edge]
                for c in range(width):
                    out[i, c] += weight * x[j, c]


@numba.njit(**_FLAGS)
def _evaluate(  # type: ignore[no-untyped-def]
    rowptr, col, value, projected, bias, z, out, residual_sq, value_sq, splits, code, scale
):
    width = projected.shape[1]
    for part in prange(splits.shape[0] - 1):
        row = np.empty(width, projected.dtype)
        zero = projected.dtype.type(0)
        one = projected.dtype.type(1)
        for i in range(splits[part], splits[part + 1]):
            for c in range(width):
                row[c] = bias[i, c]
            for edge in range(rowptr[i], rowptr[i + 1]):
                j = col[edge]
                weight = value[edge]
                for c in range(width):
                    row[c] += weight * projected[j, c]
            if code == 0:
                for c in range(width):
                    # Written so that NaN stays NaN.
                    row[c] = zero if row[c] < zero else row[c]
            elif code == 1:
                for c in range(width):
                    row[c] = np.tanh(row[c])
            elif code == 2:
                for c in range(width):
                    row[c] = one / (one + np.exp(-row[c]))
            else:
                for c in range(width):
                    row[c] *= scale[i, c]
            residual = zero
            size = zero
            for c in range(width):
                difference = row[c] - z[i, c]
                residual += difference * difference
                size += row[c] * row[c]
                out[i, c] = row[c]
            residual_sq[i] = residual
            value_sq[i] = size


def _threads() -> None:
    numba.set_num_threads(max(1, min(torch.get_num_threads(), numba.config.NUMBA_NUM_THREADS)))


def spmm(matrix: SparseMatrix, x: Tensor) -> Tensor:
    """The product ``matrix @ x``."""
    _threads()
    x = x.detach().contiguous()
    out = x.new_empty(matrix.shape[0], x.shape[1])
    rowptr, col, value = matrix.arrays
    _spmm(rowptr, col, value, x.numpy(), out.numpy(), matrix.splits)
    return out


def evaluate(
    matrix: SparseMatrix,
    projected: Tensor,
    bias: Tensor,
    z: Tensor,
    activation: str | None,
    scale: Tensor | None,
    out: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """``y = act(matrix @ projected + bias)`` with the squared row norms of ``y - z`` and ``y``."""
    _threads()
    z, projected, bias = z.contiguous(), projected.contiguous(), bias.contiguous()
    if out is None:
        out = torch.empty_like(z)
    code = 3 if scale is not None else _CODES[activation or "relu"]
    factor = bias if scale is None else scale.contiguous()
    residual_sq, value_sq = z.new_empty(2, z.shape[0])
    rowptr, col, value = matrix.arrays
    _evaluate(
        rowptr, col, value, projected.numpy(), bias.numpy(), z.numpy(), out.numpy(),
        residual_sq.numpy(), value_sq.numpy(), matrix.splits, code, factor.numpy(),
    )  # fmt: skip
    return out, residual_sq, value_sq
