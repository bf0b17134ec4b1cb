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
#: Gaps are compared for as many rows at once as stay in the cache.
_CHUNK_BYTES = 2**19


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


class HeadBound:
    """A head with what can be said of it once for all states.

    Args:
        head: ``nn.Linear``, or ``nn.Sequential`` of linear layers, activations, batch normalisation
            and dropout that ends in a linear layer; used as in evaluation.
        norm: The norm in which states are compared, ``"2"`` or ``"inf"``.
    """

    @torch.no_grad()
    def __init__(self, head: nn.Module, norm: str = "2") -> None:
        *self.body, last = _layers(head)
        self.norm = norm
        stretch = math.prod(_lipschitz(layer, norm) for layer in self.body)
        if not isinstance(last, nn.Linear):
            raise InputError(
                f"a head that ends in {type(last).__name__} cannot be bounded: end it in nn.Linear"
            )
        self.last = last
        weight = last.weight.to(torch.float64)
        #: Largest change of the difference of two scores a unit of movement of the state.
        self.apart = _dual(weight.unsqueeze(0) - weight.unsqueeze(1), norm) * stretch * (1 + 1e-12)
        terms = gamma(torch.tensor(weight.shape[1] + 4), last.weight.dtype)
        offset = 0.0 if last.bias is None else float(last.bias.abs().max())
        #: A score's rounding error is at most slope * (norm of its input) + intercept.
        self.slope = float(terms) * float(weight.norm(dim=1).max()) * (1 + 1e-12)
        self.intercept = float(terms) * offset * (1 + 1e-12)
        #: And it passes on an error of its input by at most this factor.
        self.passes_on = float(_dual(weight, norm).max())

    @torch.no_grad()
    def margins(self, value: Tensor) -> Margins:
        """Scores, classes and margins of states, ``rows x d``; see :func:`margins`."""
        rows = max(1, _CHUNK_BYTES // (8 * self.apart.shape[0]))
        if value.shape[0] <= rows:
            return self._margins(value)
        parts = [self._margins(part) for part in value.split(rows)]
        return Margins(*(torch.cat(found) for found in zip(*parts, strict=True)))

    def _margins(self, value: Tensor) -> Margins:
        hidden = value
        error: Tensor | None = None
        for layer in self.body:
            hidden, error = _through(layer, hidden, error, self.norm)
        scores = nn.functional.linear(hidden, self.last.weight, self.last.bias)
        classes = scores.argmax(-1, keepdim=True)
        off = row_norms(hidden) * self.slope + self.intercept
        if error is not None:
            off += error * self.passes_on
        if scores.shape[1] == 1:
            return Margins(scores, classes.squeeze(1), torch.full_like(off, torch.inf))
        # What is left of each gap after rounding, over how fast it can close; a class is no rival of
        # its own, and two that differ by nothing but rounding are 0 apart.
        gap = (scores.gather(1, classes) - scores).to(torch.float64)
        left = gap.sub_(off.unsqueeze(1), alpha=2 + 1e-9).clamp_min_(0)
        distance = left.div_(self.apart[classes.squeeze(1)]).nan_to_num_(0.0, torch.inf)
        nearest = distance.scatter_(1, classes, torch.inf).amin(-1)
        return Margins(scores, classes.squeeze(1), nearest * (1 - 4 * unit_roundoff(scores.dtype)))


def margins(head: nn.Module, value: Tensor, norm: str = "2") -> Margins:
    """Scores, classes and margins of states.

    Args:
        head: From states to scores; see :class:`HeadBound`.
        value: The states, ``rows x d``.
        norm: The norm in which states are compared, ``"2"`` or ``"inf"``.

    Returns:
        The margins, reduced by what rounding can do to the scores; 0 where a class is not sure even
        for this very state.
    """
    return HeadBound(head, norm).margins(value)


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
    layer: nn.Module, hidden: Tensor, error: Tensor | None, norm: str
) -> tuple[Tensor, Tensor]:
    """The layer's output in evaluation, and how far rounding can have moved it."""
    grown, dtype = _lipschitz(layer, norm), hidden.dtype
    if error is None:
        error = hidden.new_zeros(hidden.shape[0], dtype=torch.float64)
    if isinstance(layer, nn.Linear):
        terms = gamma(torch.tensor(layer.in_features + 4), dtype).to(hidden.device)
        size = layer.weight.to(torch.float64).norm()
        offset = 0.0 if layer.bias is None else layer.bias.to(torch.float64).norm()
        fresh = terms * (row_norms(hidden) * size + offset)
        return nn.functional.linear(hidden, layer.weight, layer.bias), error * grown + fresh
    if isinstance(layer, nn.BatchNorm1d):
        scale, shift = _affine(layer)
        moved = hidden * scale.to(dtype) + shift.to(dtype)
        fresh = 8 * unit_roundoff(dtype) * (row_norms(hidden) * grown + shift.norm())
        return moved, error * grown + fresh
    if isinstance(layer, _IDENTITY):
        return hidden, error
    moved = layer(hidden)
    # relu is exact; the others are granted a few units in the last place.
    ulps = 0 if isinstance(layer, nn.ReLU) else 16
    return moved, error + ulps * unit_roundoff(dtype) * row_norms(moved)


def _dual(rows: Tensor, norm: str) -> Tensor:
    """The dual norm over the last dimension, rounded up."""
    size = rows.abs().sum(-1) if norm == "inf" else rows.norm(dim=-1)
    return size * (1 + (rows.shape[-1] + 8) * EPSILON)
