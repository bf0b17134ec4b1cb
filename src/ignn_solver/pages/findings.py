"""What the results say of each claim of the paper: dataset by dataset, whether it holds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .table import Row, Rows, ordered, where

#: The residual at which times are compared: IGNN's own loop reaches it within the figure.
PARETO_TOLERANCE = 1e-2
#: The least speed-up that the paper claims.
CLAIMED_SPEEDUP = 1.5
#: "About 1%" of the training, as the paper says of its solver.
CLAIMED_SHARE = 0.015
#: Points of accuracy within which a mean counts as the published one.
POINTS = 1.0
#: The paper's solver in the tables of nodes, and the whole model in that of graphs.
SOLVER, WHOLE = "learned-paper", "ignn-solver"


@dataclass(frozen=True)
class Finding:
    """What was found of one claim.

    Attributes:
        held: For each dataset (or model) looked at, whether the claim holds there; a name such as
            ``"citeseer, inference"`` is one part of a dataset.
        sentence: The figures, in words.
    """

    held: dict[str, bool]
    sentence: str


def pareto(rows: Rows) -> Finding:
    """Whether the paper's solver is at a residual at least 1.5 times sooner than IGNN's loop."""
    held, parts = {}, []
    for dataset in ordered(rows, "dataset"):
        plain = arrival(where(rows, dataset=dataset, variant="ignn-published"))
        found = {
            name: arrival(where(rows, dataset=dataset, variant=name))
            for name in (SOLVER, "learned")
        }
        if plain is None:
            continue
        paper = found[SOLVER]
        held[dataset] = paper is not None and _faster(plain, paper)
        figures = [_gain(plain, row) for row in found.values()]
        parts.append(f"{dataset} {' / '.join(figures)}")
    start = f"Times faster than IGNN's loop to {PARETO_TOLERANCE:g}, learned-paper / learned"
    return Finding(held, f"{start}: {', '.join(parts)}.")


def arrival(rows: Rows) -> Row | None:
    """The first row, by time, at or below the residual that times are compared at."""
    there = [row for row in rows if number(row["residual"]) <= PARETO_TOLERANCE]
    return min(there, key=lambda row: row["ms"], default=None)


def _faster(plain: Row, ours: Row) -> bool:
    lost = 100 * (plain["accuracy"] - ours["accuracy"])
    return bool(plain["ms"] >= CLAIMED_SPEEDUP * ours["ms"] and lost <= POINTS)


def _gain(plain: Row, ours: Row | None) -> str:
    return "never" if ours is None else f"{plain['ms'] / ours['ms']:.1f}"


def accuracy(rows: Rows) -> Finding:
    """Whether IGNN-Solver is as accurate as published, within a point, or better."""
    held, parts, ahead = {}, [], []
    for row in rows:
        compares = row["model"] in (SOLVER, WHOLE) and None not in (row["mean"], row["published"])
        if not compares:
            continue
        dataset = row["dataset"]
        held[dataset] = row["mean"] >= row["published"] - POINTS
        if others := _others(rows, dataset):
            ahead.append(row["mean"] >= max(others))
        parts.append(f"{dataset} {row['mean']:.1f} (published {row['published']:.1f})")
    first = f"; not below any other model measured here on {sum(ahead)} of {len(ahead)}"
    return Finding(held, f"{', '.join(parts)}{first if ahead else ''}.")


def _others(rows: Rows, dataset: str) -> list[float]:
    """The accuracies of the models that are not forms of ours."""
    return [
        row["mean"]
        for row in where(rows, dataset=dataset)
        if row["mean"] is not None
        and not row["model"].startswith("learned")
        and row["model"] not in ("ignn", WHOLE)
    ]


def overhead(rows: Rows) -> Finding:
    """Whether training the paper's solver takes about 1% of training its model."""
    shares = {
        (row["dataset"], row["preset"]): (row["share_seconds"], row["share_parameters"])
        for row in rows
    }
    held = {
        dataset: share[0] <= CLAIMED_SHARE
        for (dataset, preset), share in shares.items()
        if preset == SOLVER
    }
    parts = [
        f"{dataset}, {preset}: {seconds:.1%} of the time, {parameters:.1%} of the parameters"
        for (dataset, preset), (seconds, parameters) in shares.items()
    ]
    return Finding(held, "; ".join(parts) + ".")


def chains(rows: Rows) -> Finding:
    """Whether implicit models classify the longest chains and two-hop ones do not."""
    longest = max(row["length"] for row in rows)
    found = {row["model"]: row["accuracy"] for row in where(rows, length=longest)}
    held = {}
    for model, value in found.items():
        held[model] = value >= 0.95 if model.startswith("ignn") else value < 0.95
    figures = ", ".join(f"{model} {value:.0%}" for model, value in found.items())
    return Finding(held, f"At length {longest}: {figures}.")


def number(value: float | None) -> float:
    """A figure of a results file, where infinity and NaN are written as null."""
    return math.inf if value is None else value
