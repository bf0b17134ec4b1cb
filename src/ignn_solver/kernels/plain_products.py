"""Dense products with small matrices in plain torch: any device, any floating type."""

from __future__ import annotations

import torch
from torch import Tensor

from .plain import activate

_CHUNK = 16_384


def prepare(weight: Tensor, rough: bool) -> Tensor:
    """See ``products.prepare``: here there is nothing to prepare, and nothing is rounded."""
    return weight


def roundings(depth: int) -> int:
    """See ``products.roundings``: in what order a library sums up is not known."""
    return depth


def product(x: Tensor, weight: Tensor, out: Tensor) -> None:
    """See ``products.product``."""
    torch.mm(x, weight, out=out)


def mix(
    z: Tensor,
    image: Tensor,
    previous: Tensor,
    left: Tensor,
    right: Tensor,
    out: Tensor,
    bounds: tuple[float, float],
) -> None:
    """See ``products.mix``."""
    regressors = image - z
    if left.shape[0] > z.shape[1]:
        regressors = torch.cat([regressors, z - previous], 1)
    if right.shape[0] > 0:
        regressors, left = regressors @ left, right
    torch.addmm(image, regressors, left, out=out).clamp_(*bounds)


def normal(z: Tensor, image: Tensor, previous: Tensor, target: Tensor) -> Tensor:
    """See ``products.normal``."""
    regressors = torch.cat([image - z, z - previous], 1)
    return gram(regressors, torch.cat([regressors, target - image], 1))


def gram(left: Tensor, right: Tensor) -> Tensor:
    """``left^T right``, summed in float64 over chunks of rows."""
    total = torch.zeros(left.shape[1], right.shape[1], dtype=torch.float64, device=left.device)
    for begin in range(0, left.shape[0], _CHUNK):
        part = slice(begin, begin + _CHUNK)
        total += (left[part].T @ right[part]).double()
    return total


def combine(
    points: tuple[Tensor, ...],
    plain: list[float],
    mixing: list[float],
    matrix: Tensor,
    out: Tensor,
    bounds: tuple[float, float],
) -> None:
    """See ``products.combine``."""
    totals = []
    for factors in (plain, mixing):
        pairs = zip(points, factors, strict=True)
        totals.append(sum((one * factor for one, factor in pairs), torch.zeros_like(out)))
    torch.addmm(totals[0], totals[1], matrix, out=out).clamp_(*bounds)


def activated(bias: Tensor, t: Tensor, write: Tensor, activation: str, out: Tensor) -> None:
    """See ``products.activated``."""
    activate(torch.addmm(bias, t, write, out=out), activation, None)


def through(
    bias: Tensor, t: Tensor, write: Tensor, read: Tensor, activation: str, out: Tensor
) -> None:
    """See ``products.through``."""
    torch.mm(activate(torch.addmm(bias, t, write), activation, None), read, out=out)


def from_bias(bias: Tensor, weight: Tensor, activation: str, out: Tensor) -> None:
    """See ``products.from_bias``."""
    both = torch.cat([activate(bias.clone(), activation, None), bias], 1)
    torch.mm(both, weight, out=out)


def guess(bias: Tensor, weight: Tensor, activation: str, out: Tensor) -> None:
    """See ``products.guess``."""
    activate = getattr(torch, activation)
    width = bias.shape[1]
    torch.addmm(bias, bias, weight[width:], out=out).addmm_(activate(bias), weight[:width])
    out.copy_(activate(out))
