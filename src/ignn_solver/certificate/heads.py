r"""How far a state may move before its class can change.

For scores :math:`s = h(y) V + c` with a body h of Lipschitz constant L, the class with the largest
score cannot lose to class c' as long as y moves by less than
:math:`(s_c - s_{c'}) / (L \|v_c - v_{c'}\|_*)`, with the dual norm: the 2-norm, or the sum of absolute
values where states are measured in the infinity norm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..errors import InputError
from .factor import EPSILON, operator_norm
from .rounding import gamma, row_norms, unit_roundoff

_ONE_LIPSCHITZ = (nn.ReLU, nn.Tanh, nn.Sigmoid)
_IDENTITY = (nn.Dropout, nn.Identity)


class Margins(NamedTuple):
    """What a head says of each state, and how surely.

    Attributes:
        scores: Score of each class, ``rows x classes``.
        classes: The class with the largest score, ``rows``.
        margin: A state that is closer than this has the same class, ``rows``, float64.
    """

    scores: Tensor
    classes: Tensor
    margin: Tensor


@torch.no_grad()
def margins(head: nn.Module, value: Tensor, norm: str = "2") -> Margins:
    """Scores, classes and margins of states.

    Args:
        head: ``nn.Linear``, or ``nn.Sequential`` of linear layers, activations, batch normalisation
            and dropout that ends in a linear layer; used as in evaluation.
        value: The states, ``rows x d``.
        norm: The norm in which states are compared, ``"2"`` or ``"inf"``.

    Returns:
        The margins, reduced by what rounding can do to the scores; 0 where a class is not sure even
        for this very state.
    """
    *body, last = _layers(head)
    error = torch.zeros(value.shape[0], dtype=torch.float64, device=value.device)
    stretch, hidden = 1.0, value
    for layer in body:
        hidden, error, grown = _through(layer, hidden, error, norm)
        stretch *= grown
    if not isinstance(last, nn.Linear):
        raise InputError(
            f"a head that ends in {type(last).__name__} cannot be bounded: end it in nn.Linear"
        )
    scores = nn.functional.linear(hidden, last.weight, last.bias)
    classes = scores.argmax(-1)
    dtype, weight = scores.dtype, last.weight.to(torch.float64)
    # Each score is off by this much at most: its own rounding, and the error of the hidden states.
    size = weight.norm(dim=1).max()
    offset = 0.0 if last.bias is None else last.bias.abs().max().to(torch.float64)
    terms = gamma(torch.tensor(weight.shape[1] + 4), dtype).to(value.device)
    off = terms * (row_norms(hidden) * size + offset) + error * _dual(weight, norm).max()
    if weight.shape[0] == 1:
        return Margins(scores, classes, torch.full_like(off, torch.inf))
    apart = _dual(weight.unsqueeze(0) - weight.unsqueeze(1), norm) * (stretch * (1 + 1e-12))
    gap = scores.gather(1, classes.unsqueeze(1)) - scores
    # What is left of each gap after rounding, over how fast it can close.
    left = gap.to(torch.float64) * (1 - 4 * unit_roundoff(dtype)) - 2 * off.unsqueeze(1)
    distance = torch.where(left > 0, left / apart[classes], 0.0)
    distance.scatter_(1, classes.unsqueeze(1), torch.inf)
    return Margins(scores, classes, distance.amin(-1) * (1 - 1e-12))


@torch.no_grad()
def head_lipschitz(head: nn.Module, norm: str = "2") -> float:
    r"""A bound on :math:`\|s(y) - s(y')\| / \|y - y'\|` for the scores s: the product over the layers."""
    return math.prod(_lipschitz(layer, norm) for layer in _layers(head))


def _layers(head: nn.Module) -> Iterable[nn.Module]:
    layers = list(head) if isinstance(head, nn.Sequential) else [head]
    if not layers:
        raise InputError("an empty head gives no scores: end it in nn.Linear")
    return layers


def _lipschitz(layer: nn.Module, norm: str) -> float:
    if isinstance(layer, nn.Linear):
        return operator_norm(layer.weight.T, norm)
    if isinstance(layer, nn.BatchNorm1d):
        scale, _ = _affine(layer)
        return float(scale.abs().max()) * (1 + 8 * EPSILON)
    if isinstance(layer, (*_ONE_LIPSCHITZ, *_IDENTITY)):
        return 1.0
    raise InputError(
        f"a head with a {type(layer).__name__} cannot be bounded: use linear layers, ReLU, Tanh, "
        "Sigmoid, BatchNorm1d, Dropout"
    )


def _affine(layer: nn.BatchNorm1d) -> tuple[Tensor, Tensor]:
    """Batch normalisation in evaluation is ``scale * x + shift``."""
    if layer.running_mean is None or layer.running_var is None:
        raise InputError(
            "a BatchNorm1d without running statistics cannot be bounded: set track_running_stats"
        )
    mean, variance = layer.running_mean.double(), layer.running_var.double()
    scale = (variance + layer.eps).rsqrt()
    scale = scale if layer.weight is None else scale * layer.weight.double()
    return scale, (0.0 if layer.bias is None else layer.bias.double()) - mean * scale


def _through(
    layer: nn.Module, hidden: Tensor, error: Tensor, norm: str
) -> tuple[Tensor, Tensor, float]:
    """The layer's output in evaluation, how far rounding can have moved it, and its Lipschitz bound."""
    grown = _lipschitz(layer, norm)
    dtype = hidden.dtype
    if isinstance(layer, nn.Linear):
        terms = gamma(torch.tensor(layer.in_features + 4), dtype).to(hidden.device)
        size = layer.weight.to(torch.float64).norm()
        offset = 0.0 if layer.bias is None else layer.bias.to(torch.float64).norm()
        fresh = terms * (row_norms(hidden) * size + offset)
        return nn.functional.linear(hidden, layer.weight, layer.bias), error * grown + fresh, grown
    if isinstance(layer, nn.BatchNorm1d):
        scale, shift = _affine(layer)
        moved = hidden * scale.to(dtype) + shift.to(dtype)
        fresh = 8 * unit_roundoff(dtype) * (row_norms(hidden) * grown + shift.norm())
        return moved, error * grown + fresh, grown
    if isinstance(layer, _IDENTITY):
        return hidden, error, 1.0
    moved = layer(hidden)
    # relu is exact; the others are granted a few units in the last place.
    ulps = 0 if isinstance(layer, nn.ReLU) else 16
    return moved, error + ulps * unit_roundoff(dtype) * row_norms(moved), 1.0


def _dual(rows: Tensor, norm: str) -> Tensor:
    """The dual norm over the last dimension, rounded up."""
    size = rows.abs().sum(-1) if norm == "inf" else rows.norm(dim=-1)
    return size * (1 + (rows.shape[-1] + 8) * EPSILON)
