"""The paper's ablation figure: the solver as published, without its parts, and no solver at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..learning.fit import equilibrium
from ..report.figures import legend_above, save_all, styled
from ..solvers import Picard
from . import trajectory
from .figure import Row, by, column, run_figure
from .prepared import prepare
from .request import Report, Request
from .titles import SMALL, titled

NAME = "figure-ablation"
TITLE = "Figure 7: ablation of the published solver: initializer, alpha loss, schedules of the loss"
DATASETS = titled(*SMALL, "digits", "wordnet")
QUICK = {"datasets": ("citeseer",)}
EVALUATIONS = 25
PLAIN = "without solver"
#: What of the published solver is different.
SETTINGS: dict[str, dict[str, Any]] = {
    "IGNN-Solver (as published)": {},
    "without initializer": {"initializer": "none"},
    "without alpha loss": {"lambda_alpha": 0.0},
    "constant weights of steps": {"schedule": "constant"},
    "last step only": {"schedule": "last"},
}
_COLUMNS = 4
_HIGHEST = 10.0


def run(request: Request) -> Report:
    """Measure what is missing and draw."""
    settings = {"settings": SETTINGS, "evaluations": EVALUATIONS}
    return run_figure(request, NAME, DATASETS, measure, draw, settings)


def measure(dataset: str, request: Request) -> list[Row]:
    """Train the solver in every setting and follow it for 25 evaluations."""
    prepared = prepare(dataset, request)
    f, _ = equilibrium(prepared.model, prepared.data)
    solvers: dict[str, Any] = {PLAIN: Picard()}
    for setting, options in SETTINGS.items():
        solvers[setting] = prepared.solver("learned-paper", **options)
    rows: list[Row] = []
    for setting, solver in solvers.items():
        path = trajectory.ours(f, solver, EVALUATIONS)()
        for evaluation, residual in zip(path.evals, path.residuals, strict=True):
            row = {"dataset": dataset, "setting": setting, "evaluation": evaluation}
            rows.append({**row, "residual": residual})
    return rows


def draw(rows: list[Row], titles: Mapping[str, str], path: Path) -> list[Path]:
    """One panel a dataset, one curve a setting."""
    across = min(len(titles), _COLUMNS)
    down = -(-len(titles) // across)
    with styled() as plt:
        size = (max(6.2, 3.2 * across), 1.2 + 2.8 * down)
        figure, axes = plt.subplots(down, across, figsize=size, sharey=True, squeeze=False)
        for axis, name in zip(axes.flat, titles, strict=False):
            here = [row for row in rows if row["dataset"] == name]
            for (setting,), part in by(here, "setting").items():
                places, values = column(part, "evaluation"), column(part, "residual")
                axis.semilogy(places, values, label=setting, markevery=3)
            axis.set_title(titles[name])
            axis.set_xlabel("evaluations of f")
        for axis in axes.flat[len(titles) :]:
            axis.set_visible(False)
        low, high = axes[0, 0].get_ylim()
        axes[0, 0].set_ylim(low, min(high, _HIGHEST))
        for axis in axes[:, 0]:
            axis.set_ylabel("relative residual")
        legend_above(figure, axes[0, 0])
        return save_all(figure, path)
