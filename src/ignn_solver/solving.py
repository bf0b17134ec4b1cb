"""The one loop: it evaluates, counts, checks, safeguards and stops; solvers only propose steps."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from . import whole
from .equilibrium import AdjointMap, EquilibriumMap, Evaluation, FixedPointMap
from .errors import InputError
from .loop import Loop
from .rough import leaps
from .safeguard import Safeguard
from .solution import Solution, SolveError, Status
from .sweeping import SweepMap


class Solver(Protocol):
    """A small frozen configuration that proposes the next iterate.

    ``initial`` gives the first point and what it cost in evaluations; ``init`` makes the state;
    ``step`` proposes. With ``safeguard`` the loop replaces a step that does not lower the residual
    enough by a plain step from the last point it trusts. The loop reuses the memory of ``z`` and
    ``fz``: a state that needs them later keeps a copy.

    A solver with an attribute ``base = "sweep"`` sees sweeps in place (:class:`SweepMap`) in the place of
    evaluations of f; the last evaluation is one of f itself all the same. So it is for a solver with a
    method ``leap``: where that is faster, and the start is the solver's own, it is called in the place of
    ``step``, and takes several steps with evaluations that round to bfloat16 (:mod:`ignn_solver.rough`). One with a
    method ``dash`` first attempts each graph of a batch of small ones whole (:mod:`ignn_solver.whole`). A
    solver with a method ``restricted`` goes on with the graphs of a large batch that have not stopped alone.
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
        observer: Called after each evaluation with their number and the best ``Evaluation`` so far, which is what
            the solve would return; the solve stops as converged when it returns true. With one, the solver does
            not leap; or, if it has an attribute ``looks_from``, not below that relative
            residual: it is called only where that is reached by every graph, and may change it as it likes. One
            that keeps neither the value nor a view of it says so by a true attribute ``keeps_no_value``: the solve
            then reuses memory as without it. On a graph for which ``ordering.settle_order`` chose an order of the
            nodes it sees them in that order if it has methods ``turn``, called before with the order and the map in
            it, and ``turn_back``, called after; otherwise the solve keeps the nodes as they are, and is slower.

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
    rests = getattr(solver, "rest", False) and observer is None
    if rests and isinstance(f, EquilibriumMap) and f.adjacency.num_graphs == 1:
        from .updates.resting import solve_resting

        awake = replace(solver, rest=False)  # type: ignore[type-var]
        options = {"tol": tol, "max_evals": max_evals, "on_failure": on_failure}
        return solve_resting(f, awake, z0=z0, safeguard=safeguard, **options)
    dash = getattr(solver, "dash", None) if z0 is None and observer is None else None
    if dash is not None and _sweeps(f, solver) is None and whole.fits(f, max_evals):
        enough = Safeguard(f).enough if _watches(solver, safeguard) else math.inf
        first = dash(f, tol, enough)
        solution = _after(first, f, solver, tol, max_evals, safeguard)
        _report(solution, tol, on_failure)
        return solution
    order = f.adjacency.order
    # Most observers see the nodes as they are, and a solver that reads their features needs them so.
    turn = order is not None and getattr(solver, "any_order", True)
    turn = turn and (observer is None or hasattr(observer, "turn"))
    if order is not None and turn and isinstance(f, EquilibriumMap | AdjointMap):
        z0 = None if z0 is None else z0[order.nodes]
        turned = f.reordered(order)
        if observer is not None:
            observer.turn(order, turned)  # type: ignore[attr-defined]
        solution = _solved(turned, solver, z0, tol, max_evals, safeguard, observer)
        if observer is not None:
            observer.turn_back()  # type: ignore[attr-defined]
        solution = replace(
            solution,
            value=solution.value[order.places],
            node_residual=solution.node_residual[order.places],
        )
    else:
        solution = _solved(f, solver, z0, tol, max_evals, safeguard, observer)
    _report(solution, tol, on_failure)
    return solution


def _after(
    first: whole.Attempt,
    f: FixedPointMap,
    solver: Solver,
    tol: float,
    max_evals: int,
    safeguard: bool | None,
) -> Solution:
    """The solution of a batch of small graphs after they were attempted whole: those not done are solved anew."""
    residuals = torch.from_numpy(first.trace[-1].copy())
    evals, trace = torch.from_numpy(first.evals), torch.from_numpy(first.trace)
    node_residual = first.residual_sq.sqrt()
    statuses = [Status.CONVERGED] * len(first.done)
    rejected = torch.from_numpy(first.rejected)
    seconds = first.seconds
    if not first.done.all():
        assert isinstance(f, EquilibriumMap)
        chosen = torch.from_numpy(~first.done)
        adjacency, nodes = f.adjacency.of_graphs(chosen)
        part, most = f.restricted(adjacency, nodes), max_evals - whole.MOST
        rest = _solved(part, solver, None, tol, most, safeguard, None)
        first.value[nodes], node_residual[nodes] = rest.value, rest.node_residual
        residuals[chosen] = rest.residuals
        evals[chosen] += rest.evals
        rejected[chosen] += rest.rejected
        later = residuals.expand(len(rest.trace), -1).clone()
        later[:, chosen] = rest.trace
        trace = torch.cat([trace, later])
        seconds = seconds + [seconds[-1] + one for one in rest.seconds]
        for graph, status in zip(chosen.nonzero().flatten().tolist(), rest.statuses, strict=True):
            statuses[graph] = status
    return Solution(
        value=first.value,
        statuses=tuple(statuses),
        residuals=residuals,
        evals=evals,
        trace=trace,
        seconds=seconds,
        node_residual=node_residual,
        rejected=rejected,
    )


def _solved(
    f: FixedPointMap,
    solver: Solver,
    z0: Tensor | None,
    tol: float,
    max_evals: int,
    safeguard: bool | None,
    observer: Observer | None,
) -> Solution:
    """The loop itself."""
    guard = Safeguard(f) if _watches(solver, safeguard) else None
    leap = _leap(f, solver, z0, tol, observer)
    kept = observer is not None and not getattr(observer, "keeps_no_value", False)
    loop = Loop(f, tol, guard, _sweeps(f, solver), leap is not None, kept)
    spent = 0
    if z0 is None:
        z, spent = solver.initial(f)
    else:
        z = z0.detach().to(f.bias.dtype)
    state = solver.init(f, z)
    restrict = getattr(solver, "restricted", None) if observer is None else None
    wider: list[tuple[Loop, Tensor]] = []
    while True:
        spent += 1
        fz = loop.evaluate(z, spent, last=spent >= max_evals)
        seen = observer is not None and _looks(observer, loop)
        if observer is not None and seen and observer(spent, loop.best):
            loop.accept_all()
        if loop.done or spent >= max_evals:
            break
        if guard is not None:
            z, fz = guard.repaired(z, fz)
        if restrict is not None and loop.few:
            part, nodes = loop.restricted()
            wider.append((loop, nodes))
            loop, guard = part, part.guard
            z, fz = z[nodes], fz[nodes]
            state = restrict(state, loop.f, nodes, z)
        if leap is not None and loop.base is not None and (guard is None or guard.trusts):
            wanted = max(tol, getattr(observer, "looks_from", 0.0))
            enough = 1.0 if guard is None else guard.enough
            landing, state = leap(loop.base, state, wanted, max_evals - spent - 1, enough)
            loop.leapt(landing)
            z, spent = landing.point, spent + len(landing.residuals)
        else:
            z, state = solver.step(z, fz, state)
        if guard is not None:
            z = guard.guarded(z)
    for outer, nodes in reversed(wider):
        outer.absorb(loop, nodes)
        loop = outer
    return _solution(loop)


def _leap(
    f: FixedPointMap, solver: Solver, z0: Tensor | None, tol: float, observer: Observer | None
) -> Callable[..., Any] | None:
    """How the solver leaps, if it can and that pays here."""
    leap: Callable[..., Any] | None = getattr(solver, "leap", None)
    if leap is None or z0 is not None or not leaps(f):
        return None
    # An observer wants to see what is on the way, or says from where on.
    if observer is not None and not hasattr(observer, "looks_from"):
        return None
    far: Callable[[float], bool] = getattr(solver, "far", lambda tol: True)
    return leap if far(max(tol, getattr(observer, "looks_from", 0.0))) else None


def _watches(solver: Solver, safeguard: bool | None) -> bool:
    """Whether the loop replaces steps that do not lower the residual enough."""
    return solver.safeguard if safeguard is None else safeguard


def _looks(observer: Observer, loop: Loop) -> bool:
    """Whether the residuals are so low that the observer wants to see them."""
    highest = getattr(observer, "looks_from", math.inf)
    # Most evaluations of a single graph end here: an operation on an array would cost ten times as much.
    if loop.residuals[0] > highest:
        return False
    return bool((loop.residuals <= highest).all())


def _sweeps(f: FixedPointMap, solver: Solver) -> SweepMap | None:
    base = getattr(solver, "base", "plain")
    if base == "plain":
        return None
    if base != "sweep":
        raise InputError(f'base must be "plain" or "sweep", not {base!r}')
    if not isinstance(f, EquilibriumMap | AdjointMap):
        raise InputError(f"{type(f).__name__} cannot be swept in place: use a plain base")
    return SweepMap(f)


def _solution(loop: Loop) -> Solution:
    statuses = []
    for residual, finite in zip(loop.residuals.tolist(), loop.finite.tolist(), strict=True):
        if finite and residual <= loop.tol:
            statuses.append(Status.CONVERGED)
        else:
            statuses.append(Status.MAX_EVALS if finite else Status.NON_FINITE)
    rejected = np.zeros_like(loop.evals) if loop.guard is None else loop.guard.rejected
    return Solution(
        value=loop.best.value,
        statuses=tuple(statuses),
        residuals=loop.tensor(loop.residuals),
        evals=loop.tensor(loop.evals),
        trace=loop.tensor(np.stack(loop.trace)),
        seconds=loop.seconds,
        node_residual=loop.best.residual_sq.sqrt(),
        rejected=loop.tensor(rejected),
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
