"""Who competes: our solvers, the published loop, and torchdeq's solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from .. import solvers
from ..names import CLASSICAL
from ..nn.prediction import Proof, predict_nodes
from ..solving import Solver, solve
from . import peers
from .problem import Observe, Problem
from .published import PublishedLoop

if TYPE_CHECKING:
    from ..equilibrium import Evaluation

_MAX_EVALS = 1000

PUBLISHED = "ignn-published"
PEERS = tuple(f"torchdeq-{name}" for name in peers.NAMES)
LEARNED = ("learned-paper", "learned", "learned-certified")
NAMES = (PUBLISHED, *PEERS, *CLASSICAL, *LEARNED)


@dataclass(frozen=True)
class Contender:
    """Something that solves the problem.

    Attributes:
        name: Its name.
        run: Solve: from the most evaluations allowed (``None`` for until the tolerance is reached)
            and an observer of each evaluation (or ``None``) to the states and the evaluations spent.
        limited: Whether it can be told to stop after a number of evaluations.
    """

    name: str
    run: Callable[[int | None, Observe | None], tuple[Tensor, int]]
    limited: bool = True


def ours(problem: Problem, name: str, solver: Solver) -> Contender:
    """One of our solvers."""

    def run(max_evals: int | None, observe: Observe | None) -> tuple[Tensor, int]:
        def observer(spent: int, best: Evaluation) -> bool:
            assert observe is not None
            observe(spent, best.value)
            return False

        solution = solve(
            problem.f,
            solver,
            tol=problem.tol if max_evals is None else 0.0,
            max_evals=max_evals or _MAX_EVALS,
            on_failure="return",
            observer=None if observe is None else observer,
        )
        return solution.value, solution.num_evals

    return Contender(name, run)


def certified(problem: Problem, name: str, solver: Solver) -> Contender:
    """One of our solvers, stopped when the classes are proven: the checks are part of its time."""

    def run(max_evals: int | None, observe: Observe | None) -> tuple[Tensor, int]:
        proof = Proof(stop="certified")
        prediction = predict_nodes(
            problem.f, problem.model.head, solver, None, _MAX_EVALS, "return", proof
        )
        return prediction.solution.value, prediction.solution.num_evals

    return Contender(name, run, limited=False)


def published(problem: Problem) -> Contender:
    """The loop that implicit graph networks were published with."""
    loop = PublishedLoop(problem.f)
    return Contender(PUBLISHED, lambda max_evals, observe: loop.run(), limited=False)


def torchdeq(problem: Problem, name: str) -> Contender:
    """One of torchdeq's solvers."""

    def run(max_evals: int | None, observe: Observe | None) -> tuple[Tensor, int]:
        return peers.run(problem.f, name, problem.tol, max_evals, observe)

    return Contender(f"torchdeq-{name}", run)


def contenders(
    problem: Problem,
    names: tuple[str, ...],
    learned: dict[str, Solver],
    half: tuple[str, ...] = (),
) -> list[Contender]:
    """Everyone in ``names``, in the order of ``NAMES``.

    Args:
        problem: What to solve.
        names: Who competes.
        learned: The learned solvers, by the name of their preset.
        half: Which of Anderson and Broyden keep their history in half precision.
    """
    found = []
    for name in NAMES:
        if name not in names:
            continue
        if name == PUBLISHED:
            found.append(published(problem))
        elif name in PEERS:
            found.append(torchdeq(problem, name.removeprefix("torchdeq-")))
        elif name in CLASSICAL:
            options = {"history": "half"} if name in half else {}
            found.append(ours(problem, name, getattr(solvers, name.capitalize())(**options)))
        elif name == "learned-certified":
            found.append(certified(problem, name, learned["learned"]))
        else:
            found.append(ours(problem, name, learned[name]))
    return found
