"""How strongly a map really contracts: measured on the weight in use, not taken on trust."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..cache import LastMade, TensorCache
from ..equilibrium import EquilibriumMap

EPSILON = torch.finfo(torch.float64).eps
#: A norm of 0 is rounded up to this, so that it can be divided by.
_SMALLEST = 1e-30
#: Products that turn a vector towards the first eigenvector of a matrix without negative entries.
_POWERS = 4
#: Lipschitz constants of the activations; each is applied entry by entry.
_LIPSCHITZ = {"relu": 1.0, "tanh": 1.0, "sigmoid": 0.25}

_smallest: TensorCache[float] = TensorCache()


@dataclass(frozen=True)
class Factor:
    r"""What is proven of one map: :math:`\|f(Z)_i - f(Y)_i\| \le \text{value} \sum_j A_{ij} \|Z_j - Y_j\|`.

    Attributes:
        value: The factor; rounded up.
        norm: The norm of a node's row in which it holds, ``"2"`` or ``"inf"``.
        absolute: Norm of ``|W|`` (entries' absolute values) in the same sense: it scales rounding errors.
    """

    value: float
    norm: str
    absolute: float


_factors: LastMade[Factor] = LastMade()


def operator_norm(matrix: Tensor, norm: str) -> float:
    r"""The largest :math:`\|zM\| / \|z\|` over rows z, in the norm ``"2"`` or ``"inf"``, rounded up.

    It is computed in float64 from :math:`M^\top M`, whose eigenvalues LAPACK finds to within a small
    multiple of the rounding error of its norm, which the last factor covers.
    """
    matrix = matrix.detach().to(torch.float64)
    if not bool(torch.isfinite(matrix).all()):
        return torch.inf
    if norm == "inf":
        size = matrix.abs().sum(0).max()
    else:
        gram = matrix.T @ matrix
        largest = gram.abs().sum(0).max()
        # A multiple of an orthogonal matrix needs no eigenvalues: its Gram matrix is diagonal.
        if not bool(largest <= 1.0001 * gram.diagonal().max()):
            largest = torch.linalg.eigvalsh(gram)[-1].clamp_min(0)
        size = largest.sqrt()
    return max(float(size) * (1 + 4 * matrix.numel() * EPSILON), _SMALLEST)


def absolute_norm(matrix: Tensor) -> float:
    r"""The 2-norm of :math:`|M|`, entries' absolute values, rounded up.

    A matrix without negative entries, such as :math:`G = |M|^\top |M|`, has no eigenvalue above the largest
    :math:`(G x)_i / x_i`, whatever the positive x (Collatz and Wielandt); near its first eigenvector that is tight.
    """
    matrix = matrix.detach().to(torch.float64).abs()
    if not bool(torch.isfinite(matrix).all()):
        return torch.inf
    gram = matrix.T @ matrix
    start = gram.new_ones(gram.shape[0])
    for _ in range(_POWERS):
        image = gram @ start
        start = (image / image.max().clamp_min(_SMALLEST)).clamp_min(EPSILON)
    largest = ((gram @ start) / start).max()
    return max(float(largest.sqrt()) * (1 + 4 * matrix.numel() * EPSILON), _SMALLEST)


def measured_factor(f: EquilibriumMap) -> Factor:
    """The smaller of the factors of ``f`` in the 2-norm and in the infinity norm.

    W is taken as it stands in memory: a Cayley transform computed in float32 is orthogonal only to
    rounding, and a weight that was trained may contract better than its parametrization promises.
    """
    return _factors.get((f.weight,), lambda: _measured(f), f.activation)


def _measured(f: EquilibriumMap) -> Factor:
    slope = _LIPSCHITZ[f.activation]
    columns = operator_norm(f.weight, "inf")
    found = (
        Factor(slope * operator_norm(f.weight, "2"), "2", slope * absolute_norm(f.weight)),
        Factor(slope * columns, "inf", slope * columns),
    )
    return min(found, key=lambda one: one.value)


def objection(f: EquilibriumMap, factor: Factor) -> str | None:
    """Why nothing can be proven of ``f``, in a sentence; ``None`` if nothing stands in the way."""
    if not factor.value < 1:
        return (
            f"no certificate: the weight W contracts by {factor.value:.3g} at best, and a proof needs "
            'a factor below 1: use parametrization="cayley", or "projection" before its entries change'
        )
    value = f.adjacency.matrix.value
    smallest = _smallest.get(value, lambda: float(value.min()) if value.numel() else 0.0)
    if not smallest >= 0:
        return (
            f"no certificate: the adjacency has the entry {smallest:.3g}, and a proof needs "
            "weights that are at least 0: make the negative edge weights positive"
        )
    if f.bias.dtype == torch.float32 and torch.get_float32_matmul_precision() != "highest":
        return (
            "no certificate: matrix products may be rounded more coarsely than float32: call "
            'torch.set_float32_matmul_precision("highest")'
        )
    return None
