"""Try for a while to refute the certificate on random problems, and record what was seen.

Problems of every kind are drawn until the time is up:

    python benchmarks/certificate_search.py --seconds 120
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from ignn_solver.certificate.search import Case, Outcome, examine
from ignn_solver.results import write_results


def draw(chance: random.Random) -> Case:
    return Case(
        seed=chance.randrange(2**31),
        nodes=chance.randint(1, 60),
        # As often narrow as wide: products with W are summed up 32 channels at a time.
        width=round(2 ** chance.uniform(0, 8.3)),
        graphs=chance.choice([1, 1, 1, 4]),
        degree=chance.choice([0.0, 0.5, 1.0, 2.0, 5.0, 15.0]),
        directed=chance.random() < 0.5,
        weighted=chance.random() < 0.5,
        parametrization=chance.choice(["cayley", "projection", "symmetric"]),
        activation=chance.choice(["relu", "tanh", "sigmoid"]),
        kappa=chance.choice([0.05, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99]),
        scale=10 ** chance.uniform(-4, 4),
        double=chance.random() < 0.5,
        tol=10 ** chance.uniform(-12, -0.5),
        accelerate=chance.random() < 0.3,
        layers=chance.randint(1, 3),
        exact=chance.random() < 0.4,
    )


class Tally:
    """What was seen of one kind of problem."""

    def __init__(self) -> None:
        self.cases = self.nodes = self.certified = self.wrong = self.below = 0
        self.smallest = float("inf")
        self.medians: list[float] = []

    def add(self, outcome: Outcome) -> None:
        """Count one more problem."""
        self.cases += 1
        self.nodes += outcome.ratio.numel()
        self.certified += outcome.certified
        self.wrong += outcome.wrong
        self.below += int((outcome.ratio < 1).sum())
        self.smallest = min(self.smallest, float(outcome.ratio.min()))
        finite = outcome.ratio[torch.isfinite(outcome.ratio)]
        if finite.numel():
            self.medians.append(float(finite.median()))

    def row(self) -> dict[str, Any]:
        """As a row of the results."""
        medians = sorted(self.medians)
        return {
            "cases": self.cases,
            "nodes": self.nodes,
            "certified": self.certified,
            "certified_wrongly": self.wrong,
            "bounds_below_error": self.below,
            "smallest_bound_over_error": self.smallest,
            "median_bound_over_error": medians[len(medians) // 2] if medians else None,
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=Path("results/certificate-search.json"))
    options = parser.parse_args()
    started = time.perf_counter()
    chance = random.Random(options.seed)  # noqa: S311
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    total, refuted = Tally(), []
    while time.perf_counter() - started < options.seconds:
        case = draw(chance)
        outcome = examine(case)
        if outcome.wrong or float(outcome.ratio.min()) < 1 or outcome.reason is not None:
            refuted.append({**asdict(case), "reason": outcome.reason})
        total.add(outcome)
        tallies[case.parametrization, "float64" if case.double else "float32"].add(outcome)
    rows = [
        {"parametrization": name, "dtype": dtype, **tally.row()}
        for (name, dtype), tally in sorted(tallies.items())
    ]
    summary = total.row()
    print(
        f"{summary['cases']} problems, {summary['nodes']} nodes: {summary['bounds_below_error']} bounds "
        f"below the error, {summary['certified_wrongly']} of {summary['certified']} proven classes wrong, "
        f"smallest bound / error {summary['smallest_bound_over_error']:.9f}"
    )
    write_results(
        options.json, started, seed=options.seed, total=summary, rows=rows, refuted=refuted
    )
    return 1 if refuted else 0


if __name__ == "__main__":
    sys.exit(main())
