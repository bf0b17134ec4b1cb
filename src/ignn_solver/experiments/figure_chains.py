"""The paper's figure on long-range dependencies: accuracy against the length of chains."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch

from ..datasets import load
from ..learning.fit import fit_solver
from ..models import build
from ..nn.classifiers import IGNN
from ..recipe import load_recipe
from ..report.figures import legend_above, save_all, styled
from ..tasks.node import accuracy, fit
from .figure import Row, by, column, run_figure
from .request import Report, Request

NAME = "figure-chains"
TITLE = "Figure 9: long-range dependencies, accuracy against the length of chains"
LENGTHS = (2, 4, 6, 8, 10, 15, 20)
DATASETS = {f"chains:{length}": f"length {length}" for length in LENGTHS}
QUICK = {"datasets": ("chains:2", "chains:6", "chains:10", "chains:20"), "trials": 2}
#: The explicit models have T = 2 layers.
MODELS = {
    "ignn": "IGNN",
    "ignn-solver": "IGNN-Solver",
    "gcn": "GCN",
    "gat": "GAT",
    "gtn": "GTN",
}
LAYERS = 2


def run(request: Request) -> Report:
    """Train what is missing and draw."""
    settings = {"models": list(MODELS), "layers": LAYERS}
    return run_figure(
        request, NAME, DATASETS, measure, draw, settings, lambda dataset: request.trials, summarised
    )


def measure(dataset: str, request: Request) -> list[Row]:
    """Train every model by the recipe of the chains; the epoch is chosen on validation."""
    data = load(dataset, seed=request.seed)
    length = int(dataset.partition(":")[2])
    return [
        {
            "dataset": dataset,
            "model": model,
            "length": length,
            "accuracy": test_accuracy(model, data, request),
        }
        for model in MODELS
    ]


def test_accuracy(model: str, data: Any, request: Request) -> float:
    """The share of the test nodes that a model, trained on the others, classifies rightly.

    IGNN-Solver is trained with the alternating solver, and classifies with one fitted at the end.
    """
    recipe = load_recipe("chains")
    training = dict(recipe.training)
    if request.epochs is not None:
        training["epochs"] = request.epochs
    implicit, solved = model.startswith("ignn"), model == "ignn-solver"
    options = dict(recipe.model)
    if not implicit:
        options = {key: options[key] for key in ("hidden_channels", "dropout")}
        options["num_layers"] = LAYERS
    torch.manual_seed(request.seed)
    network = build(
        "ignn" if implicit else model,
        in_channels=data.num_features,
        num_classes=data.num_classes,
        **options,
    )
    solver = "alternating" if solved else None
    fit(network, data, seed=request.seed, progress=False, solver=solver, **training)
    if not solved:
        return accuracy(network, data, "test")
    assert isinstance(network, IGNN)
    classes = network.predict(data, solver=fit_solver(network, data, seed=request.seed)).classes
    right = classes[data.test_mask] == data.y[data.test_mask]
    return float(right.double().mean())


def summarised(rows: list[Row]) -> list[Row]:
    """Mean and standard deviation over the seeds."""
    result: list[Row] = []
    for (dataset, model, length), part in by(rows, "dataset", "model", "length").items():
        values = [row["accuracy"] for row in part]
        row: Row = {"dataset": dataset, "model": model, "length": length, "seeds": len(values)}
        std = stdev(values) if len(values) > 1 else 0.0
        result.append({**row, "accuracy": mean(values), "std": std})
    return result


def draw(rows: list[Row], titles: Mapping[str, str], path: Path) -> list[Path]:
    """One curve a model, with the standard deviation over seeds."""
    with styled() as plt:
        figure, axis = plt.subplots(figsize=(6.2, 4.2))
        for place, ((model,), part) in enumerate(by(rows, "model").items()):
            # A little apart, so that curves on top of each other can both be seen.
            lengths = [row["length"] + 0.12 * (place - 2) for row in part]
            values, spread = column(part, "accuracy", 100), column(part, "std", 100)
            axis.errorbar(lengths, values, spread, label=MODELS[model], capsize=3)
        axis.axhline(50, color="grey", linestyle="--", linewidth=1)
        axis.annotate("guessing", (LENGTHS[0], 50), (0, 3), textcoords="offset points")
        axis.set_xticks(LENGTHS)
        axis.set_xlabel("length of the chains (nodes)")
        axis.set_ylabel("test accuracy (%)")
        legend_above(figure, axis)
        return save_all(figure, path)
