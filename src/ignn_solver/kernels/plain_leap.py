"""One step of a leap in plain torch: any device, any floating type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from .plain import activate

if TYPE_CHECKING:
    from ..sparse import SparseMatrix


def step(
    matrix: SparseMatrix,
    inputs: Tensor,
    base: Tensor,
    image: Tensor | None,
    previous: Tensor | None,
    changes: tuple[Tensor, Tensor],
    products: tuple[Tensor, Tensor],
    weight: Tensor,
    mixing: tuple[Tensor, Tensor] | None,
    bounds: tuple[float, float],
    activation: str,
    out: Tensor | None,
) -> tuple[float, float]:
    """See ``kernels.leap.step``."""
    change, after = changes
    product, onward = products
    residual, size = 0.0, 0.0
    if image is not None:
        change.zero_()
        if previous is not None:
            after.copy_(previous - base)
        found = image - base
    else:
        given = matrix.matmul(product.to(base.dtype)).add_(inputs)
        found = activate(given, activation, None)
        size = float(found.double().square().sum())
        found = found.sub_(base)
        residual = float((found - change).double().square().sum())
    if mixing is not None:
        left, right = mixing
        regressors = found - change
        if left.shape[0] > base.shape[1]:
            regressors = torch.cat([regressors, change.to(base.dtype) - after], 1)
        if right.shape[0] > 0:
            regressors, left = regressors @ left, right
        found = torch.addmm(found, regressors, left).add_(base).clamp_(*bounds).sub_(base)
    if out is not None:
        torch.add(base, found, out=out)
    else:
        after.copy_(found)
        onward.copy_(after.to(base.dtype) @ weight)
    return residual, size


def land(base: Tensor, change: Tensor, out: Tensor) -> None:
    """See ``kernels.leap.land``."""
    torch.add(base, change, out=out)
