"""How many evaluations the learned solvers save, what they cost, and what they survive.

Parts: ``evaluations`` (to three tolerances), ``transfer`` (changed graph, further training, a larger
graph), ``cost`` (seconds and parameters of the fit), ``alternating`` (training time), ``ablation``.
Results go to ``results/learned-solver-PART.json``. Example:

    python benchmarks/learned_solver.py evaluations --datasets citeseer,acm --seeds 5
"""

from __future__ import annotations

import argparse
import copy
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.loader import DataLoader

import ignn_solver as ig
from ignn_solver.equilibrium import EquilibriumMap
from ignn_solver.learning.fit import equilibrium
from ignn_solver.nn.graph_classifier import GraphIGNN
from ignn_solver.recipe import load_recipe
from ignn_solver.results import write_results

TOLERANCES = (1e-2, 1e-3, 1e-4)
NODE_SETS = ("citeseer", "acm", "blogcatalog", "flickr", "wordnet")
GRAPH_SETS = ("mutag", "ptc_mr", "cox2", "proteins", "nci1")
CLASSICAL = {"picard": ig.Picard(), "anderson": ig.Anderson(), "broyden": ig.Broyden()}
LEARNED = ("learned-paper", "learned")


def train(name: str, seed: int, **options: Any) -> tuple[ig.IGNN, Any, ig.FitResult]:
    """A model trained by the paper's recipe, but 128 wide everywhere, and what the training took."""
    data = ig.datasets.load(name)
    recipe = load_recipe(name)
    torch.manual_seed(seed)
    arguments = {**recipe.model, "hidden_channels": 128}
    model = ig.IGNN(data.num_features, num_classes=data.num_classes, **arguments)
    training = {**recipe.training, **({"epochs": 20} if name == "wordnet" else {}), **options}
    result = ig.fit(model, data, seed=seed, **training)
    return model, data, result


def paper_options(name: str) -> dict[str, Any]:
    """The paper's settings for its solver on a dataset; fewer updates where one takes seconds."""
    recipe = load_recipe(name)
    updates = {"wordnet": 30, "blogcatalog": 60, "flickr": 60}.get(name, 100)
    return {**recipe.solver, "iterations": updates, "lr": 0.02}


def reach(f: EquilibriumMap, solver: Any, tol: float) -> dict[str, Any]:
    """What a solver needs to reach a tolerance."""
    found = ig.solve(f, solver, tol=tol, max_evals=400, on_failure="return")
    return {
        "evals": found.num_evals,
        "converged": found.converged,
        "residual": found.residual,
        "rejected": int(found.rejected.sum()),
    }


def compare(f: EquilibriumMap, solvers: dict[str, Any], **labels: Any) -> list[dict[str, Any]]:
    """One row a solver and tolerance, with the share of plain iteration's evaluations."""
    rows = []
    for tol in TOLERANCES:
        plain = reach(f, CLASSICAL["picard"], tol)["evals"]
        for name, solver in solvers.items():
            row = {**labels, "tol": tol, "solver": name, **reach(f, solver, tol)}
            rows.append({**row, "share_of_picard": row["evals"] / plain})
    return rows


def evaluations(datasets: list[str], seeds: int) -> list[dict[str, Any]]:
    rows = []
    for name in datasets:
        for seed in range(1 if name == "wordnet" else seeds):
            if name in GRAPH_SETS:
                f, solvers = graph_set(name, seed)
            else:
                model, data, _ = train(name, seed)
                f, _ = equilibrium(model, data)
                options = {"learned-paper": paper_options(name), "learned": {}}
                solvers = {
                    preset: ig.fit_solver(model, data, preset, seed=seed, **options[preset])
                    for preset in LEARNED
                }
            rows += compare(f, {**CLASSICAL, **solvers}, dataset=name, seed=seed)
            show(rows, name, seed)
    return rows


def graph_set(name: str, seed: int) -> tuple[EquilibriumMap, dict[str, Any]]:
    """Solvers learnt on the other graphs of a set, and the map of its largest graph, unseen."""
    graphs = ig.datasets.load(name)
    sizes = [graph.num_nodes for graph in graphs]
    largest = int(np.argmax(sizes))
    others = [graphs[i] for i in range(len(graphs)) if i != largest][:100]
    torch.manual_seed(seed)
    model = GraphIGNN(graphs.num_features, 32, graphs.num_classes)
    batch = next(iter(DataLoader(others, batch_size=len(others))))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    for _ in range(30):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(batch), batch.y).backward()
        optimizer.step()
    model.eval()
    one = next(iter(DataLoader([graphs[largest]], batch_size=1)))
    with torch.no_grad():
        f = model.equilibrium_map(one).detach()
    solvers = {
        "learned-paper": ig.fit_solver(
            model, batch, "learned-paper", seed=seed, steps=6, iterations=60, lr=0.02
        ),
        "learned": ig.fit_solver(model, batch, seed=seed),
    }
    return f, solvers


def transfer(datasets: list[str], seeds: int) -> list[dict[str, Any]]:
    rows = []
    for name in datasets:
        for seed in range(seeds):
            model, data, _ = train(name, seed)
            solver = ig.fit_solver(model, data, seed=seed)
            used = {"learned": solver}
            changed = perturbed(data, 0.05, seed)
            f, _ = equilibrium(model, changed)
            rows += compare(f, used, dataset=name, seed=seed, case="5% of edges and rows changed")
            further = copy.deepcopy(model)
            training = load_recipe(name).training
            lr = {"lr": training["lr"]} if "lr" in training else {}
            ig.fit(further, data, epochs=10, seed=seed + 100, **lr)
            f, _ = equilibrium(further, data)
            rows += compare(f, used, dataset=name, seed=seed, case="10 more epochs")
            adapted = {"learned": solver.adapt(further, data)}
            rows += compare(f, adapted, dataset=name, seed=seed, case="10 more epochs, adapted")
            show(rows, name, seed)
    for seed in range(seeds):
        small = ig.datasets.load("blocks", nodes=3000, seed=seed)
        large = ig.datasets.load("blocks", nodes=30_000, seed=seed + 50)
        torch.manual_seed(seed)
        model = ig.IGNN(small.num_features, 128, small.num_classes)
        ig.fit(model, small, epochs=40, seed=seed)
        solver = ig.fit_solver(model, small, seed=seed)
        f, _ = equilibrium(model, large)
        case = "blocks, trained on a graph 10 times smaller"
        rows += compare(f, {"learned": solver}, dataset="blocks", seed=seed, case=case)
        show(rows, "blocks", seed)
    return rows


def perturbed(data: Any, share: float, seed: int) -> Any:
    """The graph with a share of its edges rewired and of its feature rows exchanged."""
    generator = torch.Generator().manual_seed(seed)
    result = copy.copy(data)
    edges = data.edge_index.clone()
    chosen = torch.randperm(edges.shape[1], generator=generator)[: int(share * edges.shape[1])]
    edges[1, chosen] = torch.randint(data.num_nodes, (len(chosen),), generator=generator)
    result.edge_index = edges
    rows = torch.randperm(data.num_nodes, generator=generator)[: int(share * data.num_nodes)]
    order = torch.arange(data.num_nodes)
    order[rows] = rows[torch.randperm(len(rows), generator=generator)]
    result.x = data.x[order] if data.x.layout == torch.strided else data.x.to_dense()[order]
    return result


def cost(datasets: list[str], seeds: int) -> list[dict[str, Any]]:
    rows = []
    for name in datasets:
        for seed in range(seeds):
            model, data, result = train(name, seed)
            for preset in LEARNED:
                options = paper_options(name) if preset == "learned-paper" else {}
                solver = ig.fit_solver(model, data, preset, seed=seed, **options)
                rows.append(
                    {
                        "dataset": name,
                        "seed": seed,
                        "solver": preset,
                        "seconds": solver.details["seconds"],
                        "training_seconds": result.seconds,
                        "share_of_training": solver.details["seconds"] / result.seconds,
                        "parameters": solver.num_parameters,
                        "model_parameters": model.num_parameters,
                        "share_of_parameters": solver.num_parameters / model.num_parameters,
                    }
                )
                print(rows[-1], flush=True)
    return rows


def alternating(datasets: list[str], seeds: int) -> list[dict[str, Any]]:
    rows = []
    for name in datasets:
        for seed in range(seeds):
            for solver in (None, "alternating"):
                started = time.perf_counter()
                _, _, result = train(name, seed, solver=solver)
                seconds = time.perf_counter() - started
                evals = [e["forward_evals"] + e["backward_evals"] for e in result.history]
                rows.append(
                    {
                        "dataset": name,
                        "seed": seed,
                        "training": solver or "plain",
                        "val_accuracy": result.val_accuracy,
                        "epochs": result.epochs,
                        "seconds": seconds,
                        "seconds_per_epoch": seconds / result.epochs,
                        "evaluations_per_epoch": sum(evals) / len(evals),
                    }
                )
                print(rows[-1], flush=True)
    return rows


ABLATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "learned-paper": ("learned-paper", {}),
    "no initializer": ("learned-paper", {"initializer": "none"}),
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
    "K = 4": ("learned-paper", {"steps": 4}),
    "with safeguard": ("learned-paper", {"safeguard": True}),
    "learned": ("learned", {}),
    "learned, full rank": ("learned", {"rank": 0}),
    "learned, rank 32": ("learned", {"rank": 32}),
    "learned, rank 8": ("learned", {"rank": 8}),
    "learned, 4 steps": ("learned", {"steps": 4}),
}


def ablation(datasets: list[str], seeds: int) -> list[dict[str, Any]]:
    rows = []
    for name in datasets:
        for seed in range(seeds):
            model, data, _ = train(name, seed)
            f, _ = equilibrium(model, data)
            for label, (preset, options) in ABLATIONS.items():
                base = {"steps": 6, "iterations": 60, "lr": 0.02} if preset != "learned" else {}
                solver = ig.fit_solver(model, data, preset, seed=seed, **{**base, **options})
                rows += compare(f, {label: solver}, dataset=name, seed=seed)
                show(rows, name, seed)
    return rows


def show(rows: list[dict[str, Any]], name: str, seed: int) -> None:
    latest = [r for r in rows if r["dataset"] == name and r["seed"] == seed and r["tol"] == 1e-3]
    for row in latest[-5:]:
        print(f"{name} {seed} {row['solver']:>18} {row['evals']:4} {row['share_of_picard']:.2f}")
    print(flush=True)


PARTS = {
    "evaluations": evaluations,
    "transfer": transfer,
    "cost": cost,
    "alternating": alternating,
    "ablation": ablation,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--datasets", default=",".join(NODE_SETS[:4]))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=None)
    arguments = parser.parse_args()
    started = time.perf_counter()
    rows = PARTS[arguments.part](arguments.datasets.split(","), arguments.seeds)
    path = arguments.output or Path("results") / f"learned-solver-{arguments.part}.json"
    write_results(path, started, part=arguments.part, hidden=128, rows=rows)
    print(f"written to {path}")


if __name__ == "__main__":
    main()
