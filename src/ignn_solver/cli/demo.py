"""``ignn-solver demo``: train on an embedded dataset and compare the solvers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..names import CLASSICAL
from .options import Json, Quiet, Seed, classical_solver, show_table

if TYPE_CHECKING:
    from ..solving import Solution

_ROUNDS = 5


def demo(
    output: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the picture.")] = Path(
        "demo"
    ),
    epochs: Annotated[int, typer.Option(help="Most epochs of training.")] = 100,
    tol: Annotated[float, typer.Option(help="Relative residual to reach.")] = 1e-3,
    seed: Seed = 0,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Train an implicit network on handwritten digits and solve it in several ways.

    Example: ignn-solver demo --json demo/demo.json
    """
    import torch

    from .. import datasets
    from ..learning.fit import fit_solver
    from ..nn.classifiers import IGNN
    from ..report.figures import convergence
    from ..results import write_results
    from ..tasks.node import fit

    started = time.perf_counter()
    data = datasets.load("digits")
    torch.manual_seed(seed)
    model = IGNN(data.num_features, 64, data.num_classes, kappa=0.9)
    result = fit(model, data, epochs=epochs, seed=seed, progress=False if quiet else None)
    typer.echo(
        f"digits: {data.num_nodes} images, {data.edge_index.shape[1]} edges; trained "
        f"{result.epochs} epochs in {result.seconds:.1f} s, validation accuracy "
        f"{100 * result.val_accuracy:.1f}%"
    )
    first = fit_solver(model, data, seed=seed).details["seconds"]
    learned = fit_solver(model, data, seed=seed)
    seconds = learned.details["seconds"]
    # The first use of the kernels on a machine compiles them, which is no part of learning.
    compiling = f"; {first - seconds:.1f} s before that to compile" if first > seconds + 1 else ""
    typer.echo(
        f"learned a solver without labels in {seconds:.1f} s "
        f"({learned.num_parameters:,} numbers){compiling}"
    )
    solvers = {**{name: classical_solver(name) for name in CLASSICAL}, "learned": learned}
    rows, curves = _compare(model, data, solvers, tol)
    show_table(
        f"Solving Z = relu(A Z W + b) to a relative residual of {tol:g}",
        ["solver", "evaluations", "ms", "relative residual", "test accuracy"],
        [
            [
                r["solver"],
                r["evals"],
                f"{r['ms']:.1f}",
                f"{r['residual']:.1e}",
                f"{r['accuracy']:.3f}",
            ]
            for r in rows
        ],
    )
    picture = convergence(curves, tol, output / "convergence.png", "digits")
    typer.echo(f"convergence curves: {picture}")
    if json is not None:
        write_results(json, started, dataset="digits", tol=tol, seed=seed, rows=rows)


def _compare(
    model: Any, data: Any, solvers: dict[str, Any], tol: float
) -> tuple[list[dict[str, Any]], dict[str, Solution]]:
    """Solve with each solver in turn, several rounds, interleaved; the best time counts."""
    best = dict.fromkeys(solvers, float("inf"))
    predictions = {}
    for _ in range(_ROUNDS):
        for name, solver in solvers.items():
            began = time.perf_counter()
            predictions[name] = model.predict(data, solver=solver, tol=tol)
            best[name] = min(best[name], time.perf_counter() - began)
    test = data.test_mask
    rows = [
        {
            "solver": name,
            "evals": prediction.solution.num_evals,
            "ms": 1000 * best[name],
            "residual": prediction.solution.residual,
            "accuracy": float((prediction.classes[test] == data.y[test]).double().mean()),
        }
        for name, prediction in predictions.items()
    ]
    return rows, {name: prediction.solution for name, prediction in predictions.items()}
