"""The kernels compiled by numba: rows are shared between threads so that each has as many edges.

Compilation takes a few seconds once per machine; the result is cached on disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np
import torch
from numba import prange
from torch import Tensor

from .gathering import fetch_ahead, gather, relu_rows, sum_rows
from .rowwise import CODES, SCALED, SERIAL, copy, finish
from .rowwise import PARALLEL as _FLAGS
from .tiles import ROWS, multiply, pack

if TYPE_CHECKING:
    from ..sparse import SparseMatrix

#: Vectors of a few entries that have to be collected are slower than these one by one.
_IN_ORDER = {**_FLAGS, "fastmath": {"contract"}}
_ONE = np.uint64(1)


@numba.njit(**_FLAGS)
def _spmm(rowptr, col, value, x, out, splits, ahead):  # type: ignore[no-untyped-def]
    for part in prange(splits.shape[0] - 1):
        sum_rows(splits[part], splits[part + 1], rowptr, x, col, value, out, 0, False, ahead, 0)


@numba.njit(**_IN_ORDER)
def _multiply_vector(rowptr, col, value, x, out, splits):  # type: ignore[no-untyped-def]
    for part in prange(splits.shape[0] - 1):
        edge = np.uint64(rowptr[splits[part]])
        for i in range(splits[part], splits[part + 1]):
            last, total = np.uint64(rowptr[i + 1]), x.dtype.type(0)
            while edge < last:
                total += value[edge] * x[col[edge]]
                edge += _ONE
            out[i] = total


@numba.njit(**SERIAL)
def _evaluated_rows(  # type: ignore[no-untyped-def]
    first, last, rowptr, col, value, projected, old, ahead, bias, z, out, inputs, residual_sq, value_sq,
    code, scale,
):  # fmt: skip
    """Rows of an evaluation; row j of the products lies at ``old + j`` in ``projected``."""
    if code == 0 and inputs.shape[0] == 0:
        relu_rows(
            first, last, rowptr, projected, col, value, old, ahead, bias, z, out, residual_sq, value_sq
        )  # fmt: skip
        return
    for i in range(first, last):
        row = out[i]
        copy(bias[i], row)
        gather(row, projected, col, value, rowptr[i], rowptr[i + 1], 0, 0, 0, old, ahead)
        if inputs.shape[0] > 0:
            copy(row, inputs[i])
        residual_sq[i], value_sq[i] = finish(row, z[i], scale[i], code)


@numba.njit(**_FLAGS)
def _evaluate(  # type: ignore[no-untyped-def]
    rowptr, col, value, projected, bias, z, out, inputs, residual_sq, value_sq, splits, code, scale, ahead
):  # fmt: skip
    for part in prange(splits.shape[0] - 1):
        _evaluated_rows(
            splits[part], splits[part + 1], rowptr, col, value, projected, 0, ahead, bias, z, out, inputs,
            residual_sq, value_sq, code, scale,
        )  # fmt: skip


@numba.njit(**_FLAGS)
def _evaluate_blocks(  # type: ignore[no-untyped-def]
    rowptr, col, value, z, packed, bias, out, residual_sq, value_sq, blocks, most, parts, code, scale
):  # fmt: skip
    rows, width = z.shape
    count = blocks.shape[0] - 1
    for part in prange(parts):
        projected = np.empty((most + ROWS, width), z.dtype)
        for block in range(part * count // parts, (part + 1) * count // parts):
            first, last = blocks[block], blocks[block + 1]
            # A few rows too many cost less than an incomplete tile.
            many = (last - first + ROWS - 1) // ROWS * ROWS
            multiply(z, first, min(first + many, rows), packed, projected, -first, False)
            _evaluated_rows(
                first, last, rowptr, col, value, projected, -first, 0, bias, z, out, out[:0],
                residual_sq, value_sq, code, scale,
            )  # fmt: skip


@numba.njit(**_FLAGS)
def _row_squares(x, out):  # type: ignore[no-untyped-def]
    for i in prange(x.shape[0]):
        total = x.dtype.type(0)
        for c in range(x.shape[1]):
            total += x[i, c] * x[i, c]
        out[i] = total


def _threads() -> None:
    wanted = torch.get_num_threads()
    numba.set_num_threads(max(1, min(wanted, numba.config.NUMBA_NUM_THREADS)))
    if torch.get_num_threads() != wanted:
        # Where both use one OpenMP library, numba sets the number for torch too when it starts its threads.
        torch.set_num_threads(wanted)


def as_numpy(x: Tensor) -> np.ndarray:
    """The numbers of ``x``, not copied; of bfloat16, which numpy lacks, their bits."""
    return x.view(torch.uint16).numpy() if x.dtype == torch.bfloat16 else x.numpy()


def spmm(matrix: SparseMatrix, x: Tensor) -> Tensor:
    """The product ``matrix @ x``."""
    _threads()
    x = x.detach().contiguous()
    out = x.new_empty(matrix.shape[0], x.shape[1])
    rowptr, col, value = matrix.arrays
    given = x.numpy()
    if x.shape[1] == 1:
        _multiply_vector(rowptr, col, value, given[:, 0], out.numpy()[:, 0], matrix.splits)
        return out
    _spmm(rowptr, col, value, given, out.numpy(), matrix.splits, fetch_ahead(given))
    return out


def row_squares(x: Tensor) -> Tensor:
    """The squared norm of each row."""
    _threads()
    out = x.new_empty(x.shape[0])
    _row_squares(x.detach().contiguous().numpy(), out.numpy())
    return out


def evaluate(
    matrix: SparseMatrix,
    projected: Tensor,
    bias: Tensor,
    z: Tensor,
    activation: str | None,
    scale: Tensor | None,
    out: Tensor | None,
    inputs: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """``y = act(matrix @ projected + bias)`` with the squared row norms of ``y - z`` and ``y``."""
    _threads()
    z, projected, bias = z.contiguous(), projected.contiguous(), bias.contiguous()
    if out is None:
        out = torch.empty_like(z)
    code = SCALED if scale is not None else CODES[activation or "relu"]
    factor = bias if scale is None else scale.contiguous()
    residual_sq, value_sq = z.new_empty(2, z.shape[0])
    rowptr, col, value = matrix.arrays
    given = as_numpy(projected)
    kept = z.new_empty(0, z.shape[1]) if inputs is None else inputs
    _evaluate(
        rowptr, col, value, given, bias.numpy(), z.numpy(), out.numpy(), kept.numpy(),
        residual_sq.numpy(), value_sq.numpy(), matrix.splits, code, factor.numpy(), fetch_ahead(given),
    )  # fmt: skip
    return out, residual_sq, value_sq


def evaluate_blocks(
    matrix: SparseMatrix,
    blocks: np.ndarray,
    weight: Tensor,
    bias: Tensor,
    z: Tensor,
    activation: str | None,
    scale: Tensor | None,
    out: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """See ``kernels.evaluate_blocks``."""
    _threads()
    z, bias = z.contiguous(), bias.contiguous()
    if out is None:
        out = torch.empty_like(z)
    code = SCALED if scale is not None else CODES[activation or "relu"]
    factor = bias if scale is None else scale.contiguous()
    residual_sq, value_sq = z.new_empty(2, z.shape[0])
    rowptr, col, value = matrix.arrays
    packed, most = pack(weight.contiguous().numpy()), int(np.diff(blocks).max())
    parts = min(blocks.shape[0] - 1, matrix.splits.shape[0] - 1)
    _evaluate_blocks(
        rowptr, col, value, z.numpy(), packed, bias.numpy(), out.numpy(),
        residual_sq.numpy(), value_sq.numpy(), blocks, most, parts, code, factor.numpy(),
    )  # fmt: skip
    return out, residual_sq, value_sq
