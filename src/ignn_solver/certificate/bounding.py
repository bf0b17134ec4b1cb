"""From what was measured of an evaluation to bounds: in one compiled call, or in torch."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .. import kernels
from ..equilibrium import EquilibriumMap
from ..kernels import products
from . import rounding
from .bounds import Sweeper
from .factor import EPSILON, Factor


class Measured(NamedTuple):
    """What is known of an evaluation of f at z.

    Attributes:
        residual_sq: Squared norms of the rows of ``f(z) - z``, ``n``.
        value_sq: Squared norms of the rows of ``f(z)``, ``n``; of z itself with ``at_value``.
        bias_sq: Squared norms of the rows of b, ``n``.
        at_value: Whether z is bounded, and not f(z).
        dtype: The type in which f was computed.
    """

    residual_sq: Tensor
    value_sq: Tensor
    bias_sq: Tensor
    at_value: bool
    dtype: torch.dtype


def roundings(f: EquilibriumMap, measured: Measured) -> int:
    """How many roundings each term of a product with W went through at most, where ``measured`` was evaluated."""
    width = f.bias.shape[1]
    # Residuals of the states themselves may come from any product: row by row, or of a library.
    return width if measured.at_value else products.roundings(width, f.bias)


def is_fused(f: EquilibriumMap) -> bool:
    """Whether proofs of ``f`` are compiled: for a single graph on the CPU."""
    return f.adjacency.graph is None and kernels.use_compiled(f.bias)


def bounded(
    f: EquilibriumMap,
    factor: Factor,
    sweeper: Sweeper,
    measured: Measured,
    sweeps: int,
    enough: float,
    near: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor | None, int] | None:
    """How far each node can be from the equilibrium.

    Args:
        f: The map.
        factor: What was measured of its weight.
        sweeper: K, with a vector that it shrinks.
        measured: What is known of the evaluation.
        sweeps: Products with K to spend at most.
        enough: Stop sweeping when the bounds are about this close, as a share.
        near: Where to begin, found for states not far away, ``n x 2``; used if compiled.

    Returns:
        The bounds and what of them is granted to rounding, ``n`` each, float64; where to begin for states not far
        away; and the products spent. ``None`` where a norm is not finite.
    """
    if not is_fused(f):
        return _in_torch(f, factor, sweeper, measured, sweeps, enough)
    allowed = _allowed(f, factor, measured)
    found = kernels.compiled_bounds.bounded(
        sweeper, *measured[:3], allowed, measured.at_value, sweeps, enough, near
    )
    return found if found[-1] > 0 else None


def guessed(
    f: EquilibriumMap, factor: Factor, sweeper: Sweeper, measured: Measured
) -> tuple[Tensor, Tensor] | None:
    """About what :func:`bounded` gives for f(z), without a product of A: it proves nothing.

    Errors are taken to lie along the vector that is shrunk most slowly, and neighbours to be of one size.
    """
    if is_fused(f):
        return kernels.compiled_bounds.guessed(
            sweeper, *measured[:3], _allowed(f, factor, measured)
        )
    norms = _norms(f, measured)
    if norms is None:
        return None
    residual, state_norm, value_norm, bias_norm = norms
    error = rounding.evaluation_error(
        f, factor, state_norm, bias_norm, value_norm, measured.dtype, roundings(f, measured)
    )
    whole, granted = sweeper.first_estimate(torch.stack([residual, error], -1)).unbind(-1)
    return whole - residual + granted, granted


def _allowed(f: EquilibriumMap, factor: Factor, measured: Measured) -> np.ndarray:
    width, terms = f.bias.shape[1], roundings(f, measured)
    return _allowance(width, terms, measured.dtype, f.bias.dtype, factor, f.activation)


@lru_cache(maxsize=8)
def _allowance(
    width: int,
    terms: int,
    dtype: torch.dtype,
    kind: torch.dtype,
    factor: Factor,
    activation: str,
) -> np.ndarray:
    """What rounding can do where f was computed in ``dtype``, of states of type ``kind``."""
    numbers = (
        *rounding.norm_allowance(width, dtype),
        *rounding.norm_allowance(width, kind),
        rounding.unit_roundoff(dtype),
        rounding.gamma_of(terms + 1, dtype) * factor.absolute,
        factor.value,
        rounding.activation_error(activation, dtype),
        rounding.underflow(width, dtype),
    )
    return np.array([numbers], kernels.compiled_bounds.ALLOWANCE)


def _in_torch(
    f: EquilibriumMap,
    factor: Factor,
    sweeper: Sweeper,
    measured: Measured,
    sweeps: int,
    enough: float,
) -> tuple[Tensor, Tensor, None, int] | None:
    norms = _norms(f, measured)
    if norms is None:
        return None
    residual, state_norm, value_norm, bias_norm = norms
    spread = sweeper.product(state_norm) / factor.value
    error = rounding.evaluation_error(
        f, factor, spread, bias_norm, value_norm, measured.dtype, roundings(f, measured)
    )
    bound, spent = sweeper.bound(torch.stack([residual, error], -1), sweeps, enough)
    whole, granted = bound.unbind(-1)
    if not measured.at_value:
        # The value is f(z): one contraction closer than z, and one rounding away from it. As
        # e >= r + K e, no product is needed to bound K e.
        whole = whole * (1 + EPSILON) - residual
    return (whole + granted) * (1 + 4 * EPSILON), granted, None, spent


def _norms(f: EquilibriumMap, measured: Measured) -> tuple[Tensor, Tensor, Tensor, Tensor] | None:
    """Upper norms of the rows of the residual, of z, f(z) and b; ``None`` where one is not finite."""
    width, kind = f.bias.shape[1], f.bias.dtype
    residual = rounding.upper_norms(measured.residual_sq, width, measured.dtype)
    value_norm = rounding.upper_norms(measured.value_sq, width, kind)
    bias_norm = rounding.upper_norms(measured.bias_sq, width, kind)
    state_norm = value_norm if measured.at_value else value_norm + residual
    finite = bool(torch.isfinite(state_norm + residual).all())
    return (residual, state_norm, value_norm, bias_norm) if finite else None
