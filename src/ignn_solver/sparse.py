"""A sparse matrix in compressed rows, with the one sparse product that everything calls."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from . import kernels
from .errors import InputError

_PARTS_PER_THREAD = 8


class SparseMatrix:
    """A sparse ``rows x columns`` matrix in compressed row (CSR) form.

    Indices are 32-bit where they fit. The transpose and the split of rows between threads are made once,
    when first needed. ``value`` may require gradients.

    Args:
        rowptr: Start of each row's entries, ``rows + 1``.
        col: Column of each entry.
        value: Value of each entry.
        shape: ``(rows, columns)``.
        symmetric: Whether the matrix is its own transpose.
    """

    def __init__(
        self,
        rowptr: Tensor,
        col: Tensor,
        value: Tensor,
        shape: tuple[int, int],
        symmetric: bool = False,
    ) -> None:
        small = col.numel() < 2**31 - 1 and max(shape) < 2**31 - 1
        index = torch.int32 if small else torch.int64
        self.rowptr = rowptr.to(index)
        self.col = col.to(index)
        self.value = value
        self.shape = shape
        self.symmetric = symmetric

    @classmethod
    def from_coo(
        cls,
        row: Tensor,
        col: Tensor,
        value: Tensor,
        shape: tuple[int, int],
        reduce: str = "sum",
    ) -> SparseMatrix:
        """From entries in any order; entries at the same place are merged by ``sum`` or ``amax``."""
        key = row.long() * shape[1] + col.long()
        ordered, order = torch.sort(key)
        del key
        fresh = torch.ones_like(ordered, dtype=torch.bool)
        fresh[1:] = ordered[1:] != ordered[:-1]
        kept = ordered[fresh]
        value = value[order]
        if kept.numel() < ordered.numel():
            slot = fresh.cumsum(0) - 1
            merged = value.new_zeros(kept.numel())
            value = merged.scatter_reduce(0, slot, value, reduce, include_self=False)
        rowptr = torch.zeros(shape[0] + 1, dtype=torch.int64, device=row.device)
        torch.cumsum(torch.bincount(kept // shape[1], minlength=shape[0]), 0, out=rowptr[1:])
        return cls(rowptr, kept % shape[1], value, shape)

    @classmethod
    def from_torch(cls, matrix: Tensor) -> SparseMatrix:
        """From a torch sparse tensor of any layout."""
        if matrix.dim() != 2:
            raise InputError(f"a sparse matrix has 2 dimensions, not {matrix.dim()}")
        csr = matrix if matrix.layout == torch.sparse_csr else matrix.to_sparse_csr()
        shape = (int(csr.shape[0]), int(csr.shape[1]))
        values = csr.values()
        # Values keep the whole tensor alive, unlike its indices: what is cached for as long as it lives would
        # be kept forever.
        values = values if values.requires_grad else values.detach()
        return cls(csr.crow_indices(), csr.col_indices(), values, shape)

    @property
    def num_entries(self) -> int:
        """How many entries are stored."""
        return self.col.numel()

    @property
    def dtype(self) -> torch.dtype:
        """The type of the values."""
        return self.value.dtype

    @property
    def device(self) -> torch.device:
        """Where the matrix lives."""
        return self.value.device

    @cached_property
    def row(self) -> Tensor:
        """The row of each entry."""
        counts = self.rowptr.diff().long()
        return torch.repeat_interleave(counts).to(self.col.dtype)

    @cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``rowptr``, ``col`` and ``value`` as numpy arrays that share their memory."""
        return self.rowptr.numpy(), self.col.numpy(), self.value.detach().contiguous().numpy()

    @cached_property
    def splits(self) -> np.ndarray:
        """Row numbers that cut the rows into parts of about equal work."""
        parts = _PARTS_PER_THREAD * torch.get_num_threads()
        work = self.rowptr.numpy().astype(np.int64) + np.arange(self.shape[0] + 1)
        cuts = np.searchsorted(work, np.linspace(0, work[-1], parts + 1))
        cuts[0], cuts[-1] = 0, self.shape[0]
        return cuts.astype(np.int64)

    @property
    def transpose(self) -> SparseMatrix:
        """The transposed matrix, made once."""
        return self if self.symmetric else self._transpose

    @cached_property
    def _transpose(self) -> SparseMatrix:
        rows, columns = self.shape
        order = torch.argsort(self.col.long(), stable=True)
        rowptr = torch.zeros(columns + 1, dtype=torch.int64, device=self.device)
        torch.cumsum(torch.bincount(self.col.long(), minlength=columns), 0, out=rowptr[1:])
        result = SparseMatrix(rowptr, self.row[order], self.value[order], (columns, rows))
        result._order = order
        return result

    _order: Tensor | None = None

    def as_torch(self) -> Tensor:
        """The same matrix as a torch sparse CSR tensor."""
        return self._torch

    @cached_property
    def _torch(self) -> Tensor:
        with warnings.catch_warnings():
            # torch announces its sparse CSR support as beta on first use; we use it on purpose.
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning)
            return torch.sparse_csr_tensor(
                self.rowptr, self.col, self.value.detach(), self.shape, check_invariants=False
            )

    def with_value(self, value: Tensor) -> SparseMatrix:
        """A matrix with the same places and other values; what was made for the places is shared."""
        result = SparseMatrix(self.rowptr, self.col, value, self.shape)
        for name in ("row", "splits"):
            if name in self.__dict__:
                result.__dict__[name] = self.__dict__[name]
        transpose = self.__dict__.get("_transpose")
        if transpose is not None and transpose._order is not None:
            other = transpose.with_value(value[transpose._order])
            other._order = transpose._order
            result.__dict__["_transpose"] = other
        return result

    def to(self, *args: Any, **kwargs: Any) -> SparseMatrix:
        """Move or convert, as ``torch.Tensor.to``; the indices keep their type."""
        value = self.value.to(*args, **kwargs)
        if value is self.value:
            return self
        if value.device == self.device:
            result = self.with_value(value)
            result.symmetric = self.symmetric
            return result
        rowptr, col = self.rowptr.to(value.device), self.col.to(value.device)
        return SparseMatrix(rowptr, col, value, self.shape, self.symmetric)

    def matmul(self, x: Tensor) -> Tensor:
        """The product with a dense ``columns x d`` matrix (or a vector), differentiable in both."""
        if x.dim() == 1:
            return self.matmul(x.unsqueeze(1)).squeeze(1)
        if x.shape[0] != self.shape[1]:
            raise InputError(
                f"a {self.shape[0]} x {self.shape[1]} sparse matrix cannot multiply a matrix "
                f"with {x.shape[0]} rows: give {self.shape[1]} rows"
            )
        if torch.is_grad_enabled() and (x.requires_grad or self.value.requires_grad):
            return _SparseProduct.apply(self.value, x, self)
        return kernels.spmm(self, x)

    __matmul__ = matmul

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"SparseMatrix({rows} x {columns}, {self.num_entries} entries, {self.dtype})"


def entry_dots(
    matrix: SparseMatrix, left: Tensor, right: Tensor, chunk: int | None = None
) -> Tensor:
    """For each entry (i, j) of ``matrix`` the dot product ``left[i] . right[j]``, in bounded memory.

    Args:
        matrix: Sparse ``n x m``; only its places count.
        left: ``n x d``.
        right: ``m x d``.
        chunk: Gather the rows of so many entries at a time; by default MKL reads them in place where it
            can, which is ten times as fast.
    """
    known = left.device.type == "cpu" and left.dtype in (torch.float32, torch.float64)
    if chunk is None and known and torch.backends.mkl.is_available():
        zeros = torch.zeros_like(matrix.value)
        places = SparseMatrix(matrix.rowptr, matrix.col, zeros, matrix.shape).as_torch()
        return torch.sparse.sampled_addmm(places, left, right.T, beta=0).values()
    row, col = matrix.row, matrix.col
    chunk = 1 << 13 if chunk is None else chunk
    parts = [
        torch.linalg.vecdot(left[row[start : start + chunk]], right[col[start : start + chunk]])
        for start in range(0, row.numel(), chunk)
    ]
    return torch.cat(parts) if parts else left.new_zeros(0)


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, x: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.matrix = matrix
        ctx.save_for_backward(x)
        return kernels.spmm(matrix, x.detach())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (x,) = ctx.saved_tensors
        need_value, need_x, _ = ctx.needs_input_grad
        grad_x = kernels.spmm(ctx.matrix.transpose, grad) if need_x else None
        grad_value = entry_dots(ctx.matrix, grad, x) if need_value else None
        return grad_value, grad_x, None
