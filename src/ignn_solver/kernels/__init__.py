"""The two loops over edges that everything else calls: a sparse product, and one evaluation of f.

Both exist twice with the same results to rounding: compiled by numba for the CPU, and in plain torch
for every other device and for machines without numba. ``IGNN_SOLVER_KERNELS=torch`` forces the latter.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from . import plain

if TYPE_CHECKING:
    from ..sparse import SparseMatrix

try:
    from . import compiled
except ImportError:  # numba is an extra
    compiled = None  # type: ignore[assignment]

ACTIVATIONS = ("relu", "tanh", "sigmoid")


def backend() -> str:
    """The kernels in use on the CPU: ``"numba"`` or ``"torch"``."""
    if compiled is None or os.environ.get("IGNN_SOLVER_KERNELS") == "torch":
        return "torch"
    return "numba"


def _use_compiled(x: Tensor) -> bool:
    return (
        backend() == "numba"
        and x.device.type == "cpu"
        and x.dtype in (torch.float32, torch.float64)
    )


def spmm(matrix: SparseMatrix, x: Tensor) -> Tensor:
    """The product ``matrix @ x`` of a sparse ``n x m`` and a dense ``m x d`` matrix."""
    if _use_compiled(x):
        return compiled.spmm(matrix, x)
    return plain.spmm(matrix, x)


def evaluate(
    matrix: SparseMatrix,
    projected: Tensor,
    bias: Tensor,
    z: Tensor,
    activation: str | None = None,
    scale: Tensor | None = None,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Evaluate ``y = act(matrix @ projected + bias)`` and measure the residual ``y - z`` in one pass.

    Args:
        matrix: Sparse ``n x n``.
        projected: ``z @ W``, ``n x d``.
        bias: ``n x d``.
        z: The point ``projected`` was made from, ``n x d``.
        activation: One of ``ACTIVATIONS``.
        scale: Instead of an activation: ``y = scale * (matrix @ projected + bias)``, ``n x d``.
        out: Where to put ``y``.

    Returns:
        ``y`` and, per row, the squared norms of ``y - z`` and of ``y``.
    """
    if _use_compiled(z):
        return compiled.evaluate(matrix, projected, bias, z, activation, scale, out)
    return plain.evaluate(matrix, projected, bias, z, activation, scale, out)
