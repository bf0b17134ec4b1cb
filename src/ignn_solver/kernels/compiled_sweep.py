"""A sweep in place, compiled by numba: blocks of rows are updated from the newest states there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np
from numba import prange
from torch import Tensor

from .compiled import _threads
from .gathering import fetch_ahead, gather
from .rowwise import CODES, PARALLEL, SCALED, copy, finish
from .tiles import multiply, pack

if TYPE_CHECKING:
    from ..sparse import SparseMatrix


@numba.njit(**PARALLEL)
def _sweep(  # type: ignore[no-untyped-def]
    rowptr, col, value, projected, old, new, weight, bias, z, out, residual_sq, value_sq,
    chunks, block, code, scale, ahead,
):  # fmt: skip
    packed = pack(weight)
    for part in prange(chunks.shape[0] - 1):
        first = chunks[part]
        last = chunks[part + 1]
        for begin in range(first, last, block):
            end = min(begin + block, last)
            for i in range(begin, end):
                row = out[i]
                copy(bias[i], row)
                edges = rowptr[i], rowptr[i + 1]
                gather(
                    row, projected, col, value, edges[0], edges[1], first, begin, new, old, ahead
                )
                residual_sq[i], value_sq[i] = finish(row, z[i], scale[i], code)
            multiply(out, begin, end, packed, projected, new, False)


def sweep(
    matrix: SparseMatrix,
    projected: Tensor,
    old: int,
    new: int,
    weight: Tensor,
    bias: Tensor,
    z: Tensor,
    chunks: np.ndarray,
    block: int,
    activation: str | None,
    scale: Tensor | None,
    out: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """One sweep; see ``kernels.sweep``."""
    _threads()
    z, bias, weight = z.contiguous(), bias.contiguous(), weight.contiguous()
    code = SCALED if scale is not None else CODES[activation or "relu"]
    factor = bias if scale is None else scale.contiguous()
    residual_sq, value_sq = z.new_empty(2, z.shape[0])
    rowptr, col, value = matrix.arrays
    _sweep(
        rowptr, col, value, projected.numpy(), old, new, weight.numpy(), bias.numpy(), z.numpy(),
        out.numpy(), residual_sq.numpy(), value_sq.numpy(), chunks, block, code, factor.numpy(),
        fetch_ahead(bias.numpy()),
    )  # fmt: skip
    return out, residual_sq, value_sq
