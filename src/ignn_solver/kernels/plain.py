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
) -> tuple[Tensor, Tensor, Tensor]:
    """``y = act(matrix @ projected + bias)`` with the squared row norms of ``y - z`` and ``y``."""
    y = activate(spmm(matrix, projected).add_(bias), activation, scale)
    if out is not None:
        y = out.copy_(y)
    return y, (y - z).square_().sum(-1), torch.linalg.vecdot(y, y)


def mix(
    z: Tensor, image: Tensor, previous: Tensor, left: Tensor, right: Tensor, out: Tensor
) -> Tensor:
    """The step ``image + [image - z, z - previous] @ left @ right`` of a learned solver.

    Args:
        z: The point, ``n x d``.
        image: Its image, ``n x d``.
        previous: The point before, ``n x d``.
        left: ``2d x rank``; or ``d x rank``, to leave the momentum out.
        right: ``rank x d``; or ``0 x d``, where ``left`` is the whole matrix.
        out: Where to put it; not the memory of any of the others.
    """
    width = z.shape[1]
    mixed = (image - z) @ left[:width]
    if left.shape[0] > width:
        mixed.addmm_(z - previous, left[width:])
    if right.shape[0] == 0:
        return torch.add(mixed, image, out=out)
    return torch.addmm(image, mixed, right, out=out)
