"""The paper's figure on other predictors: graph layer, perceptron, GRU and TCN as the solver's mixer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..learning.fit import equilibrium
from ..learning.mixer import MIXERS
from ..report.figures import legend_above, save_all, styled
from . import trajectory
from .figure import Row, by, column, run_figure
from .prepared import prepare
from .request import Report, Request
from .titles import titled

NAME = "figure-mixers"
TITLE = "Figure 6: GN, NN, GRU and TCN as the solver's predictor, in warm-up and in inference"
DATASETS = titled("citeseer", "acm", "digits")
QUICK = {"datasets": ("citeseer",)}
EVALUATIONS = 30
_HIGHEST = 10.0


def run(request: Request) -> Report:
    """Measure what is missing and draw."""
    settings = {"mixers": list(MIXERS), "evaluations": EVALUATIONS}
    return run_figure(request, NAME, DATASETS, measure, draw, settings)


def measure(dataset: str, request: Request) -> list[Row]:
    """Train the solver with each mixer; then follow it for 30 evaluations.

    In warm-up a value is the relative error after the K unrolled steps, for each update of the solver; in
    inference it is the relative residual at each evaluation.
    """
    prepared = prepare(dataset, request)
    f, _ = equilibrium(prepared.model, prepared.data)
    rows: list[Row] = []
    for mixer in MIXERS:
        solver = prepared.solver("learned-paper", mixer=mixer)
        label = {"dataset": dataset, "mixer": mixer}
        for step, value in enumerate(solver.details["history"], 1):
            rows.append({**label, "phase": "warm-up", "step": step, "value": value})
        path = trajectory.ours(f, solver, EVALUATIONS)()
        for step, value in zip(path.evals, path.residuals, strict=True):
            rows.append({**label, "phase": "inference", "step": step, "value": value})
    return rows


def draw(rows: list[Row], titles: Mapping[str, str], path: Path) -> list[Path]:
    """Warm-up to the left and inference to the right, one line of panels a dataset."""
    with styled() as plt:
        size = (8.0, 0.6 + 3.0 * len(titles))
        figure, axes = plt.subplots(len(titles), 2, figsize=size, squeeze=False)
        for (left, right), name in zip(axes, titles, strict=True):
            here = [row for row in rows if row["dataset"] == name]
            for (phase, mixer), part in by(here, "phase", "mixer").items():
                axis = left if phase == "warm-up" else right
                every = max(1, len(part) // 10)
                steps, values = column(part, "step"), column(part, "value")
                axis.semilogy(steps, values, label=mixer.upper(), markevery=every)
            left.set_title(f"{titles[name]}: warm-up")
            left.set_xlabel("updates of the solver")
            left.set_ylabel("relative error after K steps")
            right.set_title(f"{titles[name]}: inference")
            right.set_xlabel("evaluations of f")
            right.set_ylabel("relative residual")
            low, high = right.get_ylim()
            right.set_ylim(low, min(high, _HIGHEST))
        legend_above(figure, axes[0, 0])
        return save_all(figure, path)
