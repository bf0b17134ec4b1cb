"""Stop a solve when the predictions are proven, not when a residual looks small."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..equilibrium import Evaluation
from ..errors import InputError
from .certify import Certificate, Certifier
from .heads import HeadBound, Margins

#: Worth a first look when the bound is about this large against the states, times the root of the
#: share of nodes that may stay unproven.
_FIRST_LOOK = 0.3
#: Guesses are made on this many nodes; proofs on all of them.
_SAMPLE = 512
#: A guess says that the bounds are this much smaller than they will turn out to be.
_OPTIMISM = 1.4
#: What a proof with f evaluated in float64 costs, in evaluations.
_EXACT_COST = 6
#: How long to wait where no residual, however small, would prove enough.
_OUT_OF_REACH = 10
_TINY = torch.finfo(torch.float64).tiny


class CertifiedStop:
    """An observer for ``solve`` that stops it when enough classes are proven.

    First it guesses the bounds, on a sample of the nodes. That tells by how much they have still to
    shrink, and the fall of the residual tells when that will be. Only then is the proof tried: the
    scores of every node, and a dozen products of A with two vectors. If it fails, it tells in turn when
    to try again. So a guess and one or two proofs are usual. Where the allowance for rounding stands in
    the way, f is evaluated in float64 for the proof.

    Args:
        certifier: Makes the certificates of the map being solved.
        head: From states to scores.
        fraction: The share of the nodes to prove.
        nodes: Ids of the nodes that matter; all by default.

    Attributes:
        checks: How many proofs were tried.
        certificate: The certificate of the last of them.
        margins: The margins, for the nodes that matter, that it compared with.
        reached: Whether it proved enough.
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
        self.certifier, self.fraction, self.nodes = certifier, fraction, nodes
        self.head = HeadBound(head, certifier.factor.norm)
        self.checks = 0
        self.certificate: Certificate | None = None
        self.margins: Margins | None = None
        self.reached = False
        count = certifier.f.adjacency.num_nodes if nodes is None else nodes.numel()
        picked = torch.arange(0, count, max(1, count // _SAMPLE))
        self._sample = picked if nodes is None else nodes[picked]
        self._due: float = 0
        self._exactly = False
        self._before: tuple[int, float] | None = None

    def __call__(self, spent: int, evaluation: Evaluation) -> bool:
        """Whether the classes of enough nodes are proven by this evaluation."""
        # The evaluation before the one that is due tells the pace; those in between tell nothing.
        if spent + 1 < self._due:
            return False
        relative = _relative_residual(evaluation)
        if not math.isfinite(relative):
            return False
        factor = self.certifier.factor.value
        first = _FIRST_LOOK * math.sqrt(max(1 - self.fraction, 1e-3))
        if relative * factor / (1 - factor) > first:
            self._before = (spent, relative)
            return False
        if spent < self._due:
            self._before = (spent, relative)
            return False
        if self._due == 0:
            guess = self.certifier.guess(evaluation, self._sample)
            found = self.head.margins(evaluation.value[self._sample])
            self._plan(guess.bound, guess.rounding, found, spent, relative, _OPTIMISM)
        if spent >= self._due:
            self._prove(evaluation, spent, relative)
        self._before = (spent, relative)
        return self.reached

    def _prove(self, evaluation: Evaluation, spent: int, relative: float) -> None:
        self.checks += 1
        value = evaluation.value
        if self._exactly:
            self.certificate = self.certifier.exact(value)
        else:
            self.certificate = self.certifier.observe(evaluation)
        bound, rounding = self.certificate.bound, self.certificate.rounding
        if self.nodes is not None:
            value, bound, rounding = value[self.nodes], bound[self.nodes], rounding[self.nodes]
        self.margins = self.head.margins(value)
        proven = is_certified(self.margins, bound)
        self.reached = float(proven.double().mean()) >= self.fraction
        if not self.reached:
            self._plan(bound, rounding, self.margins, spent, relative)
            self._due = max(self._due, spent + 1)

    def _plan(
        self,
        bound: Tensor,
        rounding: Tensor,
        found: Margins,
        spent: int,
        relative: float,
        optimism: float = 1.0,
    ) -> None:
        """When to try a proof, and whether to evaluate f in float64 for it.

        That is worth its cost where the allowance for rounding would ask for more evaluations.
        """
        falls = (bound - rounding).clamp_min(_TINY) * optimism
        with_rounding = self._steps((found.margin - rounding) / falls, spent, relative)
        without = self._steps(found.margin / falls, spent, relative)
        self._exactly = without + _EXACT_COST < with_rounding
        steps = without if self._exactly else with_rounding
        self._due = spent + (steps if math.isfinite(steps) else _OUT_OF_REACH)

    def _steps(self, wanted: Tensor, spent: int, relative: float) -> float:
        """Evaluations until the residual has fallen by what enough nodes want, at its last pace."""
        rank = math.floor((1 - self.fraction) * wanted.numel()) + 1
        share = float(wanted.kthvalue(min(rank, wanted.numel())).values)
        if share >= 1:
            return 0
        if not share > 0:
            return math.inf
        rate = self.certifier.factor.value
        if self._before is not None and 0 < relative < self._before[1]:
            start, before = self._before
            rate = (relative / before) ** (1 / max(1, spent - start))
        return math.ceil(math.log(share) / math.log(rate))


def is_certified(found: Margins, bound: Tensor) -> Tensor:
    """Whether each class is proven: the margin exceeds the bound."""
    return found.margin > bound


def _relative_residual(evaluation: Evaluation) -> float:
    total = float(evaluation.residual_sq.sum(dtype=torch.float64))
    size = float(evaluation.value_sq.sum(dtype=torch.float64))
    return 0.0 if total == 0 else math.sqrt(total / size)
