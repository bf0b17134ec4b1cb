"""The kernels in plain torch: any device that torch has sparse products for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from ..sparse import SparseMatrix


def spmm(matrix: SparseMatrix, x: Tensor) -> Tensor:
    """The product ``matrix @ x``."""
    return matrix.as_torch() @ x


def activate(y: Tensor, activation: str | None, scale: Tensor | None) -> Tensor:
    """The activation of ``y``, or ``scale * y``, in place."""
    if scale is not None:
        return y.mul_(scale)
    if activation == "relu":
        return y.relu_()
    if activation == "tanh":
        return y.tanh_()
    return y.sigmoid_()


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
    y = spmm(matrix, projected).add_(bias)
    if inputs is not None:
        inputs.copy_(y)
    y = activate(y, activation, scale)
    if out is not None:
        y = out.copy_(y)
    return y, (y - z).square_().sum(-1), torch.linalg.vecdot(y, y)
