"""The two loops over edges that everything else calls: a sparse product, and one evaluation of f.

Both exist twice with the same results to rounding: compiled by numba for the CPU, and in plain torch
for every other device and for machines without numba. ``IGNN_SOLVER_KERNELS=torch`` forces the latter.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from . import plain, plain_sweep

if TYPE_CHECKING:
    import numpy as np

    from ..sparse import SparseMatrix

try:
    from . import (
        compiled,
        compiled_bounds,
        compiled_margins,
        compiled_sweep,
    )
    from .vectors import HAS_PAIRS as HAS_PAIRS
except ImportError:  # numba is an extra
    compiled = compiled_sweep = None  # type: ignore[assignment]
    HAS_PAIRS = False
    compiled_bounds = compiled_margins = None  # type: ignore[assignment]

_FEW_COLUMNS = 8
ACTIVATIONS = ("relu", "tanh", "sigmoid")


def backend() -> str:
    """The kernels in use on the CPU: ``"numba"`` or ``"torch"``."""
    if compiled is None or os.environ.get("IGNN_SOLVER_KERNELS") == "torch":
        return "torch"
    return "numba"


def use_compiled(x: Tensor) -> bool:
    """Whether the compiled kernels are there, and for tensors like ``x``."""
    return (
        backend() == "numba"
        and x.device.type == "cpu"
        and x.dtype in (torch.float32, torch.float64)
    )


def spmm(matrix: SparseMatrix, x: Tensor) -> Tensor:
    """The product ``matrix @ x`` of a sparse ``n x m`` and a dense ``m x d`` matrix."""
    # For a few columns the library's own product is faster than loops over them: its are of a fixed length. For
    # one it is not, which has first to look through the matrix.
    if use_compiled(x) and (x.shape[1] > _FEW_COLUMNS or x.shape[1] == 1):
        return compiled.spmm(matrix, x)
    return plain.spmm(matrix, x)


def row_squares(x: Tensor) -> Tensor:
    """The squared norm of each row of ``x``, ``n x d``."""
    return compiled.row_squares(x) if use_compiled(x) else torch.linalg.vecdot(x, x)


def evaluate(
    matrix: SparseMatrix,
    projected: Tensor,
    bias: Tensor,
    z: Tensor,
    activation: str | None = None,
    scale: Tensor | None = None,
    out: Tensor | None = None,
    inputs: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Evaluate ``y = act(matrix @ projected + bias)`` and measure the residual ``y - z`` in one pass.

    Args:
        matrix: Sparse ``n x n``.
        projected: ``z @ W``, ``n x d``; may be bfloat16.
        bias: ``n x d``.
        z: The point ``projected`` was made from, ``n x d``.
        activation: One of ``ACTIVATIONS``.
        scale: Instead of an activation: ``y = scale * (matrix @ projected + bias)``, ``n x d``.
        out: Where to put ``y``.
        inputs: Where to put ``matrix @ projected + bias``, contiguous.

    Returns:
        ``y`` and, per row, the squared norms of ``y - z`` and of ``y``.
    """
    if use_compiled(z):
        return compiled.evaluate(matrix, projected, bias, z, activation, scale, out, inputs)
    projected = projected.to(z.dtype)
    return plain.evaluate(matrix, projected, bias, z, activation, scale, out, inputs)


def evaluate_blocks(
    matrix: SparseMatrix,
    blocks: np.ndarray,
    weight: Tensor,
    bias: Tensor,
    z: Tensor,
    activation: str | None = None,
    scale: Tensor | None = None,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Evaluate ``y = act(matrix @ (z @ weight) + bias)`` block after block, whose products stay in the cache.

    Args:
        matrix: Sparse ``n x n``; no entry joins two blocks.
        blocks: First row of each block, and ``n``.
        weight: ``d x d``.
        bias: ``n x d``.
        z: The point, ``n x d``.
        activation: One of ``ACTIVATIONS``.
        scale: Instead of an activation: factors, ``n x d``.
        out: Where to put ``y``; not the memory of ``z``.

    Returns:
        As :func:`evaluate` does.
    """
    if use_compiled(z):
        return compiled.evaluate_blocks(matrix, blocks, weight, bias, z, activation, scale, out)
    return plain.evaluate(matrix, z @ weight, bias, z, activation, scale, out)


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
    """Update the rows block after block, each from the newest states (Gauss-Seidel by blocks).

    Chunks of rows are independent of each other: a row sees the updated rows of its own chunk in
    earlier blocks, and every other row as it was. So the result depends on the chunks, and not on
    the threads that work on them.

    Args:
        matrix: Sparse ``n x n``.
        projected: Holds ``z @ weight`` and gets ``y @ weight``, both ``n x d``.
        old: The row at which the former begins.
        new: The row at which the latter is put; may be ``old`` where no edge joins two chunks.
        weight: ``d x d``.
        bias: ``n x d``.
        z: The point, ``n x d``.
        chunks: First row of each chunk, and ``n``.
        block: Rows of a block.
        activation: One of ``ACTIVATIONS``.
        scale: Instead of an activation: factors, ``n x d``.
        out: Where to put ``y``; not the memory of ``z``.

    Returns:
        ``y`` and, per row, the squared norms of ``y - z`` and of ``y``.
    """
    chosen = compiled_sweep if use_compiled(z) else plain_sweep
    return chosen.sweep(
        matrix, projected, old, new, weight, bias, z, chunks, block, activation, scale, out
    )
