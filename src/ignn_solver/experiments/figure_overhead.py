"""The paper's figure "Overhead": what learning a solver adds to training the model, and its size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..report.figures import legend_above, save_all, styled
from .figure import Row, by, column, run_figure
from .prepared import prepare
from .request import Report, Request
from .titles import SMALL, titled
from .variants import look

NAME = "figure-overhead"
TITLE = "Figure 4: training time and parameters of the solver, as a share of the model's"
DATASETS = titled(*SMALL, "digits", "amazon-all", "wordnet")
QUICK = {"datasets": ("citeseer", "digits")}
SHOWN = ("learned", "learned-paper")
_BAR = 0.38


def run(request: Request) -> Report:
    """Measure what is missing and draw."""
    return run_figure(request, NAME, DATASETS, measure, draw, {"presets": list(SHOWN)})


def measure(dataset: str, request: Request) -> list[Row]:
    """Seconds and parameters of the model and of each solver; solving for the target is included."""
    prepared = prepare(dataset, request)
    model_seconds, model_size = prepared.training_seconds, prepared.model.num_parameters
    rows: list[Row] = []
    for preset in SHOWN:
        solver = prepared.solver(preset)
        seconds, size = solver.details["seconds"], solver.num_parameters
        rows.append(
            {
                "dataset": dataset,
                "preset": preset,
                "model_seconds": model_seconds,
                "solver_seconds": seconds,
                "share_seconds": seconds / (model_seconds + seconds),
                "model_parameters": model_size,
                "solver_parameters": size,
                "share_parameters": size / (model_size + size),
            }
        )
    return rows


def draw(rows: list[Row], titles: Mapping[str, str], path: Path) -> list[Path]:
    """Bars for each dataset: the solver's share of the time, and of the parameters."""
    places = {name: place for place, name in enumerate(titles)}
    with styled() as plt:
        size = (max(7.0, 2.4 + 1.6 * len(titles)), 4.2)
        figure, axes = plt.subplots(1, 2, figsize=size)
        columns = (("share_seconds", "training time"), ("share_parameters", "parameters"))
        for axis, (name, what) in zip(axes, columns, strict=True):
            for shift, ((preset,), part) in enumerate(by(rows, "preset").items()):
                colours = {key: look(preset)[key] for key in ("label", "color")}
                where = [places[row["dataset"]] + (shift - 0.5) * _BAR for row in part]
                bars = axis.bar(where, column(part, name, 100), _BAR, **colours)
                axis.bar_label(bars, fmt="%.2g", fontsize=8, padding=1)
            axis.set_xticks(list(places.values()), list(titles.values()))
            axis.tick_params(axis="x", rotation=20 if len(titles) > 3 else 0)
            axis.set_ylabel(f"solver's share of the {what} (%)")
            axis.grid(visible=False, axis="x")
        legend_above(figure, axes[0])
        return save_all(figure, path)
