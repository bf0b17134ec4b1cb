"""``ignn-solver tune``: choose the settings of a model on a dataset by validation accuracy."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from ..models import MODELS
from .options import DataDir, Json, Quiet, Seed


def tune(
    dataset: Annotated[str, typer.Argument(help="A name of `ignn-solver datasets`.")],
    model: Annotated[str, typer.Option(help=f"One of {', '.join(MODELS)}.")] = "ignn",
    budget: Annotated[int, typer.Option(help="Trials in all, the same for every model.")] = 12,
    confirm: Annotated[
        int, typer.Option(help="How many of them train the best two again, with other seeds.")
    ] = 0,
    seed: Seed = 0,
    study: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The study; it goes on where it stopped. Default: studies/DATASET-MODEL.log.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The recipe. Default: DATASET-MODEL-tuned.toml."),
    ] = None,
    data_dir: DataDir = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Search learning rate, weight decay, dropout and the like; test labels are never looked at.

    Example: ignn-solver tune citeseer --model gcn --budget 12

    Example: ignn-solver tune citeseer --budget 12 --confirm 4
    """
    from ..files import write_text
    from ..freed import keep_freed
    from ..results import write_results
    from ..tasks.tune import recipe_text
    from ..tasks.tune import tune as search
    from .train import dataset_source, load_source

    keep_freed()
    started = time.perf_counter()
    data = load_source(dataset_source(dataset, None, None, None, None, 0), data_dir)
    stem = dataset.replace(":", "-") + ("" if model == "ignn" else f"-{model}")
    found = search(
        dataset, data, model, study or Path("studies") / f"{stem}.log", budget=budget,
        confirm=confirm, seed=seed, progress=False if quiet else None, say=typer.echo,
    )  # fmt: skip
    path = output or Path(f"{stem}-tuned.toml")
    write_text(path, recipe_text(found.recipe))
    typer.echo(
        f"{dataset}: {model}, best of {found.trials} trials has validation accuracy "
        f"{100 * found.val_accuracy:.2f}%; recipe written to {path}, use it with --recipe"
    )
    if json is not None:
        write_results(
            json, started, dataset=dataset, model=model, seed=seed, trials=found.trials,
            val_accuracy=found.val_accuracy, settings=found.recipe.model | found.recipe.training,
        )  # fmt: skip
