"""``ignn-solver fit-solver``: learn a solver for a trained model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import DataDir, Json, Quiet, Seed, TensorBoard
from .runs import Run, open_run


def fit_solver(
    run: Run,
    preset: Annotated[
        str, typer.Option(help="learned, learned-paper, learned-nn or learned-aa.")
    ] = "learned",
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Steps that have parameters of their own; the paper's K."),
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(
            help="GiB that learned-paper, -nn and -aa may use: larger graphs go in parts."
        ),
    ] = None,
    seed: Seed = 0,
    data_dir: DataDir = None,
    tensorboard: TensorBoard = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Learn a solver for the model of a run, without labels; it is kept beside the model.

    Example: ignn-solver fit-solver runs/citeseer-ignn-0
    """
    from ..learning.fit import fit_solver as fit
    from ..results import write_results
    from ..scalars import scalars
    from ..solving import solve

    started = time.perf_counter()
    model, data = open_run(run, data_dir)
    options = {} if preset == "learned" else paper_settings(run)
    if memory is not None and preset != "learned":
        options["memory"] = memory
    if steps is not None:
        options["steps"] = steps
    with scalars(tensorboard) as written:
        solver = fit(
            model, data, preset, seed=seed, progress=False if quiet else None,
            on_update=lambda number, entry: written.add(
                number, {f"fit/{name}": value for name, value in entry.items()}
            ),
            **options,
        )  # fmt: skip
        path = solver.save(run)
        f = model.equilibrium_map(data).detach()
        rows = []
        for tol in (1e-2, 1e-3, 1e-4):
            plain = solve(f, tol=tol, on_failure="return")
            learned = solve(f, solver, tol=tol, on_failure="return")
            rows.append(
                {
                    "tol": tol,
                    "picard_evals": plain.num_evals,
                    "evals": learned.num_evals,
                    "residual": learned.residual,
                    "converged": learned.converged,
                }
            )
        # The last solves go the farthest: their residuals at every evaluation.
        for name, solution in ((preset, learned), ("picard", plain)):
            trace = solution.trace.amax(-1).tolist()
            for evaluation, residual in enumerate(trace, solution.num_evals - len(trace) + 1):
                written.add(evaluation, {f"residual/{name}": residual})
        written.add(0, {"seconds/fit": solver.details["seconds"]})
    seconds = solver.details["seconds"]
    share = 100 * solver.num_parameters / model.num_parameters
    typer.echo(
        f"{preset}: learnt in {seconds:.1f} s, {solver.num_parameters:,} parameters ({share:.0f}% of the "
        f"model's); kept in {path}"
    )
    for row in rows:
        reached = "" if row["converged"] else f"  NOT reached: {row['residual']:.1e}"
        typer.echo(
            f"  relative residual {row['tol']:g}: {row['evals']} evaluations, "
            f"plain iteration {row['picard_evals']}{reached}"
        )
    if json is not None:
        write_results(
            json, started, run=str(run), preset=preset, seconds=seconds,
            parameters=solver.num_parameters, model_parameters=model.num_parameters, rows=rows,
        )  # fmt: skip


def paper_settings(run: Path) -> dict[str, Any]:
    """What the recipe of the run's dataset says of the paper's solver."""
    from ..recipe import load_recipe
    from ..tasks.checkpoint import read_config

    dataset = read_config(run).get("source", {}).get("dataset")
    return {} if dataset is None else dict(load_recipe(dataset).solver)
