"""Dense products with small matrices, and what happens to the rows around them: one pass over memory each.

Like the loops over edges they exist twice, compiled and in plain torch, with the same results to rounding.
"""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from . import compiled, plain_products, use_compiled

if compiled is not None:
    from . import compiled_products

#: Every number.
ANY = (-math.inf, math.inf)

#: A matrix that was prepared; only the functions of this module can read it.
Prepared = Any


def _chosen(x: Tensor) -> Any:
    return compiled_products if use_compiled(x) else plain_products


def prepare(weight: Tensor, rough: bool = False) -> Prepared:
    """A small matrix, made ready for products with it; a later change of ``weight`` may or may not be seen.

    Args:
        weight: ``k x d``.
        rough: Round it, and all rows that it is multiplied with, from float32 to bfloat16, where the processor has
            instructions for that. Sums are in float32 all the same.
    """
    return _chosen(weight).prepare(weight.detach(), rough)


def roundings(depth: int, like: Tensor) -> int:
    """How many roundings each term of a :func:`product` goes through at most, for rows of this depth."""
    found: int = _chosen(like).roundings(depth)
    return found


def product(x: Tensor, weight: Prepared, out: Tensor) -> Tensor:
    """``x @ weight`` for rows ``n x k``, into ``out``."""
    _chosen(x).product(x.detach(), weight, out)
    return out


def mix(
    z: Tensor,
    image: Tensor,
    previous: Tensor,
    left: Prepared,
    right: Prepared,
    out: Tensor,
    bounds: tuple[float, float] = ANY,
) -> Tensor:
    """The step ``image + [image - z, z - previous] @ left @ right`` of a learned solver.

    Rough matrices round the correction alone, which shrinks with the residual.

    Args:
        z: The point, ``n x d``.
        image: Its image, ``n x d``.
        previous: The point before, ``n x d``.
        left: ``2d x rank``; or ``d x rank``, to leave the momentum out.
        right: ``rank x d``; or ``0 x d``, where ``left`` is the whole matrix.
        out: Where to put it; not the memory of any of the others.
        bounds: What the result is clamped to.
    """
    _chosen(z).mix(z, image, previous, left, right, out, bounds)
    return out


def normal(z: Tensor, image: Tensor, previous: Tensor, target: Tensor) -> Tensor:
    """What fitting a :func:`mix` needs: ``R^T [R, target - image]`` for ``R = [image - z, z - previous]``.

    Args:
        z: The point, ``n x d``.
        image: Its image, ``n x d``.
        previous: The point before, ``n x d``.
        target: What the mix should be, ``n x d``.

    Returns:
        ``2d x 3d``, in float64.
    """
    found: Tensor = _chosen(z).normal(z, image, previous, target)
    return found


def combine(
    points: tuple[Tensor, Tensor, Tensor, Tensor],
    plain: list[float],
    mixing: list[float],
    matrix: Prepared,
    out: Tensor,
    bounds: tuple[float, float] = ANY,
) -> Tensor:
    """The sum of four points times ``plain``, plus their sum times ``mixing`` times a matrix.

    Args:
        points: Each ``n x d``.
        plain: Four factors.
        mixing: Four factors.
        matrix: ``d x d``; a rough one rounds what it is multiplied with.
        out: Where to put it; not the memory of any of the others.
        bounds: What the result is clamped to.
    """
    _chosen(out).combine(points, plain, mixing, matrix, out, bounds)
    return out


def activated(bias: Tensor, t: Tensor, write: Prepared, activation: str, out: Tensor) -> Tensor:
    """``act(bias + t @ write)`` for a narrow t, ``n x r``, and ``write``, ``r x d``."""
    _chosen(bias).activated(bias, t, write, activation, out)
    return out


def through(
    bias: Tensor, t: Tensor, write: Prepared, read: Prepared, activation: str, out: Tensor
) -> Tensor:
    """``act(bias + t @ write) @ read``, ``n x r``, whose wide states never reach memory."""
    _chosen(bias).through(bias, t, write, read, activation, out)
    return out


def from_bias(bias: Tensor, weight: Prepared, activation: str, out: Tensor) -> Tensor:
    """``[act(bias), bias] @ weight`` for a ``2d x r`` matrix."""
    _chosen(bias).from_bias(bias, weight, activation, out)
    return out


def guess(bias: Tensor, weight: Prepared, activation: str, out: Tensor) -> Tensor:
    """``act(bias + [act(bias), bias] @ weight)`` for a ``2d x d`` matrix; rough, it rounds what is added alone."""
    _chosen(bias).guess(bias, weight, activation, out)
    return out
