"""A linear layer for node features, dense or sparse, that never makes sparse ones dense."""

from __future__ import annotations

import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..cache import TensorCache
from ..errors import InputError
from ..kernels import products, use_compiled
from ..sparse import SparseMatrix
from .folding import affine

_FEW_COLUMNS = 128
_sparse_features: TensorCache[SparseMatrix] = TensorCache()
_all_finite: TensorCache[None] = TensorCache()


def check_features(x: Tensor, num_nodes: int, num_features: int | None = None) -> None:
    """Raise an ``InputError`` unless ``x`` is a finite ``num_nodes x num_features`` matrix."""
    if x.dim() != 2 or x.shape[0] != num_nodes:
        raise InputError(
            f"the features have shape {tuple(x.shape)} for {num_nodes} nodes: give one row a node"
        )
    if num_features is not None and x.shape[1] != num_features:
        raise InputError(
            f"the features have {x.shape[1]} columns, but the model was made for {num_features}"
        )
    _all_finite.get(x, lambda: _check_finite(x))


def _check_finite(x: Tensor) -> None:
    values = x if x.layout == torch.strided else SparseMatrix.from_torch(x).value
    # A sum of finite numbers is finite, save for an overflow: one pass that writes nothing.
    if bool(torch.isfinite(values.detach().sum())):
        return
    finite = torch.isfinite(values)
    if not bool(finite.all()):
        where = int((~finite).nonzero()[0, 0])
        place = f"row {where}" if x.layout == torch.strided else f"stored entry {where}"
        raise InputError(
            f"the features hold NaN or infinity (first in {place}): clean or impute the features"
        )


def _sparse(x: Tensor, dtype: torch.dtype, unit: bool) -> SparseMatrix:
    matrix = SparseMatrix.from_torch(x).to(dtype)
    if not unit:
        return matrix
    row = matrix.row.long()
    squares = matrix.value.new_zeros(matrix.shape[0]).index_add_(0, row, matrix.value.square())
    return matrix.with_value(matrix.value / squares.sqrt().clamp_min(1e-12)[row])


def rows_of(features: Tensor, rows: Tensor) -> Tensor:
    """Some rows of dense or sparse features."""
    if features.layout == torch.strided:
        return features[rows]
    matrix = SparseMatrix.from_torch(features)
    rowptr, col, value = matrix.arrays
    part = sp.csr_matrix((value, col, rowptr), shape=matrix.shape)[rows.numpy()]
    return torch.sparse_csr_tensor(
        torch.from_numpy(part.indptr).long(),
        torch.from_numpy(part.indices).long(),
        torch.from_numpy(part.data),
        part.shape,
        check_invariants=False,
    )


class FeatureLinear(nn.Module):
    r""":math:`X \Omega + \text{bias}` for dense or sparse (CSR) features, with dropout on X.

    Args:
        in_features: Columns of X.
        out_features: Columns of the result.
        bias: Whether to add a bias.
        dropout: Probability of dropping an entry of X in training.
        unit: Whether every row of X is scaled to length 1 first; a row of zeros stays one.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        dropout: float = 0.0,
        unit: bool = False,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.unit = unit
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """From ``n x in_features``, dense or sparse, to dense ``n x out_features``."""
        if self._few_columns(x):
            return self._product(x)
        if x.layout == torch.strided:
            dense = x.to(self.weight.dtype)
            if self.unit:
                dense = F.normalize(dense)
            result = F.dropout(dense, self.dropout, self.training) @ self.weight
        else:
            dtype = self.weight.dtype
            key = (dtype, self.unit)
            matrix = _sparse_features.get(x, lambda: _sparse(x, dtype, self.unit), key)
            if self.training and self.dropout > 0:
                # Made first, so that every epoch's matrix shares the order of its transpose.
                _ = matrix.transpose
                matrix = matrix.with_value(F.dropout(matrix.value, self.dropout))
            result = matrix.matmul(self.weight)
        return result if self.bias is None else result + self.bias

    def _few_columns(self, x: Tensor) -> bool:
        """Whether this is inference on a few dense columns, which the compiled products are fast at."""
        if torch.is_grad_enabled() or self.unit or (self.training and self.dropout > 0):
            return False
        known = x.layout == torch.strided and x.dtype == self.weight.dtype
        return known and x.shape[1] <= _FEW_COLUMNS and use_compiled(x)

    def _product(self, x: Tensor) -> Tensor:
        weight = self.weight.detach()
        shift = weight.new_zeros(weight.shape[1]) if self.bias is None else self.bias.detach()
        return affine(x, (products.prepare(weight), shift))

    def extra_repr(self) -> str:
        """Shape and dropout."""
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}, dropout={self.dropout}"
