"""The one loop: it evaluates, counts, checks, safeguards and stops; solvers only propose steps."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import torch
from torch import Tensor

from .equilibrium import Evaluation, FixedPointMap
from .errors import InputError
from .safeguard import Safeguard


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


class Solver(Protocol):
    """A small frozen configuration that proposes the next iterate.

    ``initial`` gives the first point and what it cost in evaluations; ``init`` makes the state;
    ``step`` proposes. With ``safeguard`` the loop replaces a step that does not lower the residual
    enough by a plain step from the last point it trusts. The loop reuses the memory of ``z`` and
    ``fz``: a state that needs them later keeps a copy.
    """

    @property
    def safeguard(self) -> bool:
        """Whether the loop should watch the proposed steps."""

    def initial(self, f: FixedPointMap) -> tuple[Tensor, int]:
        """The first point, ``n x d``, and how many evaluations it cost."""

    def init(self, f: FixedPointMap, z0: Tensor) -> Any:
        """The state before the first step."""

    def step(self, z: Tensor, fz: Tensor, state: Any) -> tuple[Tensor, Any]:
        """From the point, its image and the state: the next point and state."""


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
            a value was not finite.
        seconds: Time since the start at every evaluation.
        node_residual: Norm of each node's row of ``f(z) - z``, ``n``.
        rejected: Proposed steps that the safeguard replaced, per graph.
        at_value: Whether the residuals are those of ``value`` itself, as after a local update, and
            not of the z it is the image of.
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

    @property
    def status(self) -> Status:
        """The status; of a batch, the worst one."""
        return max(self.statuses, key=list(Status).index)

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


#: Squared size, relative to the first value, below which an iterate counts as zero.
_FLOOR = 1e-12

Observer = Callable[[int, Evaluation], bool]


@torch.no_grad()
def solve(
    f: FixedPointMap,
    solver: Solver | None = None,
    z0: Tensor | None = None,
    *,
    tol: float = 1e-3,
    max_evals: int = 1000,
    on_failure: str = "warn",
    safeguard: bool | None = None,
    observer: Observer | None = None,
) -> Solution:
    """Find the fixed point of ``f``.

    Args:
        f: The map.
        solver: How to step; plain iteration (``Picard``) by default.
        z0: Where to start, ``n x d``; by default where the solver chooses to.
        tol: Stop when ``||f(z) - z|| <= tol * ||f(z)||``; each graph of a batch on its own.
        max_evals: Stop after this many evaluations of f.
        on_failure: ``"raise"``, ``"warn"`` or ``"return"`` when the tolerance is not reached.
        safeguard: Override the solver's own choice.
        observer: Called after each evaluation with their number and the best ``Evaluation`` so far,
            which is what the solve would return; the solve stops as converged when it returns true.

    Returns:
        The best iterate with its status, residual, evaluations and trace.

    Raises:
        InputError: For arguments out of range or a ``z0`` of another shape.
        SolveError: When the tolerance is not reached and ``on_failure="raise"``.
    """
    if solver is None:
        from .solvers.picard import Picard

        solver = Picard()
    _check_arguments(f, z0, tol, max_evals, on_failure)
    watch = solver.safeguard if safeguard is None else safeguard
    guard = Safeguard(f) if watch else None
    loop = _Loop(f, tol, guard)
    spent = 0
    if z0 is None:
        z, spent = solver.initial(f)
    else:
        z = z0.detach().to(f.bias.dtype)
    state = solver.init(f, z)
    while True:
        fz = loop.evaluate(z, spent + 1)
        spent += 1
        if observer is not None and observer(spent, loop.best):
            loop.accept_all()
        if loop.done or spent >= max_evals:
            break
        if guard is not None:
            z, fz = guard.repaired(z, fz)
        z, state = solver.step(z, fz, state)
        if guard is not None:
            z = guard.guarded(z)
    solution = loop.solution()
    _report(solution, tol, on_failure)
    return solution


class _Loop:
    """Bookkeeping of one solve: the best iterate of each graph, and when each stops."""

    def __init__(self, f: FixedPointMap, tol: float, guard: Safeguard | None) -> None:
        self.f, self.tol, self.guard = f, tol, guard
        self.adjacency = f.adjacency
        graphs = self.adjacency.num_graphs
        options = {"dtype": torch.float64, "device": f.bias.device}
        self.residuals = torch.full((graphs,), torch.inf, **options)  # type: ignore[call-overload]
        self.evals = torch.zeros(graphs, dtype=torch.int64, device=f.bias.device)
        self.active = torch.ones(graphs, dtype=torch.bool, device=f.bias.device)
        self.finite = self.active.clone()
        self.trace: list[Tensor] = []
        self.seconds: list[float] = []
        self.started = time.perf_counter()
        self.kept: Evaluation | None = None
        self.floor: Tensor
        self.buffers: list[Tensor] = []

    @property
    def done(self) -> bool:
        return not bool(self.active.any())

    @property
    def best(self) -> Evaluation:
        assert self.kept is not None
        return self.kept

    def evaluate(self, z: Tensor, spent: int) -> Tensor:
        """Evaluate f at ``z``, keep what is best, and stop the graphs that are done."""
        fz, residual_sq, value_sq = evaluation = self.f.evaluate(z, self._spare(z))
        total = self.adjacency.sum_per_graph(residual_sq)
        size = self.adjacency.sum_per_graph(value_sq)
        if not self.trace:
            self.floor = _FLOOR * size
        # Zero over zero is the fixed point 0, reached exactly; near it the first value sets the scale.
        relative = torch.where(total == 0, 0.0, (total / size.maximum(self.floor)).sqrt())
        finite = torch.isfinite(total) & torch.isfinite(size)
        relative = torch.where(finite, relative, torch.inf)
        self.trace.append(relative)
        self.seconds.append(time.perf_counter() - self.started)
        reached = relative <= self.tol
        lower = self.active & ((relative < self.residuals) | (len(self.trace) == 1))
        self._keep(evaluation, lower)
        self.evals[self.active] = spent
        self.residuals = torch.where(lower, relative, self.residuals)
        if self.guard is not None:
            self.guard.judge(z, fz, total, reached | ~self.active)
            finite |= self.guard.bad
        self.finite = torch.where(self.active, finite, self.finite)
        self.active &= ~reached & finite
        return fz

    def _keep(self, evaluation: Evaluation, lower: Tensor) -> None:
        if bool(lower.all()) or self.kept is None:
            self.kept = evaluation
        elif bool(lower.any()):
            chosen = self.adjacency.spread(lower)
            self.kept = Evaluation(
                torch.where(chosen.unsqueeze(-1), evaluation.value, self.kept.value),
                torch.where(chosen, evaluation.residual_sq, self.kept.residual_sq),
                torch.where(chosen, evaluation.value_sq, self.kept.value_sq),
            )

    def _spare(self, z: Tensor) -> Tensor | None:
        """A buffer that nobody reads any more: fresh memory costs a page fault every 4 KiB."""
        trusted = () if self.guard is None else self.guard.trusted
        kept = None if self.kept is None else self.kept.value
        in_use = [one for one in (z, kept, *trusted) if one is not None]
        for buffer in self.buffers:
            # Compared by memory: a solver may hand back a view.
            memory = buffer.untyped_storage().data_ptr()
            if all(used.untyped_storage().data_ptr() != memory for used in in_use):
                return buffer
        buffer = torch.empty_like(self.f.bias, memory_format=torch.contiguous_format)
        self.buffers.append(buffer)
        return buffer

    def accept_all(self) -> None:
        self.active = torch.zeros_like(self.active)
        self.tol = torch.inf

    def solution(self) -> Solution:
        statuses = []
        for residual, finite in zip(self.residuals.tolist(), self.finite.tolist(), strict=True):
            if finite and residual <= self.tol:
                statuses.append(Status.CONVERGED)
            else:
                statuses.append(Status.MAX_EVALS if finite else Status.NON_FINITE)
        return Solution(
            value=self.best.value,
            statuses=tuple(statuses),
            residuals=self.residuals,
            evals=self.evals,
            trace=torch.stack(self.trace),
            seconds=self.seconds,
            node_residual=self.best.residual_sq.sqrt(),
            rejected=torch.zeros_like(self.evals) if self.guard is None else self.guard.rejected,
        )


def _check_arguments(
    f: FixedPointMap, z0: Tensor | None, tol: float, max_evals: int, on_failure: str
) -> None:
    if not tol >= 0:
        raise InputError(f"tol must be at least 0, not {tol}")
    if max_evals < 1:
        raise InputError(f"max_evals must be at least 1, not {max_evals}")
    if on_failure not in ("raise", "warn", "return"):
        raise InputError(f'on_failure must be "raise", "warn" or "return", not {on_failure!r}')
    if z0 is not None and z0.shape != f.bias.shape:
        raise InputError(f"z0 has shape {tuple(z0.shape)}, not {tuple(f.bias.shape)}")


def _report(solution: Solution, tol: float, on_failure: str) -> None:
    if solution.converged or on_failure == "return":
        return
    failed = sum(status is not Status.CONVERGED for status in solution.statuses)
    which = f"{failed} of {len(solution.statuses)} graphs: " if len(solution.statuses) > 1 else ""
    message = (
        f"{which}{solution.status.value} (relative residual {solution.residual:.2e} after "
        f"{solution.num_evals} evaluations, wanted {tol:.2e})"
    )
    if on_failure == "raise":
        raise SolveError(message, solution)
    # Past this function, solve and the wrapper that no_grad puts around it: the caller.
    warnings.warn(message, RuntimeWarning, stacklevel=4)
