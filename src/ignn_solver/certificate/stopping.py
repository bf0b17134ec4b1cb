"""Stop a solve when the predictions are proven, not when a residual looks small."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..equilibrium import Evaluation
from ..errors import InputError
from .certify import Certificate, Certifier
from .heads import Margins, margins

#: Worth a first look when the bound is about this large against the states.
_FIRST_LOOK = 0.1
#: A check tells how far the bound has to fall; look again a little before it should be there.
_EARLY = 0.9


class CertifiedStop:
    """An observer for ``solve`` that stops it when enough classes are proven.

    A check costs the head's scores and a few products of A with two vectors. Each check tells by how much
    the bound has still to shrink, and the fall of the residual tells when that will be: so two or three
    checks are usual.

    Args:
        certifier: Makes the certificates of the map being solved.
        head: From states to scores.
        fraction: The share of the nodes to prove.
        nodes: The nodes that matter, a mask or ids; all by default.

    Attributes:
        checks: How many checks were made.
        certificate: The certificate of the last check.
        reached: Whether the last check proved enough.
    """

    def __init__(
        self,
        certifier: Certifier,
        head: nn.Module,
        fraction: float = 0.99,
        nodes: Tensor | None = None,
    ) -> None:
        if not 0 < fraction <= 1:
            raise InputError(f"fraction must be above 0 and at most 1, not {fraction}")
        if certifier.reason is not None:
            raise InputError(f"{certifier.reason}; without one, stop on the residual")
        self.certifier, self.head, self.fraction = certifier, head, fraction
        self.nodes = nodes
        self.checks = 0
        self.certificate: Certificate | None = None
        self.reached = False
        self._due = 1.0
        self._first: tuple[int, float] | None = None

    def __call__(self, spent: int, evaluation: Evaluation) -> bool:
        """Whether the classes of enough nodes are proven by this evaluation."""
        relative = self._relative(evaluation)
        if not math.isfinite(relative):
            return False
        if self._first is None:
            self._first = (spent, relative)
        factor = self.certifier.factor.value
        if relative * factor / (1 - factor) > _FIRST_LOOK or spent < self._due:
            return False
        self.checks += 1
        self.certificate = self.certifier.observe(evaluation)
        wanted = self._shrink(self.certificate, evaluation.value)
        self.reached = wanted >= 1
        if not self.reached:
            steps = math.log(wanted) / math.log(self._rate(spent, relative)) if wanted > 0 else 8.0
            self._due = spent + max(1.0, math.ceil(_EARLY * steps))
        return self.reached

    def _relative(self, evaluation: Evaluation) -> float:
        total = float(evaluation.residual_sq.sum(dtype=torch.float64))
        size = float(evaluation.value_sq.sum(dtype=torch.float64))
        return math.sqrt(total / size) if size > 0 else 0.0

    def _rate(self, spent: int, relative: float) -> float:
        """How much the residual fell per evaluation so far."""
        assert self._first is not None
        start, first = self._first
        if spent == start or not 0 < relative < first:
            return self.certifier.factor.value
        return (relative / first) ** (1 / (spent - start))

    def _shrink(self, certificate: Certificate, value: Tensor) -> float:
        """By what the residual's part of the bound must be multiplied; 1 or more if all is proven."""
        bound, rounding = certificate.bound, certificate.rounding
        if self.nodes is not None:
            value, bound, rounding = value[self.nodes], bound[self.nodes], rounding[self.nodes]
        found = margins(self.head, value, certificate.norm)
        if self.fraction <= float(is_certified(found, bound).double().mean()):
            return 1.0
        share = (found.margin - rounding) / (bound - rounding).clamp_min(1e-300)
        rank = max(1, math.floor((1 - self.fraction) * share.numel()) + 1)
        return min(0.999, float(share.kthvalue(min(rank, share.numel())).values.clamp_min(0)))


def is_certified(found: Margins, bound: Tensor) -> Tensor:
    """Whether each class is proven: the margin exceeds the bound."""
    return found.margin > bound
