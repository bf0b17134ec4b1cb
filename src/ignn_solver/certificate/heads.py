r"""How far a state may move before its class can change.

For scores :math:`s = h(y) V + c` with a body h of Lipschitz constant L, the class with the largest
score cannot lose to class c' as long as y moves by less than
:math:`(s_c - s_{c'}) / (L \|v_c - v_{c'}\|_*)`, with the dual norm: the 2-norm, or the sum of absolute
values where states are measured in the infinity norm.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .. import kernels
from ..cache import LastMade
from ..errors import InputError
from .layers import dual, layers, lipschitz, through
from .rounding import gamma_of, norm_allowance, row_norms, unit_roundoff

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
        *self.body, last = layers(head)
        self.norm = norm
        self.stretch = math.prod(lipschitz(layer, norm) for layer in self.body)
        if not isinstance(last, nn.Linear):
            raise InputError(
                f"a head that ends in {type(last).__name__} cannot be bounded: end it in nn.Linear"
            )
        self.last = last
        weights = (last.weight,) if last.bias is None else (last.weight, last.bias)
        found = _measured.get(
            weights, lambda: _measure(*weights, norm=norm), (norm, kernels.backend())
        )
        apart, self.slope, self.intercept, self.passes_on, self._packed = found
        self.apart = apart * (self.stretch * (1 + 1e-12)) if self.body else apart

    @property
    def numbers(self) -> tuple[float, ...]:
        """What was measured of the head, in a few numbers: other weights have others."""
        return self.stretch, self.slope, self.intercept, self.passes_on

    @torch.no_grad()
    def margins(self, value: Tensor, value_sq: Tensor | None = None) -> Margins:
        """Scores, classes and margins of states; see :func:`margins`.

        Args:
            value: The states, ``rows x d``.
            value_sq: Squared norms of their rows, where they are known.
        """
        if not self.body and kernels.use_compiled(value):
            square = kernels.row_squares(value) if value_sq is None else value_sq
            allowed = norm_allowance(value.shape[1], value.dtype)
            keep = _kept(value.dtype)
            return Margins(
                *kernels.compiled_margins.margins(
                    self._packed, value, square, allowed, self.slope, self.intercept, keep
                )
            )
        rows = max(1, _CHUNK_BYTES // (8 * self.apart.shape[0]))
        if value.shape[0] <= rows:
            return self._margins(value)
        parts = [self._margins(part) for part in value.split(rows)]
        return Margins(*(torch.cat(found) for found in zip(*parts, strict=True)))

    def _margins(self, value: Tensor) -> Margins:
        hidden = value
        error: Tensor | None = None
        for layer in self.body:
            hidden, error = through(layer, hidden, error, self.norm)
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
        return Margins(scores, classes.squeeze(1), nearest * _kept(scores.dtype))


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


class _Linear(NamedTuple):
    """What is known of the last layer.

    Attributes:
        apart: Largest change of the difference of two scores a unit of movement, ``classes x classes``.
        slope: A score's rounding error is at most ``slope * (norm of its input) + intercept``.
        intercept: See ``slope``.
        passes_on: And it passes on an error of its input by at most this factor.
        packed: The layer as the compiled kernels read it, where they are in use.
    """

    apart: Tensor
    slope: float
    intercept: float
    passes_on: float
    packed: Any


_measured: LastMade[_Linear] = LastMade()


def _measure(weight: Tensor, bias: Tensor | None = None, *, norm: str) -> _Linear:
    exact = weight.detach().to(torch.float64)
    terms = gamma_of(weight.shape[1] + 4, weight.dtype) * (1 + 1e-12)
    apart = dual(exact.unsqueeze(0) - exact.unsqueeze(1), norm) * (1 + 1e-12)
    compiled = kernels.compiled_margins if kernels.use_compiled(weight) else None
    return _Linear(
        apart=apart,
        slope=terms * float(exact.norm(dim=1).max()),
        intercept=0.0 if bias is None else terms * float(bias.detach().abs().max()),
        passes_on=float(dual(exact, norm).max()),
        packed=None if compiled is None else compiled.prepare(weight, bias, apart),
    )


def _kept(dtype: torch.dtype) -> float:
    """What is kept of a margin after its own rounding."""
    return 1 - 4 * unit_roundoff(dtype)
