"""What the results say of each claim of the paper: dataset by dataset, whether it holds."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

from .table import Rows, ordered, where

TOLERANCE = 1e-3
#: The least speed-up that the paper claims.
CLAIMED_SPEEDUP = 1.5
#: "About 1%" of the training, as the paper says of its solver.
CLAIMED_SHARE = 0.015
#: Points of accuracy within which a mean counts as the published one.
POINTS = 1.0


@dataclass(frozen=True)
class Finding:
    """What was found of one claim.

    Attributes:
        held: For each dataset (or model) looked at, whether the claim holds there.
        sentence: The figures, in words.
    """

    held: dict[str, bool]
    sentence: str


def pareto(rows: Rows) -> Finding:
    """Whether IGNN-Solver reaches the tolerance at least 1.5 times sooner than IGNN."""
    held, parts = {}, []
    for dataset in ordered(rows, "dataset"):
        chosen = where(rows, dataset=dataset, tol=TOLERANCE)
        plain = [row for row in chosen if key(row["variant"]) == "ignn"]
        ours = [row for row in chosen if key(row["variant"]) == "ignn-solver"]
        if not plain or not ours:
            continue
        ratio = _mean(plain, "ms") / _mean(ours, "ms")
        gained = 100 * (_mean(ours, "accuracy") - _mean(plain, "accuracy"))
        held[dataset] = ratio >= CLAIMED_SPEEDUP and gained >= -POINTS
        parts.append(f"{dataset} {ratio:.1f} times ({gained:+.1f} points)")
    return Finding(held, f"Against IGNN's time to {TOLERANCE:g}: {', '.join(parts)}.")


def accuracy(rows: Rows) -> Finding:
    """Whether IGNN-Solver is as accurate as published, within a point, or better."""
    held, parts = {}, []
    for row in where(rows, model="ignn-solver"):
        if row.get("published") is None:
            continue
        held[row["dataset"]] = row["mean"] >= row["published"] - POINTS
        parts.append(f"{row['dataset']} {row['mean']:.1f} (published {row['published']:.1f})")
    best = sum(_is_best(rows, dataset) for dataset in held)
    first = f"; ahead of every other model measured here on {best} of {len(held)}"
    return Finding(held, f"IGNN-Solver: {', '.join(parts)}{first}.")


def _is_best(rows: Rows, dataset: str) -> bool:
    means = {row["model"]: row["mean"] for row in where(rows, dataset=dataset)}
    return max(means, key=lambda model: means[model]) == "ignn-solver"


def overhead(rows: Rows) -> Finding:
    """Whether training the paper's solver takes about 1% of training its model."""
    shares = {
        (row["dataset"], row["preset"]): (row["share_seconds"], row["share_parameters"])
        for row in rows
    }
    held = {
        dataset: share[0] <= CLAIMED_SHARE
        for (dataset, preset), share in shares.items()
        if preset == "learned-paper"
    }
    parts = [
        f"{dataset}, {preset}: {seconds:.1%} of the time, {parameters:.1%} of the parameters"
        for (dataset, preset), (seconds, parameters) in shares.items()
    ]
    return Finding(held, "; ".join(parts) + ".")


def convergence(rows: Rows) -> Finding:
    """Whether the paper's solver needs fewer evaluations than plain iteration, past K = 6 too."""
    held, parts = {}, []
    for dataset in ordered(rows, "dataset"):
        counts = {
            solver: _reached(where(rows, dataset=dataset, solver=solver))
            for solver in ("picard", "learned-paper", "learned")
        }
        plain, paper = counts["picard"], counts["learned-paper"]
        if plain is None and paper is None:
            continue
        held[dataset] = paper is not None and (plain is None or paper < plain)
        figures = " / ".join("never" if n is None else str(n) for n in counts.values())
        parts.append(f"{dataset} {figures}")
    start = f"Evaluations to {TOLERANCE:g}, plain / learned-paper / learned"
    return Finding(held, f"{start}: {', '.join(parts)}.")


def _reached(rows: Rows) -> int | None:
    found = [row["evaluation"] for row in rows if row["residual"] <= TOLERANCE]
    return min(found, default=None)


def mixers(rows: Rows) -> Finding:
    """Whether the graph mixer ends with the smallest residual."""
    held, parts = {}, []
    for dataset in ordered(rows, "dataset"):
        for phase in ordered(where(rows, dataset=dataset), "phase"):
            chosen = where(rows, dataset=dataset, phase=phase)
            last = max(row["step"] for row in chosen)
            values = {key(row["mixer"]): row["value"] for row in where(chosen, step=last)}
            smallest = min(values, key=lambda mixer: values[mixer])
            held[f"{dataset}, {phase}"] = smallest in ("gn", "graph")
            figures = ", ".join(f"{mixer} {value:.1e}" for mixer, value in values.items())
            parts.append(f"{dataset}, {phase}, step {last}: {figures}")
    return Finding(held, "; ".join(parts) + ".")


def ablation(rows: Rows) -> Finding:
    """Whether leaving any part out leaves a larger residual than the full solver's."""
    held, parts = {}, []
    for dataset in ordered(rows, "dataset"):
        chosen = where(rows, dataset=dataset)
        last = min(
            max(row["evaluation"] for row in where(chosen, setting=setting))
            for setting in ordered(chosen, "setting")
        )
        values = {row["setting"]: row["residual"] for row in where(chosen, evaluation=last)}
        smallest = min(values, key=lambda setting: values[setting])
        held[dataset] = key(smallest) in ("full", "ignn-solver", "learned-paper")
        figures = ", ".join(f"{setting} {value:.1e}" for setting, value in values.items())
        parts.append(f"{dataset} after {last} evaluations: {figures}")
    return Finding(held, "; ".join(parts) + ".")


def dynamics(rows: Rows) -> Finding:
    """Whether an epoch with the solver takes less time, in training and in inference."""
    held, parts = {}, []
    for dataset in ordered(rows, "dataset"):
        groups = {
            name: [row for row in where(rows, dataset=dataset) if key(row["variant"]) == name]
            for name in ("ignn", "ignn-solver")
        }
        if not all(groups.values()):
            continue
        ratios = {
            field: _mean(groups["ignn"], field) / _mean(groups["ignn-solver"], field)
            for field in ("train_ms", "inference_ms")
        }
        held[dataset] = min(ratios.values()) > 1
        parts.append(
            f"{dataset}: {ratios['train_ms']:.2f} and {ratios['inference_ms']:.2f} times IGNN's"
        )
    return Finding(held, f"Speed of training and inference, per epoch: {'; '.join(parts)}.")


def chains(rows: Rows) -> Finding:
    """Whether implicit models classify the longest chains and two-hop ones do not."""
    longest = max(row["length"] for row in rows)
    found = {key(row["model"]): row["accuracy"] for row in where(rows, length=longest)}
    held = {}
    for model, value in found.items():
        held[model] = value >= 0.95 if model.startswith("ignn") else value < 0.95
    figures = ", ".join(f"{model} {value:.0%}" for model, value in found.items())
    return Finding(held, f"At length {longest}: {figures}.")


def key(name: str) -> str:
    """A name as it is compared: ``IGNN-Solver (NN)`` is ``ignn-solver-nn``."""
    return "-".join(name.lower().replace("(", "").replace(")", "").split())


def _mean(rows: Rows, field: str) -> float:
    return mean(row[field] for row in rows)
