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
#: Bounds may be loose by this much of what one more evaluation would gain; half of that is what they are.
_LOOSENESS = 0.5
#: What a proof with f evaluated in float64 costs, in evaluations.
_EXACT_COST = 6
#: How long to wait where no residual, however small, would prove enough.
_OUT_OF_REACH = 10
#: A pace is never taken for slower than this, so that its logarithm is not 0.
_SLOWEST = 1 - 1e-9
_TINY = torch.finfo(torch.float64).tiny


class CertifiedStop:
    """An observer for ``solve`` that stops it when enough classes are proven.

    It waits for the relative residual to fall to a target, and looks at it a few times on the way: after
    half of the evaluations that are left at the pace so far. The first target makes a proof plausible. There
    the bounds are guessed, without a product, and compared with the margins: that gives the second target,
    at which the proof is tried. If it fails it says by how much, which gives the next. So a guess and one or
    two proofs are usual. Where the allowance for rounding stands in the way, f is evaluated in float64 for
    the proof.

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

    keeps_no_value = True

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
        factor = certifier.factor.value
        self._target = _FIRST_LOOK * math.sqrt(max(1 - fraction, 1e-3)) * (1 - factor) / factor
        #: Above this relative residual it would not look: a solve may round there.
        self.looks_from = self._target
        self._guessed = False
        self._exactly = False
        self._due: float = 0
        self._before: tuple[int, float] | None = None
        self._pace = factor

    def __call__(self, spent: int, evaluation: Evaluation) -> bool:
        """Whether the classes of enough nodes are proven by this evaluation."""
        if spent < self._due:
            return False
        relative = _relative_residual(evaluation)
        if not math.isfinite(relative):
            return False
        known = self._before is not None and self._fell(spent, relative)
        self._before = (spent, relative)
        if not self._guessed and relative <= self._target:
            guess = self.certifier.guess(evaluation)
            self._plan(guess, self._margins(evaluation), relative)
        if self._guessed and relative <= self._target:
            self._prove(evaluation, relative)
        self._due = spent + (self._wait(relative) if known else 1)
        return self.reached

    def _fell(self, spent: int, relative: float) -> bool:
        """Note the pace of the residual since the last look; whether it fell."""
        assert self._before is not None
        start, before = self._before
        if not 0 < relative < before:
            return False
        self._pace = min((relative / before) ** (1 / (spent - start)), _SLOWEST)
        return True

    def _wait(self, relative: float) -> int:
        """How many evaluations to let pass: half of those to the target, because the pace changes."""
        if self._target == math.inf:
            return _OUT_OF_REACH
        return max(1, math.ceil(self._steps(self._target / relative) / 2))

    def _prove(self, evaluation: Evaluation, relative: float) -> None:
        self.checks += 1
        enough = max(0.02, _LOOSENESS * (1 - self._pace))
        if self._exactly:
            self.certificate = self.certifier.exact(evaluation.value, enough=enough)
        else:
            self.certificate = self.certifier.observe(evaluation, enough=enough)
        self.margins = self._margins(evaluation)
        proven = is_certified(self.margins, self._rows(self.certificate.bound))
        self.reached = int(proven.count_nonzero()) >= self.fraction * proven.numel()
        if not self.reached:
            exactly = self._exactly
            self._plan(self.certificate, self.margins, relative)
            if self._exactly and not exactly and relative <= self._target:
                self._prove(evaluation, relative)

    def _margins(self, evaluation: Evaluation) -> Margins:
        return self.head.margins(self._rows(evaluation.value), self._rows(evaluation.value_sq))

    def _rows(self, x: Tensor) -> Tensor:
        return x if self.nodes is None else x[self.nodes]

    def _plan(self, found: Certificate, margins: Margins, relative: float) -> None:
        """At which residual to try a proof, and whether to evaluate f in float64 for it.

        That is worth its cost where the allowance for rounding would ask for more evaluations.
        """
        bound, rounding = self._rows(found.bound), self._rows(found.rounding)
        falls = (bound - rounding).clamp_min(_TINY)
        wanted = self._share((margins.margin - rounding) / falls)
        self._exactly = False
        if self._steps(wanted) > _EXACT_COST:
            without = self._share(margins.margin / falls)
            self._exactly = self._steps(without) + _EXACT_COST < self._steps(wanted)
            wanted = without if self._exactly else wanted
        # Where nothing would help the guess is made again, later.
        self._guessed = wanted > 0
        self._target = min(wanted, 1.0) * relative if wanted > 0 else math.inf

    def _share(self, wanted: Tensor) -> float:
        """What has to be left of the residual for enough nodes, given what each of them wants."""
        rank = math.floor((1 - self.fraction) * wanted.numel()) + 1
        return float(wanted.kthvalue(min(rank, wanted.numel())).values)

    def _steps(self, share: float) -> float:
        """Evaluations until this share of the residual is left, at its last pace."""
        if share >= 1:
            return 0
        return math.ceil(math.log(share) / math.log(self._pace)) if share > 0 else math.inf


def is_certified(found: Margins, bound: Tensor) -> Tensor:
    """Whether each class is proven: the margin exceeds the bound."""
    return found.margin > bound


def _relative_residual(evaluation: Evaluation) -> float:
    total = float(evaluation.residual_sq.sum(dtype=torch.float64))
    size = float(evaluation.value_sq.sum(dtype=torch.float64))
    return 0.0 if total == 0 else math.sqrt(total / size)
