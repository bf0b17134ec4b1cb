"""The path of a solve: residual and time at every evaluation, far past any tolerance."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..benchmark.published import PublishedLoop
from ..equilibrium import EquilibriumMap
from ..solving import Solver, solve


@dataclass(frozen=True)
class Trajectory:
    """One solve, evaluation by evaluation.

    Attributes:
        evals: Evaluations spent, what the first guess cost included.
        ms: Time since the start, in milliseconds.
        residuals: Relative residual there; over the graphs of a batch, the mean.
    """

    evals: list[int]
    ms: list[float]
    residuals: list[float]


Path = Callable[[], Trajectory]


def ours(f: EquilibriumMap, solver: Solver, max_evals: int) -> Path:
    """The path of one of our solvers; nothing but residuals of 0 stops it before ``max_evals``."""

    def run() -> Trajectory:
        solution = solve(f, solver, tol=0.0, max_evals=max_evals, on_failure="return")
        residuals = solution.trace.mean(-1).tolist()
        last = solution.num_evals
        evals = list(range(last - len(residuals) + 1, last + 1))
        return Trajectory(evals, [1000 * second for second in solution.seconds], residuals)

    return run


def published(f: EquilibriumMap, max_evals: int) -> Path:
    """The path of the loop that IGNN was published with, stopped by nothing but ``max_evals``."""
    loop = PublishedLoop(f)
    states: list[Tensor] = [torch.zeros_like(f.bias)]
    residuals: list[float] = []

    def keep(spent: int, z: Tensor) -> None:
        change, size = (
            f.adjacency.sum_per_graph(one.square().sum(-1)) for one in (z - states[0], z)
        )
        residuals.append(float((change / size.clamp_min(1e-30)).sqrt().mean()))
        states[0] = z

    loop.run(max_evals, keep)

    def run() -> Trajectory:
        times: list[float] = []
        began = time.perf_counter()
        loop.run(max_evals, lambda spent, z: times.append(1000 * (time.perf_counter() - began)))
        return Trajectory(list(range(1, len(times) + 1)), times, residuals)

    return run


def timed(paths: Mapping[str, Path], rounds: int) -> dict[str, Trajectory]:
    """Each path with the median of its times over several rounds, in which the paths take turns.

    Args:
        paths: The paths; each runs once before, so that nothing is compiled in its time.
        rounds: Rounds.
    """
    first = {name: path() for name, path in paths.items()}
    names = list(paths)
    times: dict[str, list[list[float]]] = {name: [] for name in names}
    for turn in range(rounds):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            times[name].append(paths[name]().ms)
    return {
        name: replace(one, ms=[statistics.median(at) for at in zip(*times[name], strict=False)])
        for name, one in first.items()
    }
