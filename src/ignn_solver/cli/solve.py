"""``ignn-solver solve``: classify every node with a trained model, and prove it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ..names import CLASSICAL
from .options import DataDir, Json, classical_solver
from .runs import Run, open_run

if TYPE_CHECKING:
    from ..solving import Solver


def solve(
    run: Run,
    solver: Annotated[
        str | None,
        typer.Option(
            help=f"learned, {', '.join(CLASSICAL)}. Default: learned if it is fitted, else picard."
        ),
    ] = None,
    tol: Annotated[float, typer.Option(help="Relative residual to reach.")] = 1e-3,
    max_evals: Annotated[
        int, typer.Option(help="Give up after this many evaluations of f.")
    ] = 1000,
    certify: Annotated[
        bool,
        typer.Option(
            "--certify",
            help="Prove, node by node, that the class is that of the exact equilibrium.",
        ),
    ] = False,
    stop: Annotated[
        str, typer.Option(help="residual, or certified: stop when enough classes are proven.")
    ] = "residual",
    fraction: Annotated[
        float, typer.Option(help="The share of the nodes to prove, for --stop certified.")
    ] = 0.99,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Predictions, .csv or .parquet."),
    ] = None,
    data_dir: DataDir = None,
    json: Json = None,
) -> None:
    """Solve for the equilibrium of a trained model and write what it says of every node.

    Example: ignn-solver solve runs/citeseer-ignn-0 --tol 1e-4 --certify -o predictions.csv
    """
    from .. import datasets
    from ..results import write_results

    started = time.perf_counter()
    if output is not None and output.suffix not in (".csv", ".parquet"):
        raise InputError(f"predictions are written as .csv or .parquet, not {output.name}")
    model, data = open_run(run, data_dir)
    name, chosen = choose_solver(run, solver)
    proof: dict[str, Any] = {"certify": certify}
    if stop != "residual":
        proof = {"stop": stop, "fraction": fraction}
    began = time.perf_counter()
    prediction = model.predict(
        data, solver=chosen, tol=tol if stop == "residual" else None, max_evals=max_evals, **proof
    )
    seconds = time.perf_counter() - began
    solution = prediction.solution
    typer.echo(
        f"{name}: {solution.num_evals} evaluations, relative residual {solution.residual:.1e}, "
        f"{1000 * seconds:.0f} ms: {solution.status.value}"
    )
    columns = {"probability": prediction.probabilities.amax(-1)}
    record: dict[str, Any] = {
        "run": str(run),
        "solver": name,
        "tol": tol,
        "evals": solution.num_evals,
        "residual": solution.residual,
        "status": solution.status.name.lower(),
        "seconds": seconds,
    }
    if prediction.certified is not None:
        assert prediction.margin is not None
        assert prediction.bound is not None
        columns |= {
            "margin": prediction.margin,
            "bound": prediction.bound,
            "certified": prediction.certified,
        }
        share = float(prediction.certified.double().mean())
        # The bounds shrink with the residual: a tenth of it proves what a tenth of the bound proves.
        next_decade = float((prediction.margin > prediction.bound / 10).double().mean())
        record |= {"certified": share, "certified_next_decade": next_decade}
        typer.echo(
            f"certified: {100 * share:.2f}% of {data.num_nodes:,} nodes are proven to have the class of "
            f"the exact equilibrium; a residual ten times smaller would prove {100 * next_decade:.2f}%"
        )
    if output is not None:
        datasets.write_predictions(output, data, prediction.classes, **columns)
        typer.echo(f"predictions: {output}")
    if json is not None:
        write_results(json, started, **record)


def choose_solver(run: Path, name: str | None) -> tuple[str, Solver]:
    """The solver called ``name``; by default the learned one of the run, if there is one."""
    from ..learning.store import FILE, load_solver

    if name is None:
        name = "learned" if (run / FILE).is_file() else "picard"
    if name == "learned":
        if not (run / FILE).is_file():
            raise InputError(
                f"{run} has no learned solver: run `ignn-solver fit-solver {run}` first"
            )
        return name, load_solver(run)
    if name not in CLASSICAL:
        raise InputError(f"unknown solver {name!r}: choose learned, {', '.join(CLASSICAL)}")
    return name, classical_solver(name)
