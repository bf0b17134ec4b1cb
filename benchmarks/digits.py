"""Accuracy on the handwritten digits: the implicit model against a 2-layer GCN trained the same way.

Results: ``results/digits.json``. For the chains see ``ignn-solver reproduce figure-chains``.

    python benchmarks/digits.py --seeds 5
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch

import ignn_solver as ig
from ignn_solver.models import build
from ignn_solver.recipe import load_recipe
from ignn_solver.results import write_results

MODELS = ("ignn", "gcn")


def run(model: str, seed: int) -> dict[str, Any]:
    """Train one model by the recipe; the epoch is chosen on validation."""
    data = ig.datasets.load("digits", seed=seed)
    recipe = load_recipe("digits")
    arguments = dict(recipe.model)
    if model != "ignn":
        arguments = {
            key: arguments[key] for key in ("hidden_channels", "dropout") if key in arguments
        }
    torch.manual_seed(seed)
    network = build(model, in_channels=data.num_features, num_classes=data.num_classes, **arguments)
    result = ig.fit(network, data, seed=seed, progress=False, **recipe.training)
    return {
        "dataset": "digits",
        "model": model,
        "seed": seed,
        "val_accuracy": result.val_accuracy,
        "test_accuracy": ig.accuracy(network, data, "test"),
        "epochs": result.epochs,
        "seconds": result.seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("results/digits.json"))
    arguments = parser.parse_args()
    started = time.perf_counter()
    rows = [run(model, seed) for model in MODELS for seed in range(arguments.seeds)]
    write_results(arguments.output, started, rows=rows)
    for model in MODELS:
        found = [100 * row["test_accuracy"] for row in rows if row["model"] == model]
        spread = stdev(found) if len(found) > 1 else 0.0
        print(f"{model:5} {mean(found):5.2f} ± {spread:.2f}")


if __name__ == "__main__":
    main()
