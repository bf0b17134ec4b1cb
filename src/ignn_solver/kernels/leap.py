"""One step of a leap: an evaluation near a point where f is known, and the next point, in one pass over memory.

Like the loops over edges it exists twice, compiled and in plain torch, with the same results to rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from . import compiled, plain_leap, use_compiled
from .products import Prepared

if TYPE_CHECKING:
    from ..sparse import SparseMatrix

if compiled is not None:
    from . import compiled_leap


def _chosen(x: Tensor) -> Any:
    return compiled_leap if use_compiled(x) else plain_leap


def step(
    matrix: SparseMatrix,
    inputs: Tensor,
    base: Tensor,
    image: Tensor | None,
    previous: Tensor | None,
    changes: tuple[Tensor, Tensor],
    products: tuple[Tensor, Tensor],
    weight: Prepared,
    mixing: tuple[Prepared, Prepared] | None,
    bounds: tuple[float, float],
    activation: str,
    out: Tensor | None = None,
) -> tuple[float, float]:
    r"""Evaluate at ``base + change``, and make the next point from what comes out.

    With :math:`G = \sigma(A P + I) - B` that is
    :math:`C' = G + [G - C,\; C - C_{prev}]\, L R`, clamped so that :math:`B + C'` keeps to the bounds, or
    :math:`C' = G`, and :math:`P' = C' W`. In bfloat16 the changes C and the products P are rounded, and no more.

    Args:
        matrix: A.
        inputs: I, what f is applied to where nothing has changed: ``A B W + b``, ``n x d``.
        base: B, ``n x d``.
        image: ``f(base)`` for the first step, which needs no evaluation; the change C is set to 0.
        previous: The point before the base, ``n x d``, where the first step has a momentum.
        changes: C, and the change before; the latter is replaced by C'.
        products: P, which belongs to C, and where to put P'.
        weight: W, prepared like the changes are kept.
        mixing: L and R, prepared; L of ``d`` rows leaves the momentum out, an R of 0 rows means that L is whole;
            ``None`` for a plain step.
        bounds: What the states are clamped to.
        activation: One of ``kernels.ACTIVATIONS``.
        out: Where to put ``B + C'``, in full precision; then neither C' nor P' is made.

    Returns:
        The squared norms of ``G - C``, which is the residual, and of ``f``; zeros for the first step.
    """
    found: tuple[float, float] = _chosen(base).step(
        matrix,
        inputs,
        base,
        image,
        previous,
        changes,
        products,
        weight,
        mixing,
        bounds,
        activation,
        out,
    )
    return found


def land(base: Tensor, change: Tensor, out: Tensor) -> Tensor:
    """``base + change``, into ``out``."""
    _chosen(base).land(base, change, out)
    return out
