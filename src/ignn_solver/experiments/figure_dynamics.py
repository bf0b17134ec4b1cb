"""The paper's figure "Training dynamics": time of training and inference, epoch by epoch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ..datasets import load
from ..nn.classifiers import IGNN
from ..recipe import load_recipe
from ..report.figures import legend_above, plain_ticks, save_all, styled
from ..tasks.node import fit
from .figure import Row, by, column, run_figure
from .request import Report, Request
from .titles import titled

NAME = "figure-dynamics"
TITLE = "Figure 8: time of training and inference over the epochs, IGNN and IGNN-Solver"
DATASETS = titled("amazon-all", "citeseer", "blogcatalog", "digits", "wordnet")
QUICK = {"datasets": ("citeseer",), "epochs": 40}
#: How each variant is trained. Cold starts are the paper's; warm ones are what ``fit`` does by default.
VARIANTS: dict[str, dict[str, Any]] = {
    "IGNN": {"warm_start": False},
    "IGNN-Solver": {"warm_start": False, "solver": "alternating"},
    "IGNN, warm starts": {},
    "IGNN-Solver, warm starts": {"solver": "alternating"},
}


def run(request: Request) -> Report:
    """Measure what is missing and draw."""
    return run_figure(request, NAME, DATASETS, measure, draw, {"variants": VARIANTS})


def measure(dataset: str, request: Request) -> list[Row]:
    """Train each variant with the same seed, for all epochs of the recipe.

    An epoch in which the alternating solver is fitted anew pays for it. Inference is the pass over the
    whole graph that each epoch is judged by.
    """
    data = load(dataset, request.data_dir, seed=request.seed)
    recipe = load_recipe(dataset)
    epochs = request.epochs or recipe.training.get("epochs", 200)
    training = {**recipe.training, "epochs": epochs, "patience": epochs}
    rows: list[Row] = []
    for variant, options in VARIANTS.items():
        torch.manual_seed(request.seed)
        model = IGNN(data.num_features, num_classes=data.num_classes, **recipe.model)
        result = fit(model, data, seed=request.seed, progress=False, **{**training, **options})
        for epoch, entry in enumerate(result.history, 1):
            rows.append(
                {
                    "dataset": dataset,
                    "variant": variant,
                    "epoch": epoch,
                    "train_ms": 1000 * entry["train_seconds"],
                    "inference_ms": 1000 * (entry["seconds"] - entry["train_seconds"]),
                    "val_accuracy": entry["val_accuracy"],
                    "forward_evals": entry["forward_evals"],
                    "backward_evals": entry["backward_evals"],
                }
            )
    return rows


def draw(rows: list[Row], titles: Mapping[str, str], path: Path) -> list[Path]:
    """Training, inference, evaluations and validation accuracy, one line of panels a dataset."""
    rows = [{**row, "evals": row["forward_evals"] + row["backward_evals"]} for row in rows]
    columns = (
        ("train_ms", 1.0, "training (ms an epoch)"),
        ("inference_ms", 1.0, "inference (ms)"),
        ("evals", 1.0, "evaluations in training"),
        ("val_accuracy", 100.0, "validation accuracy (%)"),
    )
    with styled() as plt:
        size = (13.0, 0.8 + 2.8 * len(titles))
        figure, axes = plt.subplots(len(titles), len(columns), figsize=size, squeeze=False)
        for line, name in zip(axes, titles, strict=True):
            here = [row for row in rows if row["dataset"] == name]
            for axis, (what, scale, label) in zip(line, columns, strict=True):
                for (variant,), part in by(here, "variant").items():
                    every = max(1, len(part) // 10)
                    values = column(part, what, scale)
                    axis.plot(column(part, "epoch"), values, label=variant, markevery=every)
                axis.set_xlabel("epoch")
                axis.set_ylabel(label)
                axis.set_title(titles[name])
                if what.endswith("ms"):
                    axis.set_yscale("log")
                    plain_ticks(axis)
        legend_above(figure, axes[0, 0])
        return save_all(figure, path)
