"""What the results say of the paper's curves: along a solve, and along a training."""

from __future__ import annotations

import math
from statistics import mean

from .findings import SOLVER, Finding, number
from .table import Rows, ordered, where

TOLERANCE = 1e-3
#: The setting of the ablation that has all parts.
FULL = "as published"


def convergence(rows: Rows) -> Finding:
    """Whether the paper's solver needs fewer evaluations than plain iteration, past K = 6 too."""
    held, parts = {}, []
    for dataset in ordered(rows, "dataset"):
        counts = {
            solver: _reached(where(rows, dataset=dataset, solver=solver))
            for solver in ("picard", SOLVER, "learned")
        }
        plain, paper = counts["picard"], counts[SOLVER]
        if plain is None and paper is None:
            continue
        held[dataset] = paper is not None and (plain is None or paper < plain)
        figures = " / ".join("never" if n is None else str(n) for n in counts.values())
        parts.append(f"{dataset} {figures}")
    start = f"Evaluations to {TOLERANCE:g}, plain / learned-paper / learned"
    return Finding(held, f"{start}: {', '.join(parts)}.")


def _reached(rows: Rows) -> int | None:
    found = [row["evaluation"] for row in rows if number(row["residual"]) <= TOLERANCE]
    return min(found, default=None)


def mixers(rows: Rows) -> Finding:
    """Whether the graph mixer ends with the smallest residual."""
    held, parts = {}, []
    for dataset in ordered(rows, "dataset"):
        for phase in ordered(where(rows, dataset=dataset), "phase"):
            chosen = where(rows, dataset=dataset, phase=phase)
            last = max(row["step"] for row in chosen)
            values = {row["mixer"]: number(row["value"]) for row in where(chosen, step=last)}
            smallest = min(values, key=lambda mixer: values[mixer])
            held[f"{dataset}, {phase}"] = smallest == "gn"
            figures = ", ".join(f"{mixer} {value:.1e}" for mixer, value in values.items())
            parts.append(f"{dataset}, {phase}, step {last}: {figures}")
    return Finding(held, "; ".join(parts) + ".")


def ablation(rows: Rows) -> Finding:
    """Whether leaving any part out leaves larger residuals than the full solver's.

    Curves cross; they are compared by the geometric mean of the residual over all evaluations shown.
    """
    held: dict[str, bool] = {}
    parts = []
    for dataset in ordered(rows, "dataset"):
        means = {
            setting: _geometric(where(rows, dataset=dataset, setting=setting))
            for setting in ordered(where(rows, dataset=dataset), "setting")
        }
        full = next(value for setting, value in means.items() if FULL in setting)
        held |= {
            f"{dataset}, {setting}": value > full
            for setting, value in means.items()
            if FULL not in setting
        }
        figures = ", ".join(f"{setting} {value:.1e}" for setting, value in means.items())
        parts.append(f"{dataset}: {figures}")
    return Finding(held, f"Geometric mean of the residuals. {'; '.join(parts)}.")


def _geometric(rows: Rows) -> float:
    values = [number(row["residual"]) for row in rows]
    return math.exp(mean(math.log(value) if value > 0 else -math.inf for value in values))


def dynamics(rows: Rows) -> Finding:
    """Whether an epoch with the solver takes less time, in training and in inference."""
    held, parts = {}, []
    for dataset in ordered(rows, "dataset"):
        groups = {
            name: where(rows, dataset=dataset, variant=name) for name in ("IGNN", "IGNN-Solver")
        }
        if not all(groups.values()):
            continue
        ratios = {
            field: _mean(groups["IGNN"], field) / _mean(groups["IGNN-Solver"], field)
            for field in ("train_ms", "inference_ms")
        }
        held[dataset] = min(ratios.values()) > 1
        parts.append(
            f"{dataset}: {ratios['train_ms']:.2f} and {ratios['inference_ms']:.2f} times IGNN's"
        )
    return Finding(held, f"Speed of training and inference, per epoch: {'; '.join(parts)}.")


def _mean(rows: Rows, field: str) -> float:
    return mean(row[field] for row in rows)
