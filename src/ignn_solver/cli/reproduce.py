"""``ignn-solver reproduce``: run an experiment of the paper and write its table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..experiments import EXPERIMENTS
from .options import DataDir, Json, Quiet, Seed, show_table

Several = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only these; repeatable.")]


def reproduce(
    name: Annotated[str, typer.Argument(help="An experiment, or `list` to see them all.")],
    dataset: Several = None,
    model: Several = None,
    protocol: Several = None,
    folds: Annotated[int, typer.Option(help="Folds of a cross-validation.")] = 10,
    trials: Annotated[int, typer.Option(help="Seeds, from --seed on.")] = 5,
    epochs: Annotated[int | None, typer.Option(help="Epochs, instead of the recipes'.")] = None,
    seed: Seed = 0,
    hours: Annotated[
        float, typer.Option(help="Most hours of one training in tables 1 and 2; see --restart.")
    ] = 1.0,
    memory: Annotated[
        float, typer.Option(help="Most GiB of one training in tables 1 and 2.")
    ] = 12.0,
    resume: Annotated[
        bool,
        typer.Option("--resume/--restart", help="Keep finished cells, or run them again."),
    ] = True,
    output: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the results.")] = Path(
        "results"
    ),
    data_dir: DataDir = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Run what is missing of an experiment and write its table as JSON, Markdown and LaTeX.

    Every finished cell is kept at once: stop at any time, and run the same command to go on.

    Example: ignn-solver reproduce table2 --dataset citeseer --model gcn --model learned
    """
    from ..experiments.request import Request, experiment
    from ..files import write_json

    if name == "list":
        show_table("Experiments", ["name", "what"], [[n, experiment(n).TITLE] for n in EXPERIMENTS])
        return
    request = Request(
        datasets=tuple(dataset or ()),
        models=tuple(model or ()),
        protocols=tuple(protocol or ()),
        folds=folds,
        trials=trials,
        epochs=epochs,
        seed=seed,
        hours=hours,
        memory=memory,
        resume=resume,
        output=output,
        data_dir=data_dir,
        progress=False if quiet else None,
    )
    try:
        report = experiment(name).run(request)
    except KeyboardInterrupt:
        typer.echo(f"\nstopped; finished cells are in {output}: run it again to go on", err=True)
        raise
    typer.echo(report.text)
    typer.echo(f"written: {', '.join(map(str, report.files))}")
    if json is not None:
        write_json(json, report.rows)
