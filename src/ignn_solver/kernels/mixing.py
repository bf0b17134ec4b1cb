"""The step of the learned solver: one pass over memory, block of rows after block of rows."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..memory import Scratch, block_rows

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
    rows, regressors = z.shape[0], left.shape[0]
    block = block_rows(z, regressors)
    gathered = _gathered.like(left, (block, regressors))
    mixed = _mixed.like(left, (block, left.shape[1]))
    step = _step if left.dtype == z.dtype else _rough_step
    for begin in range(0, rows, block):
        some = slice(begin, min(begin + block, rows))
        count = some.stop - begin
        step(
            z[some], image[some], previous[some], left, right, out[some],
            gathered[:count], mixed[:count],
        )  # fmt: skip
        if finish is not None:
            finish(out[some])
    return out


def _step(
    z: Tensor,
    image: Tensor,
    previous: Tensor,
    left: Tensor,
    right: Tensor,
    out: Tensor,
    gathered: Tensor,
    mixed: Tensor,
) -> None:
    width = z.shape[1]
    torch.sub(image, z, out=gathered[:, :width])
    if gathered.shape[1] > width:
        torch.sub(z, previous, out=gathered[:, width:])
    if right.shape[0] == 0:
        torch.addmm(image, gathered, left, out=out)
    else:
        torch.addmm(image, torch.mm(gathered, left, out=mixed), right, out=out)


def _rough_step(
    z: Tensor,
    image: Tensor,
    previous: Tensor,
    left: Tensor,
    right: Tensor,
    out: Tensor,
    gathered: Tensor,
    mixed: Tensor,
) -> None:
    from . import compiled_mix

    compiled_mix.regressors(image, z, previous, gathered)
    correction = torch.mm(gathered, left, out=mixed)
    if right.shape[0] > 0:
        correction = torch.mm(mixed, right, out=_corrections.like(right, tuple(z.shape)))
    compiled_mix.add(image, correction, out)
