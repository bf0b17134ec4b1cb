"""The step of the learned solver: one pass over memory, block of rows after block of rows."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..memory import Scratch, block_rows, row_blocks

try:
    from . import compiled_mix
except ImportError:  # numba is an extra, and nothing is rounded without it
    compiled_mix = None  # type: ignore[assignment]

_gathered, _mixed, _corrections = Scratch(), Scratch(), Scratch()


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

    Matrices in bfloat16 make the products in bfloat16: what is rounded is only the correction, which shrinks with
    the residual.

    Args:
        z: The point, ``n x d``.
        image: Its image, ``n x d``.
        previous: The point before, ``n x d``.
        left: ``2d x rank``; or ``d x rank``, to leave the momentum out.
        right: ``rank x d``; or ``0 x d``, where ``left`` is the whole matrix.
        out: Where to put it; not the memory of any of the others.
        finish: Called with each block of rows of the result, to change it in place.
    """
    width, regressors = z.shape[1], left.shape[0]
    block = block_rows(z, regressors)
    gathered = _gathered.like(left, (block, regressors))
    mixed = _mixed.like(left, (block, left.shape[1]))
    for some in row_blocks(z, regressors):
        count = some.stop - some.start
        _gather(z[some], image[some], previous[some], gathered[:count])
        last, matrix = gathered[:count], left
        if right.shape[0] > 0:
            last, matrix = torch.mm(last, left, out=mixed[:count]), right
        if left.dtype == z.dtype:
            torch.addmm(image[some], last, matrix, out=out[some])
        else:
            room = _corrections.like(left, (block, width))[:count]
            correction = torch.mm(last, matrix, out=room)
            compiled_mix.add(image[some], correction, out[some])
        if finish is not None:
            finish(out[some])
    return out


def _gather(z: Tensor, image: Tensor, previous: Tensor, out: Tensor) -> None:
    """Put ``[image - z, z - previous]`` into ``out``; only the former where that has no more columns."""
    width = z.shape[1]
    if out.dtype != z.dtype:
        compiled_mix.regressors(image, z, previous, out)
        return
    torch.sub(image, z, out=out[:, :width])
    if out.shape[1] > width:
        torch.sub(z, previous, out=out[:, width:])
