"""One benchmark: who took how long to solve the same problem equally well."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from .contenders import PUBLISHED, Contender
from .gcn import TwoLayerGCN
from .machine import Watch
from .problem import Problem
from .timing import interleaved, peak_bytes

MEBIBYTE = 2**20
#: Where a round takes longer than this many seconds, three do; they differ less than short ones.
_LONG_ROUND, _FEWER = 20.0, 3


@dataclass
class Report:
    """What a benchmark measured.

    Attributes:
        header: The problem, and the times of what is common to all solvers.
        rows: One dictionary a solver that reached the tolerance.
        misses: One sentence a solver that did not.
        complaint: Why the times are not to be trusted, or ``None``.
    """

    header: dict[str, Any]
    rows: list[dict[str, Any]] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)
    complaint: str | None = None


def measure(
    problem: Problem,
    entered: list[Contender],
    rounds: int,
    say: Callable[[str], None] = lambda line: None,
    after_round: Callable[[int, dict[str, float]], None] = lambda number, times: None,
) -> Report:
    """Let the contenders solve the problem in turn and judge what they return.

    Each first runs once untimed, which also compiles; that time is said. A contender whose state
    misses the tolerance gets no row.

    Args:
        problem: What to solve.
        entered: Who competes.
        rounds: Rounds, of which the median counts; at most three where they are long.
        say: Called with lines for the user.
        after_round: Called after each round with its number and everyone's time in it, in milliseconds.
    """
    report = Report(_header(problem))
    calls: dict[str, Callable[[], Any]] = dict(_common(problem))
    say(f"warm-up, compilation included: {_warm_up(calls):.1f} s for what is common to all")
    kept: list[tuple[Contender, dict[str, Any]]] = []
    round_seconds = 0.0
    for one in entered:
        began = time.perf_counter()
        value, evals = one.run(None, None)
        first = time.perf_counter() - began
        found = problem.judge(value)
        say(f"warm-up of {one.name}, compilation included: {first:.2f} s, {evals} evaluations")
        if not found.residual <= problem.tol:
            report.misses.append(
                f"{one.name} is not reported: it stopped at relative residual {found.residual:.1e} "
                f"after {evals} evaluations, which misses the tolerance {problem.tol:.1e}"
            )
            continue
        row = {"solver": one.name, "ms": 0.0, "evals": evals, **asdict(found)}
        row["peak_mb"] = peak_bytes(_call(one, None)) / MEBIBYTE
        row["evals_to_accuracy"] = _evals_to_accuracy(problem, one)
        calls[one.name] = _call(one, None)
        if row["evals_to_accuracy"] is not None:
            calls[f"{one.name} to accuracy"] = _call(one, row["evals_to_accuracy"])
        kept.append((one, row))
        round_seconds += first
    if round_seconds > _LONG_ROUND:
        rounds = min(rounds, _FEWER)

    def told(number: int, times: dict[str, float]) -> None:
        # Lines and no bar: a bar redraws itself while the others are timed.
        say(f"round {number} of {rounds}")
        after_round(number, times)

    with Watch() as watch:
        times = interleaved(calls, rounds, told)
    report.complaint = watch.complaint
    report.header |= {f"{name}_ms": times[name] for name in _common(problem)}
    report.header |= {"rounds": rounds, "others_cores": watch.others}
    for one, row in kept:
        row["ms"] = times[one.name]
        row["ms_to_accuracy"] = times.get(f"{one.name} to accuracy")
        for rival, name in (("picard", "picard"), ("published", PUBLISHED)):
            row[f"speedup_vs_{rival}"] = times[name] / row["ms"] if name in times else None
        report.rows.append(row)
    return report


def _header(problem: Problem) -> dict[str, Any]:
    f = problem.f
    return {
        "dataset": problem.name,
        "stand_in": str(problem.data.get("stand_in") or ""),
        "nodes": f.adjacency.num_nodes,
        "edges": (f.adjacency.num_entries - f.adjacency.num_nodes) // 2,
        "hidden": f.bias.shape[1],
        "kappa": f.contraction.factor,
        "tol": problem.tol,
        "threads": torch.get_num_threads(),
        "exact_accuracy": problem.exact_accuracy,
    }


def _common(problem: Problem) -> dict[str, Callable[[], Any]]:
    """What every solver needs besides, and the yardsticks: one evaluation, and a GCN."""
    f, model, data = problem.f, problem.model, problem.data
    z, out = f.start(), torch.empty_like(f.bias)
    adjacency = f.adjacency.matrix.as_torch()
    activation = getattr(torch, f.activation)
    gcn = TwoLayerGCN(f, data, model.num_classes)

    @torch.no_grad()
    def injected() -> Any:
        return model.equilibrium_map(data)

    @torch.no_grad()
    def head() -> Any:
        return model.head(z)

    return {
        "eval": lambda: f.evaluate(z, out),
        "torch_eval": lambda: activation(adjacency @ (z @ f.weight) + f.bias),
        "bias": injected,
        "head": head,
        "gcn": gcn,
    }


def _warm_up(calls: dict[str, Callable[[], Any]]) -> float:
    began = time.perf_counter()
    for call in calls.values():
        call()
    return time.perf_counter() - began


def _call(one: Contender, max_evals: int | None) -> Callable[[], Any]:
    return lambda: one.run(max_evals, None)


def _evals_to_accuracy(problem: Problem, one: Contender) -> int | None:
    if not one.limited or problem.exact_accuracy is None:
        return None
    accuracies: list[float | None] = []
    counts: list[int] = []

    def observe(spent: int, value: torch.Tensor) -> None:
        counts.append(spent)
        accuracies.append(problem.accuracy(value))

    one.run(None, observe)
    settled = problem.settled(accuracies)
    return None if settled is None else counts[settled - 1]
