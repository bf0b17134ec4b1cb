"""How many evaluations the learned solvers save, what they cost, and what they survive.

Parts: ``evaluations`` (to three tolerances), ``transfer`` (changed graph, further training, a larger
graph), ``cost`` (seconds and parameters of the fit), ``alternating`` (training time), ``memory`` (of the
fit on a large graph), ``ablation``.
A part consists of cells, each on disk as soon as it is done under ``runs/learned-solver/cells``; a killed
run goes on where it stopped. Trained models are kept under ``runs/learned-solver`` too. What all cells of a
part have found goes to ``results/learned-solver-PART.json``. Examples:

    python benchmarks/learned_solver.py evaluations
    python benchmarks/learned_solver.py evaluations --datasets wordnet --seeds 1 --epochs 8
    python benchmarks/learned_solver.py alternating --datasets citeseer,acm

Evaluations do not depend on how busy the machine is; ``cost`` and ``alternating`` need it idle.
"""

from __future__ import annotations

import argparse
import copy
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from learned_problems import (
    GRAPH_SETS,
    graph_model,
    node_model,
    perturbed,
    recipe_of,
    train_graphs,
)

import ignn_solver as ig
from ignn_solver.equilibrium import EquilibriumMap
from ignn_solver.experiments.grid import Cell, run_grid
from ignn_solver.files import read_json
from ignn_solver.learning.fit import equilibrium
from ignn_solver.recipe import load_recipe
from ignn_solver.results import write_results
from ignn_solver.solvers.mixed import MixedAnderson

RUNS = Path("runs/learned-solver")
TOLERANCES = (1e-2, 1e-3, 1e-4)
NODE_SETS = ("citeseer", "acm", "blogcatalog", "flickr")
LARGE_SETS = ("wordnet", "com-amazon")
AT_RECIPE = tuple(f"{name}:recipe" for name in GRAPH_SETS)
CLASSICAL = {"picard": ig.Picard(), "anderson": ig.Anderson(), "broyden": ig.Broyden()}
LEARNED = ("learned-paper", "learned")
#: How often a fit that takes a second or less is timed; the median counts.
FITS = 5
Rows = list[dict[str, Any]]


def paper_options(name: str) -> dict[str, Any]:
    """The recipe's settings for the paper's solver, K at most 10."""
    if name in GRAPH_SETS + AT_RECIPE:
        return {"steps": 8, "iterations": 60, "lr": 0.02}
    settings = dict(load_recipe(name).solver)
    settings["steps"] = min(10, settings.get("steps", 10))
    return {**settings, "iterations": 60, "lr": 0.02}


def options_of(preset: str, name: str) -> dict[str, Any]:
    return paper_options(name) if preset == "learned-paper" else {}


def reach(f: EquilibriumMap, solver: Any, tol: float) -> dict[str, Any]:
    """What a solver needs to reach a tolerance.

    ``charged`` counts, besides the evaluations of f, the mixer's passes over its sparsified graph as the
    fractions of an evaluation that they are.
    """
    found = ig.solve(f, solver, tol=tol, max_evals=400, on_failure="return")
    each = solver.step_cost(f.adjacency) if isinstance(solver, MixedAnderson) else 0.0
    steps = found.trace.shape[0] - 1
    return {
        "evals": found.num_evals,
        "charged": found.num_evals + each * steps,
        "converged": found.converged,
        "residual": found.residual,
        "rejected": int(found.rejected.sum()),
    }


def compare(f: EquilibriumMap, solvers: Mapping[str, Any], **labels: Any) -> Rows:
    """One row a solver and tolerance, with the share of plain iteration's evaluations."""
    rows = []
    for tol in TOLERANCES:
        plain = reach(f, CLASSICAL["picard"], tol)["evals"]
        for name, solver in solvers.items():
            row = {**labels, "tol": tol, "solver": name, **reach(f, solver, tol)}
            rows.append(
                {
                    **row,
                    "share_of_picard": row["evals"] / plain,
                    "charged_share": row["charged"] / plain,
                }
            )
    return rows


def evaluations(cell: Mapping[str, Any]) -> Rows:
    name, seed = cell["dataset"], cell["seed"]
    if name in GRAPH_SETS + AT_RECIPE:
        model, data, f = graph_model(name, seed)
    else:
        model, data = node_model(name, seed, RUNS, cell["epochs"])
        f, _ = equilibrium(model, data)
    solvers = {
        preset: ig.fit_solver(model, data, preset, seed=seed, **options_of(preset, name))
        for preset in LEARNED
    }
    return compare(f, {**CLASSICAL, **solvers}, dataset=name, seed=seed)


def transfer(cell: Mapping[str, Any]) -> Rows:
    name, seed = cell["dataset"], cell["seed"]
    if name == "blocks":
        return larger_graph(seed)
    model, data = node_model(name, seed, RUNS, cell["epochs"])
    used = {
        preset: ig.fit_solver(model, data, preset, seed=seed, **options_of(preset, name))
        for preset in LEARNED
    }
    labels = {"dataset": name, "seed": seed}
    f, _ = equilibrium(model, perturbed(data, 0.05, seed))
    rows = compare(f, used, **labels, case="5% of edges and rows changed")
    further = copy.deepcopy(model)
    lr = load_recipe(name, recipe_of(name)).training.get("lr", 0.01)
    ig.fit(further, data, epochs=10, seed=seed + 100, lr=lr, progress=False)
    f, _ = equilibrium(further, data)
    rows += compare(f, used, **labels, case="10 more epochs")
    adapted = {preset: solver.adapt(further, data) for preset, solver in used.items()}
    return rows + compare(f, adapted, **labels, case="10 more epochs, adapted")


def larger_graph(seed: int) -> Rows:
    """Solvers learnt on a random graph, used on one ten times larger."""
    small = ig.datasets.load("blocks", nodes=3000, seed=seed)
    large = ig.datasets.load("blocks", nodes=30_000, seed=seed + 50)
    torch.manual_seed(seed)
    model = ig.IGNN(small.num_features, 128, small.num_classes)
    ig.fit(model, small, epochs=20, seed=seed, progress=False)
    training = {"learned-paper": {"steps": 6, "iterations": 60, "lr": 0.02}, "learned": {}}
    used = {
        preset: ig.fit_solver(model, small, preset, seed=seed, **options)
        for preset, options in training.items()
    }
    f, _ = equilibrium(model, large)
    case = "a graph 10 times larger"
    return compare(f, used, dataset="blocks", seed=seed, case=case)


def cost(cell: Mapping[str, Any]) -> Rows:
    """Seconds of a whole training by the recipe, and of the fits after it, in one process."""
    name, seed = cell["dataset"], cell["seed"]
    if name in GRAPH_SETS:
        trained, model, data = train_graphs(name, seed)
    else:
        row, model, data = train(name, seed, None)
        trained = row["seconds"]
    rows = []
    # What the paper's solver costs is plain from the small graphs.
    for preset in LEARNED if name in NODE_SETS else LEARNED[1:]:
        # The first fit of a process also loads the compiled kernels, as the first epoch of a training does.
        times = []
        for _ in range(FITS if preset == "learned" else 1):
            solver = ig.fit_solver(model, data, preset, seed=seed, **options_of(preset, name))
            times.append(solver.details["seconds"])
        seconds = statistics.median(times)
        rows.append(
            {
                "dataset": name,
                "seed": seed,
                "solver": preset,
                "seconds": seconds,
                "first_seconds": times[0],
                "training_seconds": trained,
                "share_of_training": seconds / trained,
                "parameters": solver.num_parameters,
                "model_parameters": model.num_parameters,
                "share_of_parameters": solver.num_parameters / model.num_parameters,
            }
        )
    return rows


def memory(cell: Mapping[str, Any]) -> Rows:
    """The most memory that this process has held, before a fit and after: run it for one dataset at a time."""
    name, seed = cell["dataset"], cell["seed"]
    model, data = node_model(name, seed, RUNS, cell["epochs"])
    rows = []
    # The larger one last, as a peak never falls.
    for preset in reversed(LEARNED):
        before = peak_gib()
        solver = ig.fit_solver(model, data, preset, seed=seed, **options_of(preset, name))
        most = peak_gib()
        f, _ = equilibrium(model, data)
        reached = reach(f, solver, 1e-3)
        rows.append(
            {
                "dataset": name,
                "seed": seed,
                "solver": preset,
                "nodes": data.num_nodes,
                "seconds": solver.details["seconds"],
                "gib_before": before,
                "gib": most,
                **reached,
            }
        )
        del f
    return rows


def peak_gib() -> float:
    """The most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def alternating(cell: Mapping[str, Any]) -> Rows:
    ways = (None, "alternating")
    return [train(cell["dataset"], cell["seed"], way)[0] for way in ways]


def train(name: str, seed: int, way: str | None) -> tuple[dict[str, Any], ig.IGNN, Any]:
    """A whole training by the recipe, but 128 wide, with plain iteration or a solver learnt along."""
    data = ig.datasets.load(name)
    recipe = load_recipe(name, recipe_of(name))
    torch.manual_seed(seed)
    shape = {**recipe.model, "hidden_channels": 128}
    model = ig.IGNN(data.num_features, num_classes=data.num_classes, **shape)
    started, cpu = time.perf_counter(), time.process_time()
    result = ig.fit(model, data, seed=seed, solver=way, progress=False, **recipe.training)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    best = result.history[: result.best_epoch + 1]
    evals = [e["forward_evals"] + e["backward_evals"] for e in result.history]
    row = {
        "dataset": name,
        "seed": seed,
        "training": way or "plain",
        "val_accuracy": result.val_accuracy,
        "epochs": result.epochs,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "seconds_to_best": sum(entry["seconds"] for entry in best),
        "seconds_per_epoch": seconds / result.epochs,
        "evaluations_per_epoch": sum(evals) / len(evals),
    }
    return row, model, data


PAPER = {"steps": 6, "iterations": 40, "lr": 0.02}
ABLATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "learned-paper": ("learned-paper", {}),
    "no initializer": ("learned-paper", {"initializer": "none"}),
    "initializer on X": ("learned-paper", {"initializer": "mlp-x"}),
    "initializer on b": ("learned-paper", {"initializer": "mlp"}),
    "graph initializer": ("learned-paper", {"initializer": "graph"}),
    "no alpha loss": ("learned-paper", {"lambda_alpha": 0.0}),
    "constant schedule": ("learned-paper", {"schedule": "constant"}),
    "last step only": ("learned-paper", {"schedule": "last"}),
    "mixer nn": ("learned-paper", {"mixer": "nn"}),
    "mixer gru": ("learned-paper", {"mixer": "gru"}),
    "mixer tcn": ("learned-paper", {"mixer": "tcn"}),
    "mixer aa": ("learned-paper", {"mixer": "aa"}),
    "scope graph": ("learned-paper", {"scope": "graph"}),
    "density 0.1": ("learned-paper", {"density": 0.1}),
    "density 1": ("learned-paper", {"density": 1.0}),
    "random sparsifier": ("learned-paper", {"sparsifier": "random"}),
    "p = 8": ("learned-paper", {"compressed": 8}),
    "m = 2": ("learned-paper", {"window": 2}),
    "K = 3": ("learned-paper", {"steps": 3}),
    "K = 10": ("learned-paper", {"steps": 10}),
    "with safeguard": ("learned-paper", {"safeguard": True}),
    "learned": ("learned", {}),
    "learned, full rank": ("learned", {"rank": 0}),
    "learned, rank 32": ("learned", {"rank": 32}),
    "learned, rank 8": ("learned", {"rank": 8}),
    "learned, no narrow start": ("learned", {"narrow": 0}),
    "learned, narrow start 16": ("learned", {"narrow": 16}),
    "learned, narrow start 64": ("learned", {"narrow": 64}),
    "learned, 4 steps": ("learned", {"steps": 4}),
}


def ablation(cell: Mapping[str, Any]) -> Rows:
    name, seed, label = cell["dataset"], cell["seed"], cell["label"]
    model, data = node_model(name, seed, RUNS, cell["epochs"])
    f, _ = equilibrium(model, data)
    preset, options = ABLATIONS[label]
    base = PAPER if preset == "learned-paper" else {}
    solver = ig.fit_solver(model, data, preset, seed=seed, **{**base, **options})
    rows = compare(f, {label: solver}, dataset=name, seed=seed)
    if label == "learned":
        # Its safeguard is a choice of the solve, not of the fit.
        unguarded = [{**row, "solver": "learned, no safeguard"} for row in rows]
        for row in unguarded:
            found = ig.solve(f, solver, tol=row["tol"], safeguard=False, on_failure="return")
            row |= {
                "evals": found.num_evals,
                "charged": found.num_evals,
                "converged": found.converged,
            }
        rows += unguarded
    return rows


PARTS: dict[str, tuple[Callable[[Mapping[str, Any]], Rows], tuple[str, ...]]] = {
    "evaluations": (evaluations, NODE_SETS + GRAPH_SETS + AT_RECIPE),
    "transfer": (transfer, (*NODE_SETS, "blocks")),
    "cost": (cost, (*NODE_SETS, "wordnet", *GRAPH_SETS)),
    "alternating": (alternating, NODE_SETS),
    "memory": (memory, ("com-amazon",)),
    "ablation": (ablation, NODE_SETS[:1]),
}


def cells_of(part: str, datasets: list[str], seeds: int, epochs: int | None) -> list[Cell]:
    """Seed by seed, so that a run that is cut short has every dataset."""
    labels: list[str | None] = list(ABLATIONS) if part == "ablation" else [None]
    return [
        Cell(
            (name, f"seed-{seed}" + ("" if label is None else f"-{label.replace(' ', '-')}")),
            {"dataset": name, "seed": seed, "epochs": epochs}
            | ({} if label is None else {"label": label}),
        )
        for seed in range(seeds)
        for name in datasets
        for label in labels
    ]


def collected(folder: Path, datasets: tuple[str, ...]) -> Rows:
    """The rows of every finished cell, datasets in their usual order."""
    known = [*datasets, *LARGE_SETS]
    known.sort(key=lambda name: name.split(":")[0] in GRAPH_SETS)
    found: Rows = []
    for path in sorted(folder.rglob("*.json"), key=lambda path: path.stat().st_mtime):
        found += read_json(path, "cell of the benchmark")["result"]["rows"]
    return sorted(found, key=lambda row: (known.index(row["dataset"]), row["seed"]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--datasets", help="separated by commas; by default all of the part")
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0 on")
    parser.add_argument(
        "--epochs", type=int, help="train the models for fewer epochs than the recipe says"
    )
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    work, usual = PARTS[arguments.part]
    datasets = arguments.datasets.split(",") if arguments.datasets else list(usual)
    started = time.perf_counter()
    cells = cells_of(arguments.part, datasets, arguments.seeds, arguments.epochs)
    folder = RUNS / "cells" / arguments.part
    run_grid(cells, lambda cell: {"rows": work(cell)}, folder, title=arguments.part)
    path = arguments.output or Path("results") / f"learned-solver-{arguments.part}.json"
    rows = collected(folder, usual)
    write_results(
        path, started, part=arguments.part, hidden=128, epochs=arguments.epochs, rows=rows
    )
    print(f"written to {path}")


if __name__ == "__main__":
    main()
