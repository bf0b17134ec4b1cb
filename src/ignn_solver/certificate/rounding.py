r"""What rounding can do to one evaluation of f, so that a proof holds for the numbers in memory.

A sum of k products computed in floating point, in whatever order, fused or not, is off by at most
:math:`\gamma_k = k u / (1 - k u)` times the sum of the absolute values (Higham, *Accuracy and
Stability of Numerical Algorithms*, section 3.1), with u half the machine epsilon. A sum of sums rounds less:
k counts the roundings that a single term goes through. A row of
:math:`A (Z W) + b` has two such sums, one after the other: over the d channels, where absolute values make
W as large as :math:`|W|`, and over the m entries of the row. What the first does wrong the second passes
on, so with :math:`\omega = \gamma_{t + 1} \||W|\|`, where t is d, or :math:`32 + d / 32` for the compiled kernels,
which sum up 32 channels at a time,

.. math::
    \|\hat y_i - f(Z)_i\| \le \big(\omega + \gamma_{m + 3} (\|W\| + \omega)\big) \sum_j A_{ij} \|z_j\|
    + \gamma_{m + 3} \|b_i\|

in either order of the two, plus a few units in the last place for tanh and sigmoid, plus what underflow can lose.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .. import kernels
from ..equilibrium import EquilibriumMap
from .factor import Factor

#: Relative error granted to the library's tanh, exp and division, in units of u.
_ACTIVATION_ULPS = {"relu": 0, "tanh": 16, "sigmoid": 16}
#: Memory for some columns of the states in float64.
_CHUNK_BYTES = 2**27


def unit_roundoff(dtype: torch.dtype) -> float:
    """u: the largest relative error of one rounding."""
    return torch.finfo(dtype).eps / 2


def gamma(terms: Tensor, dtype: torch.dtype) -> Tensor:
    r""":math:`\gamma_k = k u / (1 - k u)` for every k in ``terms``; infinite where k u reaches 1."""
    product = terms.to(torch.float64) * unit_roundoff(dtype)
    return torch.where(product < 1, product / (1 - product), torch.inf)


def gamma_of(terms: int, dtype: torch.dtype) -> float:
    r""":math:`\gamma_k` for a single k."""
    product = terms * unit_roundoff(dtype)
    return product / (1 - product) if product < 1 else math.inf


def row_norms(x: Tensor) -> Tensor:
    """An upper bound on the 2-norm of each row, float64, without a float64 copy of ``x``."""
    return upper_norms(kernels.row_squares(x), x.shape[1], x.dtype)


def upper_norms(squares: Tensor, width: int, dtype: torch.dtype) -> Tensor:
    """From sums of ``width`` squares, computed in ``dtype``: upper bounds on the norms, float64."""
    grown, lost = norm_allowance(width, dtype)
    return (squares.to(torch.float64) * grown + lost).sqrt()


def norm_allowance(width: int, dtype: torch.dtype) -> tuple[float, float]:
    """A norm is at most the root of the computed sum of squares times the first, plus the second."""
    # A square may have underflowed to nothing.
    return 1 + 2 * gamma_of(width + 8, dtype), width * torch.finfo(dtype).tiny


def activation_error(activation: str, dtype: torch.dtype) -> float:
    """The relative error granted to the activation."""
    return _ACTIVATION_ULPS[activation] * unit_roundoff(dtype)


def underflow(width: int, dtype: torch.dtype) -> float:
    """What underflow can take from a row of f(z), an entry of the row of A."""
    return math.sqrt(width) * (width + 1) * torch.finfo(dtype).tiny


def evaluation_error(
    f: EquilibriumMap,
    factor: Factor,
    spread: Tensor,
    bias_norm: Tensor,
    value_norm: Tensor,
    dtype: torch.dtype,
    terms: int,
) -> Tensor:
    """How far a computed row of f(z) can be from the exact one, ``n``.

    Args:
        f: The map.
        factor: What was measured of W.
        spread: Upper bounds on ``A`` times the row norms of z, ``n``.
        bias_norm: Upper bounds on the row norms of b, ``n``.
        value_norm: Upper bounds on the row norms of f(z), ``n``.
        dtype: The type in which f was computed.
        terms: How many roundings each term of a product with W went through, at most.
    """
    width = f.bias.shape[1]
    entries = f.adjacency.matrix.rowptr.diff()
    projected = gamma_of(terms + 1, dtype) * factor.absolute
    gathered = gamma(entries + 3, dtype)
    error = (projected + gathered * (factor.value + projected)) * spread + gathered * bias_norm
    error += activation_error(f.activation, dtype) * value_norm
    lost = underflow(width, dtype) * (entries + 1)
    return (error + lost) * (1 + 1e-12 + 1e-15 * entries)


def exact_residual_sq(f: EquilibriumMap, value: Tensor) -> Tensor:
    """Squared row norms of ``f(value) - value`` with f evaluated in float64, ``n``; in bounded memory."""
    width = value.shape[1]
    chunk = max(16, min(width, _CHUNK_BYTES // (8 * max(1, value.shape[0]))))
    matrix = f.adjacency.matrix.to(torch.float64)
    weight, state = f.weight.to(torch.float64), value.to(torch.float64)
    squares = state.new_zeros(state.shape[0])
    for first in range(0, width, chunk):
        columns = slice(first, first + chunk)
        squares += kernels.evaluate(
            matrix,
            state @ weight[:, columns],
            f.bias[:, columns].to(torch.float64),
            state[:, columns].contiguous(),
            f.activation,
        )[1]
    return squares
