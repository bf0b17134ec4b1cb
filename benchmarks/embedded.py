"""Accuracy on the embedded datasets: chains of growing length, and the handwritten digits.

Chains: the class stands only at one end, so a model that looks two hops far cannot know it. Digits: the
implicit model against a 2-layer GCN trained the same way. Results: ``results/chains.json`` with a picture,
``results/digits.json``.

    python benchmarks/embedded.py --seeds 5
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
from ignn_solver.report.figures import save, styled
from ignn_solver.results import write_results

LENGTHS = (2, 4, 6, 8, 10, 15, 20)
RESULTS = Path("results")


def run(dataset: str, model: str, seed: int) -> dict[str, Any]:
    """Train one model by the dataset's recipe; the epoch is chosen on validation."""
    data = ig.datasets.load(dataset, seed=seed)
    recipe = load_recipe(dataset)
    arguments = dict(recipe.model)
    if model != "ignn":
        arguments = {
            key: arguments[key] for key in ("hidden_channels", "dropout") if key in arguments
        }
    torch.manual_seed(seed)
    network = build(model, in_channels=data.num_features, num_classes=data.num_classes, **arguments)
    result = ig.fit(network, data, seed=seed, progress=False, **recipe.training)
    return {
        "dataset": dataset,
        "model": model,
        "seed": seed,
        "val_accuracy": result.val_accuracy,
        "test_accuracy": ig.accuracy(network, data, "test"),
        "epochs": result.epochs,
        "seconds": result.seconds,
    }


def summarised(rows: list[dict[str, Any]]) -> dict[tuple[str, str], tuple[float, float]]:
    """Mean and standard deviation of the test accuracy of each dataset and model."""
    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        groups.setdefault((row["dataset"], row["model"]), []).append(row["test_accuracy"])
    return {
        key: (mean(values), stdev(values) if len(values) > 1 else 0.0)
        for key, values in groups.items()
    }


def chains(seeds: int) -> None:
    started = time.perf_counter()
    models = ("ignn", "gcn", "gat")
    rows = [
        run(f"chains:{length}", model, seed)
        for length in LENGTHS
        for model in models
        for seed in range(seeds)
    ]
    summary = summarised(rows)
    write_results(RESULTS / "chains.json", started, rows=rows)
    with styled() as plt:
        figure, axis = plt.subplots(figsize=(5, 3.4))
        for model in models:
            points = [summary[f"chains:{length}", model] for length in LENGTHS]
            centre, spread = zip(*points, strict=True)
            axis.errorbar(LENGTHS, centre, spread, label=model, capsize=3)
        axis.set_xlabel("length of the chains")
        axis.set_ylabel("test accuracy")
        axis.set_ylim(0.4, 1.03)
        axis.legend()
        save(figure, RESULTS / "chains.png")
    for key, (centre, spread) in summary.items():
        print(f"{key[0]:10} {key[1]:5} {100 * centre:5.1f} ± {100 * spread:.1f}")


def digits(seeds: int) -> None:
    started = time.perf_counter()
    rows = [run("digits", model, seed) for model in ("ignn", "gcn") for seed in range(seeds)]
    write_results(RESULTS / "digits.json", started, rows=rows)
    for key, (centre, spread) in summarised(rows).items():
        print(f"{key[0]:10} {key[1]:5} {100 * centre:5.2f} ± {100 * spread:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", choices=("chains", "digits"), default=None)
    arguments = parser.parse_args()
    if arguments.only != "digits":
        chains(arguments.seeds)
    if arguments.only != "chains":
        digits(arguments.seeds)


if __name__ == "__main__":
    main()
