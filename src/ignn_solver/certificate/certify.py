"""Per-node bounds on the distance to the exact equilibrium."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

from ..equilibrium import EquilibriumMap, Evaluation
from ..errors import InputError
from ..solving import Solution
from . import rounding
from .bounds import Sweeper
from .factor import EPSILON, Factor, measured_factor, objection


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
    """

    bound: Tensor = field(repr=False)
    rounding: Tensor = field(repr=False)
    norm: str
    factor: float
    sweeps: int
    reason: str | None = None
    evaluations: int = 0

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
        self.sweeper = None if self.reason else Sweeper.build(f.adjacency, self.factor)
        if self.sweeper is None and self.reason is None:
            self.reason = (
                "no certificate: no positive vector was found that A times the contraction factor "
                f"{self.factor.value:.6g} shrinks: lower kappa, or normalise the adjacency"
            )

    @cached_property
    def _bias_norm(self) -> Tensor:
        return rounding.row_norms(self.f.bias)

    def certify(self, solution: Solution, *, sweeps: int = 100, exact: bool = False) -> Certificate:
        """The certificate of ``solution.value``; see :func:`certify`."""
        value, width = solution.value, solution.value.shape[1]
        if value.shape != self.f.bias.shape:
            raise InputError(
                f"the solution has shape {tuple(value.shape)}, but the map {tuple(self.f.bias.shape)}: "
                "certify a solution with the map that it solves"
            )
        if exact:
            return self.exact(value, sweeps=sweeps)
        squares = solution.node_residual.to(torch.float64).square()
        residual = rounding.upper_norms(squares, width, value.dtype)
        return self._bounded(residual, rounding.row_norms(value), solution.at_value, sweeps)

    def observe(self, evaluation: Evaluation, *, sweeps: int = 16) -> Certificate:
        """The certificate of ``evaluation.value``, for looking in on a solve: somewhat less tight."""
        residual, value_norm = self._norms(evaluation)
        return self._bounded(residual, value_norm, False, sweeps, enough=0.1)

    def guess(self, evaluation: Evaluation, rows: Tensor) -> Certificate:
        """About what :meth:`observe` would give for some nodes, at hardly any cost; it proves nothing."""
        assert self.sweeper is not None
        factor, width, dtype = self.factor.value, self.f.bias.shape[1], self.f.bias.dtype
        residual = rounding.upper_norms(evaluation.residual_sq, width, dtype).unsqueeze(-1)
        # A node's neighbours are taken to be like itself, and the rest of the graph like its mean.
        passed_on = factor * self.sweeper.first_estimate(residual)[rows, 0]
        size = rounding.upper_norms(evaluation.value_sq[rows], width, dtype)
        terms = rounding.gamma(torch.tensor(2 * width), dtype)
        error = terms * self.factor.absolute * size / (1 - factor)
        return Certificate(passed_on + error, error, self.factor.norm, factor, 0)

    def _norms(self, evaluation: Evaluation) -> tuple[Tensor, Tensor]:
        width, dtype = evaluation.value.shape[1], evaluation.value.dtype
        return (
            rounding.upper_norms(evaluation.residual_sq, width, dtype),
            rounding.upper_norms(evaluation.value_sq, width, dtype),
        )

    def exact(self, value: Tensor, *, sweeps: int = 100) -> Certificate:
        """The certificate of any states, from an evaluation of f at them in float64."""
        if self.sweeper is None:
            return self._nothing(value.shape[0])
        residual = rounding.exact_residual(self.f, value)
        found = self._bounded(residual, rounding.row_norms(value), True, sweeps, torch.float64)
        return replace(found, evaluations=1)

    def _bounded(
        self,
        residual: Tensor,
        value_norm: Tensor,
        at_value: bool,
        sweeps: int,
        dtype: torch.dtype | None = None,
        enough: float = 0.02,
    ) -> Certificate:
        finite = bool(torch.isfinite(residual).all())
        if self.sweeper is None or not finite:
            return self._nothing(residual.shape[0], finite)
        state_norm = value_norm if at_value else value_norm + residual
        error = self._evaluation_error(state_norm, value_norm, dtype or self.f.bias.dtype)
        bound, spent = self.sweeper.bound(torch.stack([residual, error], -1), sweeps, enough)
        whole, granted = bound.unbind(-1)
        if not at_value:
            # The value is f(z): one contraction closer than z, and one rounding away from it. As
            # e >= r + K e, no product is needed to bound K e.
            whole = whole * (1 + EPSILON) - residual
        total = (whole + granted) * (1 + 4 * EPSILON)
        return Certificate(total, granted, self.factor.norm, self.factor.value, spent)

    def _evaluation_error(
        self, state_norm: Tensor, value_norm: Tensor, dtype: torch.dtype
    ) -> Tensor:
        assert self.sweeper is not None
        spread = self.sweeper.product(state_norm) / self.factor.value
        return rounding.evaluation_error(
            self.f, self.factor, spread, self._bias_norm, value_norm, dtype
        )

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
