"""The step of the learned solver: one pass over memory, block of rows after block of rows."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..memory import Scratch, block_rows

_gathered, _mixed = Scratch(), Scratch()


def mix(
    z: Tensor,
    image: Tensor,
    previous: Tensor,
    left: Tensor,
    right: Tensor,
    out: Tensor,
    finish: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """The step ``image + [image - z, z - previous] @ left @ right`` of a learned solver.

    Args:
        z: The point, ``n x d``.
        image: Its image, ``n x d``.
        previous: The point before, ``n x d``.
        left: ``2d x rank``; or ``d x rank``, to leave the momentum out.
        right: ``rank x d``; or ``0 x d``, where ``left`` is the whole matrix.
        out: Where to put it; not the memory of any of the others.
        finish: Called with each block of rows of the result, to change it in place.
    """
    (rows, width), regressors = z.shape, left.shape[0]
    block = block_rows(z, regressors)
    gathered = _gathered.like(z, (block, regressors))
    mixed = _mixed.like(z, (block, left.shape[1]))
    for begin in range(0, rows, block):
        end = min(begin + block, rows)
        count = end - begin
        part, put = gathered[:count], out[begin:end]
        torch.sub(image[begin:end], z[begin:end], out=part[:, :width])
        if regressors > width:
            torch.sub(z[begin:end], previous[begin:end], out=part[:, width:])
        if right.shape[0] == 0:
            torch.addmm(image[begin:end], part, left, out=put)
        else:
            torch.mm(part, left, out=mixed[:count])
            torch.addmm(image[begin:end], mixed[:count], right, out=put)
        if finish is not None:
            finish(put)
    return out
