"""The paper's figures 2 and 3: accuracy, and the share of proven classes, against inference time.

``tol`` of a row is the residual that the solver itself saw there: with that tolerance it would have
stopped. ``residual`` and the rest are measured afterwards at what it would have returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from torch import Tensor

from ..benchmark import contenders
from ..benchmark.problem import Judgement, Problem
from ..benchmark.published import PublishedLoop
from ..learning.fit import PRESETS
from ..report.figures import legend_above, save_all, styled
from . import trajectory
from .figure import Row, averaged, by, column, run_figure
from .prepared import prepare
from .request import Report, Request
from .titles import LARGE, SMALL, titled
from .variants import PUBLISHED, look

NAME = "figure-pareto"
TITLE = "Figures 2 and 3: speed against accuracy, IGNN and the variants of IGNN-Solver"
GROUPS = {
    "small": titled(*SMALL, "digits"),
    "large": titled(*LARGE, "wordnet", "com-amazon", "blocks:arxiv"),
}
DATASETS = {**GROUPS["small"], **GROUPS["large"]}
QUICK = {"datasets": ("citeseer", "digits"), "trials": 1}
#: Evaluations after which the states are judged.
STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32)


def run(request: Request) -> Report:
    """Measure what is missing and draw."""
    settings = {"steps": list(STEPS), "rounds": 3 if request.quick else 7}

    def seeds(dataset: str) -> int:
        return request.trials if dataset in GROUPS["small"] else 1

    return run_figure(request, NAME, DATASETS, measure, draw, settings, seeds, summarised)


def summarised(rows: list[Row]) -> list[Row]:
    """The mean over the seeds of the small datasets, evaluation by evaluation."""
    return averaged(rows, "dataset", "variant", "evals")


def measure(dataset: str, request: Request) -> list[Row]:
    """Run every variant for 32 evaluations: time and quality of what each has along the way."""
    prepared = prepare(dataset, request)
    problem = Problem(dataset, prepared.model, prepared.data, tol=0.0)
    solvers = {preset: prepared.solver(preset) for preset in PRESETS}
    paths = {PUBLISHED: trajectory.published(problem.f, STEPS[-1])}
    paths |= {name: trajectory.ours(problem.f, one, STEPS[-1]) for name, one in solvers.items()}
    found = trajectory.timed(paths, 3 if request.quick else 7)
    loop = PublishedLoop(problem.f)
    rows = []
    for name, path in found.items():
        judge = Judge(problem)
        if name == PUBLISHED:
            loop.run(STEPS[-1], judge)
        else:
            contenders.ours(problem, name, solvers[name]).run(STEPS[-1], judge)
        for evals, ms, tol in zip(path.evals, path.ms, path.residuals, strict=True):
            if evals in judge.found:
                row: Row = {"dataset": dataset, "variant": name, "tol": tol, "evals": evals}
                rows.append({**row, "ms": ms, **asdict(judge.found[evals])})
    return rows


class Judge:
    """Judges the states that a solver has after some of its evaluations."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.found: dict[int, Judgement] = {}

    def __call__(self, spent: int, value: Tensor) -> None:
        """Judge the states after this many evaluations, if it is one of ``STEPS``."""
        if spent in STEPS:
            self.found[spent] = self.problem.judge(value.contiguous())


def draw(rows: list[Row], titles: Mapping[str, str], path: Path) -> list[Path]:
    """A picture of the small datasets and one of the large: accuracy above, certified below."""
    files = []
    for group, members in GROUPS.items():
        shown = [name for name in members if name in titles]
        if not shown:
            continue
        with styled() as plt:
            size = (max(5.5, 3.0 * len(shown)), 5.4)
            figure, axes = plt.subplots(2, len(shown), figsize=size, sharex="col", squeeze=False)
            for (upper, lower), name in zip(axes.T, shown, strict=True):
                for (variant,), part in by(
                    (row for row in rows if row["dataset"] == name), "variant"
                ).items():
                    upper.plot(column(part, "ms"), column(part, "accuracy", 100), **look(variant))
                    lower.plot(column(part, "ms"), column(part, "certified", 100), **look(variant))
                upper.set_title(titles[name])
                upper.set_xscale("log")
                lower.set_xlabel("inference time (ms)")
            axes[0, 0].set_ylabel("test accuracy (%)")
            axes[1, 0].set_ylabel("classes proven (%)")
            legend_above(figure, axes[0, 0])
            files += save_all(figure, path.with_name(f"{path.name}-{group}"))
    return files
