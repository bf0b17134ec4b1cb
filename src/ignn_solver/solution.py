"""What a solve reached, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from torch import Tensor

from .equilibrium import EquilibriumMap


class Status(Enum):
    """How a solve ended; the value is the sentence for the user."""

    CONVERGED = "converged"
    MAX_EVALS = (
        "ran out of evaluations before reaching the tolerance: raise max_evals, or lower kappa"
    )
    NON_FINITE = (
        "a non-finite value appeared: check the features and the edge weights for NaN or infinity"
    )


class SolveError(RuntimeError):
    """A solve did not converge and ``on_failure="raise"`` was asked for.

    Attributes:
        solution: What was reached.
    """

    def __init__(self, message: str, solution: Solution) -> None:
        super().__init__(message)
        self.solution = solution


@dataclass(frozen=True)
class Solution:
    """What a solve reached: always the best iterate, whatever happened.

    ``value`` is ``f(z)`` for the best evaluated ``z``; ``residual`` is the relative residual
    ``||f(z) - z|| / ||f(z)||`` measured at that z, so ``value`` is one contraction closer still.

    Attributes:
        value: The node states, ``n x d``.
        statuses: How the solve of each graph ended.
        residuals: Relative residual of each graph, ``num_graphs``, float64.
        evals: Evaluations of f spent on each graph until it stopped, initializer included.
        trace: Relative residuals at every evaluation, ``evaluations x num_graphs``; infinite where
            a value was not finite, about right at rough evaluations, and the last one of a graph that was left
            behind when it had stopped.
        seconds: Time since the start at every evaluation.
        node_residual: Norm of each node's row of ``f(z) - z``, ``n``.
        rejected: Proposed steps that the safeguard replaced, per graph.
        at_value: Whether the residuals are those of ``value`` itself, as after a local update, and
            not of the z it is the image of.
        moved: After a local update: the nodes whose state changed, in ascending order.
    """

    value: Tensor
    statuses: tuple[Status, ...]
    residuals: Tensor
    evals: Tensor
    trace: Tensor
    seconds: list[float] = field(repr=False)
    node_residual: Tensor = field(repr=False)
    rejected: Tensor = field(repr=False)
    at_value: bool = field(default=False, repr=False)
    moved: Tensor | None = field(default=None, repr=False)

    @property
    def status(self) -> Status:
        """The status; of a batch, the worst one."""
        return next(one for one in reversed(Status) if one in self.statuses)

    @property
    def converged(self) -> bool:
        """Whether every graph reached the tolerance."""
        return self.status is Status.CONVERGED

    @property
    def residual(self) -> float:
        """The relative residual; of a batch, the largest one."""
        return float(self.residuals.max())

    @property
    def num_evals(self) -> int:
        """Evaluations of f; of a batch, the most that a graph took."""
        return int(self.evals.max())

    def update(self, f: EquilibriumMap, changed: Tensor, **options: Any) -> Solution:
        """The equilibrium of a map that differs from the one solved in a few rows, at their cost.

        Args:
            f: The map after the change.
            changed: Ids of the nodes whose row of b or of A changed.
            **options: ``tol``, ``in_place``, ...: see ``ignn_solver.updates.update``.
        """
        from .updates import update

        return update(self, f, changed, **options)
