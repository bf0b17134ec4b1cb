"""The layers of a head: how far each can stretch a move, and what rounding does in it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from ..errors import InputError
from .factor import EPSILON, operator_norm
from .rounding import gamma_of, row_norms, unit_roundoff

_ONE_LIPSCHITZ = (nn.ReLU, nn.Tanh, nn.Sigmoid)
_IDENTITY = (nn.Dropout, nn.Identity)


@torch.no_grad()
def head_lipschitz(head: nn.Module, norm: str = "2") -> float:
    r"""A bound on :math:`\|s(y) - s(y')\| / \|y - y'\|` for the scores s: the product over the layers."""
    return math.prod(lipschitz(layer, norm) for layer in layers(head))


def layers(head: nn.Module) -> Iterable[nn.Module]:
    """The layers of a head, one after the other."""
    found = list(head) if isinstance(head, nn.Sequential) else [head]
    if not found:
        raise InputError("an empty head gives no scores: end it in nn.Linear")
    return found


def lipschitz(layer: nn.Module, norm: str) -> float:
    """How far the layer can stretch a move, in this norm."""
    if isinstance(layer, nn.Linear):
        return operator_norm(layer.weight.T, norm)
    if isinstance(layer, nn.BatchNorm1d):
        scale, _ = affine(layer)
        return float(scale.abs().max()) * (1 + 8 * EPSILON)
    if isinstance(layer, (*_ONE_LIPSCHITZ, *_IDENTITY)):
        return 1.0
    raise InputError(
        f"a head with a {type(layer).__name__} cannot be bounded: use linear layers, ReLU, Tanh, "
        "Sigmoid, BatchNorm1d, Dropout"
    )


def affine(layer: nn.BatchNorm1d) -> tuple[Tensor, Tensor]:
    """Batch normalisation in evaluation is ``scale * x + shift``."""
    if layer.running_mean is None or layer.running_var is None:
        raise InputError(
            "a BatchNorm1d without running statistics cannot be bounded: set track_running_stats"
        )
    mean, variance = layer.running_mean.double(), layer.running_var.double()
    scale = (variance + layer.eps).rsqrt()
    scale = scale if layer.weight is None else scale * layer.weight.double()
    return scale, (0.0 if layer.bias is None else layer.bias.double()) - mean * scale


def through(
    layer: nn.Module, hidden: Tensor, error: Tensor | None, norm: str
) -> tuple[Tensor, Tensor]:
    """The layer's output in evaluation, and how far rounding can have moved it."""
    grown, dtype = lipschitz(layer, norm), hidden.dtype
    if error is None:
        error = hidden.new_zeros(hidden.shape[0], dtype=torch.float64)
    if isinstance(layer, nn.Linear):
        terms = gamma_of(layer.in_features + 4, dtype)
        size = layer.weight.to(torch.float64).norm()
        offset = 0.0 if layer.bias is None else layer.bias.to(torch.float64).norm()
        fresh = terms * (row_norms(hidden) * size + offset)
        return nn.functional.linear(hidden, layer.weight, layer.bias), error * grown + fresh
    if isinstance(layer, nn.BatchNorm1d):
        scale, shift = affine(layer)
        moved = hidden * scale.to(dtype) + shift.to(dtype)
        fresh = 8 * unit_roundoff(dtype) * (row_norms(hidden) * grown + shift.norm())
        return moved, error * grown + fresh
    if isinstance(layer, _IDENTITY):
        return hidden, error
    moved = layer(hidden)
    # relu is exact; the others are granted a few units in the last place.
    ulps = 0 if isinstance(layer, nn.ReLU) else 16
    return moved, error + ulps * unit_roundoff(dtype) * row_norms(moved)


def dual(rows: Tensor, norm: str) -> Tensor:
    """The dual norm over the last dimension, rounded up."""
    size = rows.abs().sum(-1) if norm == "inf" else rows.norm(dim=-1)
    return size * (1 + (rows.shape[-1] + 8) * EPSILON)
