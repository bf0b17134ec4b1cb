"""A sweep in place in plain torch: any device, any floating type; a loop over blocks of rows."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from .plain import activate

if TYPE_CHECKING:
    import numpy as np

    from ..sparse import SparseMatrix


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
    rows_before = projected[old : old + z.shape[0]]
    bounds = [int(row) for row in chunks]
    for first, last in pairwise(bounds):
        # What this chunk sees: its own rows as it updates them, all others as they were.
        seen = rows_before if old == new else rows_before.clone()
        for begin in range(first, last, block):
            rows = slice(begin, min(begin + block, last))
            y = (_rows(matrix, rows) @ seen).add_(bias[rows])
            out[rows] = y = activate(y, activation, None if scale is None else scale[rows])
            seen[rows] = y @ weight
        projected[new + first : new + last] = seen[first:last]
    return out, (out - z).square_().sum(-1), torch.linalg.vecdot(out, out)


def _rows(matrix: SparseMatrix, rows: slice) -> Tensor:
    rowptr = matrix.rowptr[rows.start : rows.stop + 1]
    entries = slice(int(rowptr[0]), int(rowptr[-1]))
    shape = (rows.stop - rows.start, matrix.shape[1])
    value = matrix.value.detach()[entries]
    return torch.sparse_csr_tensor(
        rowptr - rowptr[0], matrix.col[entries], value, shape, check_invariants=False
    )
