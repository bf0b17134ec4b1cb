"""Per-node bounds on the distance to the exact equilibrium."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

from .. import kernels
from ..equilibrium import EquilibriumMap, Evaluation
from ..errors import InputError
from ..solving import Solution
from . import rounding
from .bounding import Measured, bounded, guessed
from .bounds import Sweeper
from .factor import Factor, measured_factor, objection


@dataclass(frozen=True)
class Certificate:
    r"""How far each node's state can be from the exact equilibrium of the map in memory.

    Attributes:
        bound: :math:`\|y_i - z^\star_i\| \le \text{bound}_i`, ``n``, float64; infinite if nothing is known.
        rounding: The part of ``bound`` that is granted to rounding and does not shrink with the
            residual, ``n``.
        norm: The norm of the rows: ``"2"`` or ``"inf"``.
        factor: The contraction factor that was measured.
        sweeps: Products of A with a vector that were spent.
        reason: Why nothing could be proven, in a sentence; ``None`` if the bound is good.
        evaluations: Evaluations of f, in float64, that were spent besides those of the solve.
        beyond: What sweeps add to the residual and to what is granted of it, about, ``n x 2``: with it the
            certificate of states not far away takes fewer.
    """

    bound: Tensor = field(repr=False)
    rounding: Tensor = field(repr=False)
    norm: str
    factor: float
    sweeps: int
    reason: str | None = None
    evaluations: int = 0
    beyond: Tensor | None = field(default=None, repr=False)

    def at(self, share: float) -> Tensor:
        """The bound that these states would have with ``share`` times the residual, ``n``."""
        return share * (self.bound - self.rounding) + self.rounding


class Certifier:
    """Makes certificates for one map; what does not depend on the states is computed once.

    Args:
        f: The map.

    Attributes:
        factor: What was measured of its weight.
        reason: Why nothing can be proven, in a sentence, or ``None``.
    """

    def __init__(self, f: EquilibriumMap) -> None:
        self.f = f.detach()
        self.factor: Factor = measured_factor(self.f)
        self.reason = objection(self.f, self.factor)
        self.sweeper = None if self.reason else Sweeper.of(f.adjacency, self.factor)
        if self.sweeper is None and self.reason is None:
            self.reason = (
                "no certificate: no positive vector was found that A times the contraction factor "
                f"{self.factor.value:.6g} shrinks: lower kappa, or normalise the adjacency"
            )

    @cached_property
    def _bias_sq(self) -> Tensor:
        return kernels.row_squares(self.f.bias)

    def certify(self, solution: Solution, *, sweeps: int = 100, exact: bool = False) -> Certificate:
        """The certificate of ``solution.value``; see :func:`certify`."""
        value = solution.value
        if value.shape != self.f.bias.shape:
            raise InputError(
                f"the solution has shape {tuple(value.shape)}, but the map {tuple(self.f.bias.shape)}: "
                "certify a solution with the map that it solves"
            )
        if exact:
            return self.exact(value, sweeps=sweeps)
        squares = solution.node_residual.to(torch.float64).square()
        return self._bounded(squares, kernels.row_squares(value), solution.at_value, sweeps, 0.02)

    def observe(
        self,
        evaluation: Evaluation,
        *,
        sweeps: int = 24,
        enough: float = 0.1,
        near: Certificate | None = None,
    ) -> Certificate:
        """The certificate of ``evaluation.value``, for looking in on a solve: somewhat less tight.

        Args:
            evaluation: The evaluation.
            sweeps: Products of A with a vector to spend at most.
            enough: How loose the bounds may be, as a share.
            near: A certificate of states not far away: what it found takes fewer sweeps to improve.
        """
        return self._bounded(
            evaluation.residual_sq, evaluation.value_sq, False, sweeps, enough, near=near
        )

    def guess(self, evaluation: Evaluation) -> Certificate:
        """About what :meth:`observe` would give, without a single sweep: it proves nothing."""
        rows = evaluation.residual_sq.shape[0]
        if self.sweeper is None:
            return self._nothing(rows)
        squares = evaluation.residual_sq, evaluation.value_sq, self._bias_sq
        measured = Measured(*squares, False, self.f.bias.dtype)
        found = guessed(self.f, self.factor, self.sweeper, measured)
        if found is None:
            return self._nothing(rows, finite=False)
        return Certificate(*found, self.factor.norm, self.factor.value, 0)

    def exact(self, value: Tensor, *, sweeps: int = 100, enough: float = 0.02) -> Certificate:
        """The certificate of any states, from an evaluation of f at them in float64."""
        if self.sweeper is None:
            return self._nothing(value.shape[0])
        found = self._bounded(
            rounding.exact_residual_sq(self.f, value),
            kernels.row_squares(value),
            True,
            sweeps,
            enough,
            torch.float64,
        )
        return replace(found, evaluations=1)

    def _bounded(
        self,
        residual_sq: Tensor,
        value_sq: Tensor,
        at_value: bool,
        sweeps: int,
        enough: float,
        dtype: torch.dtype | None = None,
        near: Certificate | None = None,
    ) -> Certificate:
        """The certificate from squared row norms; ``dtype`` is the type in which f was computed."""
        if self.sweeper is None:
            return self._nothing(residual_sq.shape[0])
        dtype = dtype or self.f.bias.dtype
        measured = Measured(residual_sq, value_sq, self._bias_sq, at_value, dtype)
        start = None if near is None else near.beyond
        found = bounded(self.f, self.factor, self.sweeper, measured, sweeps, enough, start)
        if found is None:
            return self._nothing(residual_sq.shape[0], finite=False)
        bound, granted, beyond, spent = found
        factor = self.factor
        return Certificate(bound, granted, factor.norm, factor.value, spent, beyond=beyond)

    def _nothing(self, rows: int, finite: bool = True) -> Certificate:
        unknown = torch.full((rows,), torch.inf, dtype=torch.float64, device=self.f.bias.device)
        reason = self.reason
        if not finite and reason is None:
            reason = (
                "no certificate: the states hold NaN or infinity: check the features and weights"
            )
        return Certificate(unknown, unknown, self.factor.norm, self.factor.value, 0, reason)


@torch.no_grad()
def certify(
    f: EquilibriumMap, solution: Solution, *, sweeps: int = 100, exact: bool = False
) -> Certificate:
    r"""Prove how far each node of a solution can be from the exact equilibrium.

    With r the norms of the rows of :math:`f(z) - z`, the errors obey :math:`e \le r + \kappa A e` entry by
    entry, where :math:`\kappa` is measured on the weight. The problem that is certified is the one in
    memory: A, W and b as they were rounded to the type of the model.

    Args:
        f: The map that ``solution`` solves.
        solution: What a solve (or a local update) reached.
        sweeps: Products of A with a vector to spend at most; each costs about 1/d of an evaluation.
        exact: Evaluate f once more, in float64, at the solution: costs as much as several evaluations,
            and the part of the bound that is granted to rounding falls to nothing.

    Returns:
        The certificate. Where the assumptions fail, its ``reason`` says why and every bound is infinite.
    """
    return Certifier(f).certify(solution, sweeps=sweeps, exact=exact)
