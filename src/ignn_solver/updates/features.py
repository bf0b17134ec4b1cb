"""Rows of feature matrices, dense or sparse: take, replace, append."""

from __future__ import annotations

import torch
from torch import Tensor

from ..kernels.rows import row_entries
from ..sparse import SparseMatrix


def take_rows(x: Tensor, rows: Tensor) -> Tensor:
    """``x[rows]`` for dense or sparse ``x``, in the same layout."""
    if x.layout == torch.strided:
        return x[rows]
    matrix = SparseMatrix.from_torch(x)
    place, owner = row_entries(matrix, rows)
    count = torch.bincount(owner, minlength=rows.numel())
    rowptr = torch.cat([count.new_zeros(1), count.cumsum(0)])
    taken = SparseMatrix(rowptr, matrix.col[place], matrix.value[place], (rows.numel(), x.shape[1]))
    return taken.as_torch()


def replace_rows(x: Tensor, rows: Tensor, new: Tensor, in_place: bool = False) -> Tensor:
    """``x`` with some rows replaced by dense ones; a sparse ``x`` stays sparse, and is copied."""
    if x.layout == torch.strided:
        result = x if in_place else x.clone()
        result[rows] = new.to(x.dtype)
        return result
    matrix = SparseMatrix.from_torch(x)
    replaced = torch.zeros(x.shape[0], dtype=torch.bool)
    replaced[rows] = True
    kept = ~replaced[matrix.row.long()]
    local, col = new.nonzero(as_tuple=True)
    return SparseMatrix.from_coo(
        torch.cat([matrix.row[kept].long(), rows.long()[local]]),
        torch.cat([matrix.col[kept].long(), col]),
        torch.cat([matrix.value[kept], new[local, col].to(matrix.value.dtype)]),
        matrix.shape,
    ).as_torch()


def append_rows(x: Tensor, new: Tensor) -> Tensor:
    """``x`` with dense rows after the last; a sparse ``x`` stays sparse."""
    if x.layout == torch.strided:
        return torch.cat([x, new.to(x.dtype)])
    matrix = SparseMatrix.from_torch(x)
    more = SparseMatrix.from_torch(new.to(matrix.value.dtype).to_sparse_csr())
    return SparseMatrix(
        torch.cat([matrix.rowptr.long(), matrix.rowptr[-1].long() + more.rowptr[1:].long()]),
        torch.cat([matrix.col, more.col]),
        torch.cat([matrix.value, more.value]),
        (x.shape[0] + new.shape[0], x.shape[1]),
    ).as_torch()
