"""Stop a solve when the predictions are proven, not when a residual looks small."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor, nn

from ..equilibrium import EquilibriumMap, Evaluation
from ..errors import InputError
from .certify import Certificate, Certifier
from .heads import HeadBound, Margins

if TYPE_CHECKING:
    from ..ordering import Order

#: Worth a first look when the bound is about this large against the states, times the root of the
#: share of nodes that may stay unproven.
_FIRST_LOOK = 0.3
#: Bounds may be loose by this much of what one more evaluation would gain; half of that is what they are.
_LOOSENESS = 0.5
#: What a proof with f evaluated in float64 costs, in evaluations.
_EXACT_COST = 6
#: How many evaluations to wait where no residual, however small, would prove enough.
_OUT_OF_REACH = 10
#: Margins of the last look may still speak against this look where they leave so many more unproven than allowed.
_CLEARLY = 1.2
#: A guess looks at the margins of about this many nodes, if there are more.
_ENOUGH_FOR_A_GUESS = 2**14
_TINY = float(np.finfo(np.float64).tiny)
#: A pace is never taken for slower than this, so that its logarithm is not 0.
_SLOWEST = 1 - 1e-9


class CertifiedStop:
    """An observer for ``solve`` that stops it when enough classes are proven.

    It waits for the relative residual to fall to a target. The first target makes a proof plausible. There the
    bounds are guessed and compared with the margins, which says how much further the residual has to fall: that
    is the next target, at which the proof is tried. Margins are computed anew only
    if the old ones do not speak clearly against it. If it fails it says by how much, which gives the next target.
    So a guess and a proof are usual; a proof alone where a solve like it has been proven before. Where the
    allowance for rounding stands in the way, f is evaluated in float64 for the proof.

    Args:
        certifier: Makes the certificates of the map being solved.
        head: From states to scores.
        fraction: The share of the nodes to prove.
        nodes: Ids of the nodes that matter; all by default.

    Attributes:
        looks_from: The relative residual from which on it looks: it need not be called above that.
        checks: How many proofs were tried.
        certificate: The certificate of the last of them.
        margins: The margins, for the nodes that matter, that it was compared with last.
        matter: How many nodes matter.
        reached: Whether it proved enough.
        reached_at: A relative residual just above the one at which it did.
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
        self.looks_from = _FIRST_LOOK * math.sqrt(max(1 - fraction, 1e-3)) * (1 - factor) / factor
        self._guess: Certificate | None = None
        self._turned: tuple[Order, Certifier, Tensor | None] | None = None
        self._unproven = 0
        self.matter = certifier.f.adjacency.num_nodes if nodes is None else len(nodes)
        self._step = 1
        self._exactly = False
        self._before: tuple[int, float] = (0, 1.0)
        self._pace = factor

    def __call__(self, spent: int, evaluation: Evaluation) -> bool:
        """Whether the classes of enough nodes are proven by this evaluation."""
        relative = _relative_residual(evaluation)
        start, before = self._before
        # A solve shows its best evaluation again when the latest is no better.
        if not relative <= self.looks_from or not relative < before or spent <= start:
            return False
        if relative > 0:
            self._pace = min((relative / before) ** (1 / (spent - start)), _SLOWEST)
        self._before = (spent, relative)
        self._look(evaluation, relative)
        return self.reached

    @property
    def reached_at(self) -> float:
        """A relative residual just above the one of the last look: half an evaluation before it."""
        return self._before[1] / math.sqrt(self._pace)

    def expect(self, residual: float, certificate: Certificate) -> None:
        """Try a proof as soon as the relative residual is this low, without a guess: one like it succeeded there.

        Args:
            residual: The relative residual.
            certificate: That proof, of states of as many nodes.
        """
        self.looks_from, self._guess = residual, certificate
        self._exactly = certificate.evaluations > 0

    def turn(self, order: Order, f: EquilibriumMap) -> None:
        """Look at a solve of ``f``: the map of the certifier, with the nodes in another order."""
        self._turned = (order, self.certifier, self.nodes)
        self.certifier = Certifier(f)
        self.nodes = None if self.nodes is None else order.places[self.nodes]
        if self._guess is not None:
            self._guess = _in_order(self._guess, order.nodes)

    def turn_back(self) -> None:
        """Put what was found into the order that the nodes had."""
        assert self._turned is not None
        order, self.certifier, self.nodes = self._turned
        self._turned = self._guess = None
        if self.certificate is not None:
            self.certificate = _in_order(self.certificate, order.places)
        if self.margins is not None and self.nodes is None:
            self.margins = Margins(*(found[order.places] for found in self.margins))

    def _look(self, evaluation: Evaluation, relative: float) -> None:
        current = False
        if self._guess is None:
            self._step = max(1, self.matter // _ENOUGH_FOR_A_GUESS)
            self._guess = self.certifier.guess(evaluation)
            self.margins = self._margins(evaluation)
            self._unproven = self._count(self._guess)
            if not self._proven():
                self._plan(self._guess, relative)
                return
            current = self._step == 1
        self._prove(evaluation, relative, current)

    def _prove(self, evaluation: Evaluation, relative: float, current: bool) -> None:
        """Try a proof; the margins are ``current`` if they are those of all nodes at this evaluation."""
        exactly = self._exactly
        if self.margins is None:
            self.margins, current = self._margins(evaluation), True
        found = self._certified(evaluation, self._enough())
        if self._plausible():
            if not current:
                self._step, current = 1, True
                self.margins = self._margins(evaluation)
                self._unproven = self._count(found)
            if not self._proven() and self._plausible() and not exactly:
                # A close miss: a tighter bound costs less than another evaluation.
                found = self._certified(evaluation, self._enough() / 4)
            self.reached = self._proven()
        if not self.reached:
            self._plan(found, relative)
            if self._exactly and not exactly and relative <= self.looks_from:
                self._prove(evaluation, relative, current)

    def _certified(self, evaluation: Evaluation, enough: float) -> Certificate:
        self.checks += 1
        if self._exactly:
            found = self.certifier.exact(evaluation.value, enough=enough)
        else:
            near = self.certificate or self._guess
            found = self.certifier.observe(evaluation, enough=enough, near=near)
        self.certificate, self._unproven = found, self._count(found)
        return found

    def _margins(self, evaluation: Evaluation) -> Margins:
        return self.head.margins(self._rows(evaluation.value), self._rows(evaluation.value_sq))

    def _plausible(self) -> bool:
        """Whether so few nodes are unproven that better bounds or other margins might make up for them."""
        return self._unproven <= _CLEARLY * self._allowed() + 1

    def _proven(self) -> bool:
        return self._unproven <= self._allowed()

    def _rows(self, x: Tensor) -> Tensor:
        """Those of the nodes that matter; for a guess, evenly some of them."""
        return (x if self.nodes is None else x[self.nodes])[:: self._step]

    def _count(self, found: Certificate) -> int:
        """How many nodes are unproven."""
        assert self.margins is not None
        proven = is_certified(self.margins, self._rows(found.bound)).cpu().numpy()
        return len(proven) - int(np.count_nonzero(proven))

    def _allowed(self) -> int:
        """How many nodes may stay unproven."""
        nodes = math.ceil(self.matter / self._step)
        return nodes - math.ceil(self.fraction * nodes)

    def _plan(self, found: Certificate, relative: float) -> None:
        """From which residual on to look again, and whether to evaluate f in float64 then.

        That is worth its cost where the allowance for rounding would ask for more evaluations.
        """
        assert self.margins is not None
        bound, rounding = self._rows(found.bound), self._rows(found.rounding)
        margin, rank = self.margins.margin, self._allowed() + 1
        wanted = wanted_share(margin, bound, rounding, rank)
        self._exactly = False
        if self._steps(wanted) > _EXACT_COST:
            without = wanted_share(margin, bound, rounding, rank, granted=False)
            self._exactly = self._steps(without) + _EXACT_COST < self._steps(wanted)
            wanted = without if self._exactly else wanted
        # Where nothing would help, later states may.
        share = wanted if wanted > 0 else self._pace**_OUT_OF_REACH
        self.looks_from = min(share, 1.0) * relative

    def _enough(self) -> float:
        """How loose bounds may be, as a share."""
        return max(0.02, _LOOSENESS * (1 - self._pace))

    def _steps(self, share: float) -> float:
        """Evaluations until this share of the residual is left, at its last pace."""
        if share >= 1:
            return 0
        return math.ceil(math.log(share) / math.log(self._pace)) if share > 0 else math.inf


def is_certified(found: Margins, bound: Tensor) -> Tensor:
    """Whether each class is proven: the margin exceeds the bound."""
    return found.margin > bound


def _in_order(found: Certificate, nodes: Tensor) -> Certificate:
    """The certificate with its nodes in another order."""
    beyond = None if found.beyond is None else found.beyond[nodes]
    return replace(found, bound=found.bound[nodes], rounding=found.rounding[nodes], beyond=beyond)


def _relative_residual(evaluation: Evaluation) -> float:
    total, size = (
        float(np.add.reduce(squares.cpu().numpy(), dtype=np.float64)) for squares in evaluation[1:]
    )
    return 0.0 if total == 0 else math.sqrt(total / size)


def wanted_share(
    margin: Tensor, bound: Tensor, rounding: Tensor, rank: int, granted: bool = True
) -> float:
    """What has to be left of the residual for all but ``rank - 1`` nodes to be proven; 0 or less if nothing helps.

    Args:
        margin: The margin of each node, ``n``.
        bound: Its bound, ``n``.
        rounding: What of that does not fall with the residual, ``n``.
        rank: From 1 to ``n``.
        granted: Whether that has to be granted; otherwise it is left out.
    """
    # Some thousand numbers: numpy is done with them before torch has begun.
    margin_of, bound_of, rounding_of = (one.cpu().numpy() for one in (margin, bound, rounding))
    kept = margin_of - rounding_of if granted else margin_of
    shares = kept / np.maximum(bound_of - rounding_of, _TINY)
    place = min(rank, len(shares)) - 1
    return float(np.partition(shares, place)[place])
