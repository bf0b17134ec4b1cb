"""The paper's convergence figure: relative residual along a solve, far past what was trained for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ..datasets import folds, load
from ..equilibrium import EquilibriumMap
from ..learning.fit import LearnedSolver, equilibrium, fit_solver
from ..nn.graph_classifier import GraphIGNN
from ..report.figures import legend_above, save_all, styled
from ..solvers import Picard
from ..tasks.graph import fold_batches, make_batches, train_fold
from . import trajectory
from .figure import Row, by, column, run_figure
from .graph_models import MODELS
from .prepared import paper_settings, prepare
from .request import Report, Request
from .table3 import FEATURES
from .titles import LARGE, titled
from .variants import PLAIN, PUBLISHED, look

NAME = "figure-convergence"
TITLE = "Figure 5: relative residual against evaluations and time, solvers trained at K = 6"
NODES = titled(*LARGE, "citeseer", "blogcatalog", "wordnet", "blocks:arxiv")
GRAPHS = {"mutag": "MUTAG", "ptc_mr": "PTC_MR", "cox2": "COX2", "proteins": "PROTEINS"}
DATASETS = {**NODES, **GRAPHS}
QUICK = {"datasets": ("citeseer", "mutag")}
#: K, the steps that the paper's solver is unrolled for in training.
STEPS = 6
EVALUATIONS = 40
_FOLDS = 10
_TRAINING_GRAPHS = 200
#: A solver that blows up leaves the picture here.
_HIGHEST = 10.0


def run(request: Request) -> Report:
    """Measure what is missing and draw."""
    settings = {"steps": STEPS, "evaluations": EVALUATIONS, "rounds": _rounds(request)}
    return run_figure(request, NAME, DATASETS, measure, draw, settings)


def _rounds(request: Request) -> int:
    return 3 if request.quick else 7


def measure(dataset: str, request: Request) -> list[Row]:
    """Follow IGNN's loop, plain iteration, and both learned solvers for 40 evaluations."""
    f, solvers = (graph_set if dataset in GRAPHS else node_set)(dataset, request)
    paths = {PUBLISHED: trajectory.published(f, EVALUATIONS)}
    paths[PLAIN] = trajectory.ours(f, Picard(), EVALUATIONS)
    paths |= {name: trajectory.ours(f, one, EVALUATIONS) for name, one in solvers.items()}
    return [
        {"dataset": dataset, "solver": name, "evaluation": evals, "ms": ms, "residual": residual}
        for name, path in trajectory.timed(paths, _rounds(request)).items()
        for evals, ms, residual in zip(path.evals, path.ms, path.residuals, strict=True)
    ]


def node_set(dataset: str, request: Request) -> tuple[EquilibriumMap, dict[str, LearnedSolver]]:
    """The map of a trained model on its graph, and the solvers learnt there."""
    prepared = prepare(dataset, request)
    f, _ = equilibrium(prepared.model, prepared.data)
    published = prepared.solver("learned-paper", steps=STEPS)
    return f, {"learned": prepared.solver("learned"), "learned-paper": published}


def graph_set(dataset: str, request: Request) -> tuple[EquilibriumMap, dict[str, LearnedSolver]]:
    """The map of a trained model on the graphs of a test fold, and solvers learnt on training graphs."""
    graphs = load(dataset, request.data_dir, **FEATURES)
    parts = folds(graphs, _FOLDS, request.seed)[0]
    settings = MODELS["ignn-solver"].settings(dataset, request.epochs)
    training = settings["training"]
    batches = fold_batches(graphs, parts, training.pop("batch_size"), request.seed)
    torch.manual_seed(request.seed)
    model = GraphIGNN(graphs.num_features, num_classes=graphs.num_classes, **settings["model"])
    train_fold(model, batches, seed=request.seed, **training)
    (known,) = make_batches([graphs[int(i)] for i in parts.train[:_TRAINING_GRAPHS]])
    chosen: dict[str, dict[str, Any]] = {
        "learned": {},
        "learned-paper": {**paper_settings(dataset, request.quick), "steps": STEPS},
    }
    solvers = {
        preset: fit_solver(model, known, preset, seed=request.seed, progress=False, **options)
        for preset, options in chosen.items()
    }
    return model.equilibrium_map(batches.test[0]).detach(), solvers


def draw(rows: list[Row], titles: Mapping[str, str], path: Path) -> list[Path]:
    """A picture of the node datasets and one of the graph datasets: by evaluations, and by time."""
    files = []
    for group, members in (("nodes", NODES), ("graphs", GRAPHS)):
        shown = [name for name in members if name in titles]
        if not shown:
            continue
        with styled() as plt:
            size = (max(6.2, 3.0 * len(shown)), 5.8)
            figure, axes = plt.subplots(2, len(shown), figsize=size, sharey=True, squeeze=False)
            for (upper, lower), name in zip(axes.T, shown, strict=True):
                here = [row for row in rows if row["dataset"] == name]
                for (solver,), part in by(here, "solver").items():
                    style = {**look(solver), "markevery": 4, "linewidth": 1.2}
                    upper.semilogy(column(part, "evaluation"), column(part, "residual"), **style)
                    lower.loglog(column(part, "ms"), column(part, "residual"), **style)
                upper.axvline(STEPS, color="grey", linestyle=":", linewidth=1)
                upper.set_title(titles[name])
                upper.set_xlabel("evaluations of f")
                lower.set_xlabel("time (ms)")
            lowest = min(value for value in column(rows, "residual") if value > 0)
            axes[0, 0].set_ylim(lowest / 2, _HIGHEST)
            axes[0, 0].set_ylabel("relative residual")
            axes[1, 0].set_ylabel("relative residual")
            axes[0, 0].annotate(
                f"K = {STEPS}", (STEPS, 1.5), (4, 0), textcoords="offset points", fontsize=8
            )
            legend_above(figure, axes[0, 0])
            files += save_all(figure, path.with_name(f"{path.name}-{group}"))
    return files
