"""``ignn-solver reproduce``: run experiments of the paper and write their tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError
from ..experiments import EXPERIMENTS
from .options import DataDir, Json, Quiet, Seed, show_table

Several = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only these; repeatable.")]


def reproduce(
    name: Annotated[str, typer.Argument(help="An experiment, `list` to see them, or `all`.")],
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
    quick: Annotated[
        bool, typer.Option("--quick/--full", help="A look at it in minutes, or all of it.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of the results. Default: results, for a look results/quick."
        ),
    ] = None,
    data_dir: DataDir = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Run what is missing of an experiment and write its table or figure, and its rows as JSON.

    Every finished cell is kept at once: stop at any time, and run the same command to go on. Datasets
    that are not on this machine are left out, with a sentence.

    Example: ignn-solver reproduce table2 --dataset citeseer --model gcn --model learned

    Example: ignn-solver reproduce all --quick
    """
    from ..experiments.request import Request, experiment
    from ..experiments.running import run_at_hand
    from ..files import write_json
    from ..freed import keep_freed

    keep_freed()
    if name == "list":
        _list(data_dir)
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
        output=output or Path("results/quick" if quick else "results"),
        data_dir=data_dir,
        progress=False if quiet else None,
        quick=quick,
    )
    if name == "all" and (dataset or model or protocol):
        raise InputError("`all` is all: leave out --dataset, --model and --protocol")
    rows: dict[str, list[dict[str, object]]] = {}
    for one in EXPERIMENTS if name == "all" else (name,):
        try:
            report = run_at_hand(experiment(one), request, lambda line: typer.echo(line, err=True))
        except KeyboardInterrupt:
            typer.echo(f"\nstopped; finished cells are in {request.output}: run it again", err=True)
            raise
        except InputError as error:
            if name != "all":
                raise
            typer.echo(f"{one} is left out: {error}", err=True)
            continue
        if report is None:
            typer.echo(f"{one} is left out: none of its datasets is on this machine", err=True)
            continue
        typer.echo(report.text)
        typer.echo(f"written: {', '.join(map(str, report.files))}")
        rows[one] = report.rows
    if json is not None:
        write_json(json, rows if name == "all" else rows.get(name, []))


def _list(data_dir: Path | None) -> None:
    from ..experiments.request import experiment
    from ..experiments.running import at_hand

    lines = []
    for name in EXPERIMENTS:
        module = experiment(name)
        here = [one for one in module.DATASETS if at_hand(one, data_dir)]
        missing = [one for one in module.DATASETS if one not in here]
        lines.append([name, module.TITLE, ", ".join(here), ", ".join(missing)])
    show_table("Experiments", ["name", "what", "data here", "data missing"], lines)
