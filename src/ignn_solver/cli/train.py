"""``ignn-solver train``: train a model on a dataset or on the user's own graph."""

from __future__ import annotations

import inspect
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ..models import MODELS
from .options import DataDir, Json, Quiet, Seed, TensorBoard

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..recipe import Recipe

_TRAINING = ("epochs", "lr", "weight_decay", "patience", "loss", "warm_start")


def train(
    dataset: Annotated[
        str | None, typer.Argument(help="A name of `ignn-solver datasets`; or give --edges.")
    ] = None,
    model: Annotated[str, typer.Option(help=f"One of {', '.join(MODELS)}.")] = "ignn",
    recipe: Annotated[
        str | None,
        typer.Option(
            help="tuned, paper or a TOML file. Default: tuned, else paper, if there is one."
        ),
    ] = None,
    hidden: Annotated[int | None, typer.Option(help="Width of the node states.")] = None,
    kappa: Annotated[
        float | None,
        typer.Option(
            help="Contraction factor, between 0 and 1: larger sees farther, solves slower."
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Most epochs; fewer if validation stops improving.")
    ] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    solver: Annotated[
        str | None, typer.Option(help="alternating: learn a solver along with the model.")
    ] = None,
    seed: Seed = 0,
    run: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the run. Default: runs/DATASET-MODEL-SEED."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the run stopped.")] = False,
    edges: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your edges: csv, tsv, parquet or npz.")
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your features: csv, tsv, parquet, npy or npz."),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your labels: csv, tsv, parquet or npy.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(help="A split of the dataset; for your graph a file, or 0.6/0.2/0.2."),
    ] = None,
    data_dir: DataDir = None,
    tensorboard: TensorBoard = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Train a model; the best weights by validation are kept in the run's folder.

    Example: ignn-solver train citeseer --seed 1 --json citeseer.json
    """
    import torch

    from ..freed import keep_freed
    from ..models import build, model_class
    from ..recipe import load_recipe
    from ..results import write_results
    from ..scalars import scalars
    from ..tasks.node import accuracy, fit

    keep_freed()
    started = time.perf_counter()
    source = dataset_source(dataset, edges, features, labels, split, seed)
    data = load_source(source, data_dir)
    if not data.num_classes:
        raise InputError("your graph has no labels to learn from: give them with --labels")
    name = source["dataset"] or (edges.stem if edges else "graph")
    # A file of one's own that happens to be called citeseer.csv is not that dataset.
    chosen = load_recipe(source["dataset"] or "your own graph", recipe, model)
    arguments = dict(chosen.model)
    if "kappa" not in inspect.signature(model_class(model)).parameters:
        arguments.pop("kappa", None)
    given: dict[str, Any] = {"hidden_channels": hidden, "kappa": kappa}
    arguments |= {key: value for key, value in given.items() if value is not None}
    options = _training_options(chosen)
    given = {"epochs": epochs, "lr": lr, "solver": solver}
    options |= {key: value for key, value in given.items() if value is not None}
    torch.manual_seed(seed)
    arguments |= {"in_channels": data.num_features, "num_classes": data.num_classes}
    network = build(model, **arguments)
    folder = run or Path("runs") / f"{name.replace(':', '-')}-{model}-{seed}"
    details = {"source": source, "recipe": chosen.source, "training": options, "seed": seed}
    try:
        with scalars(tensorboard) as written:
            result = fit(
                network, data, run=folder, seed=seed, resume=resume,
                progress=False if quiet else None, details=details, on_epoch=written.epoch, **options,
            )  # fmt: skip
    except KeyboardInterrupt:
        typer.echo(
            f"ignn-solver: interrupted; what was reached is kept in {folder}: "
            "give the same command with --resume to go on",
            err=True,
        )
        raise
    has_test = data.get("test_mask") is not None and bool(data.test_mask.any())
    test_accuracy = accuracy(network, data, "test") if has_test else None
    record = {
        "dataset": name,
        "stand_in": str(data.get("stand_in") or ""),
        "model": model,
        "recipe": chosen.source,
        "seed": seed,
        "parameters": network.num_parameters,
        "epochs": result.epochs,
        "best_epoch": result.best_epoch,
        "val_accuracy": result.val_accuracy,
        "test_accuracy": test_accuracy,
        "seconds": result.seconds,
        "run": str(folder),
    }
    tested = "" if test_accuracy is None else f", test accuracy {100 * test_accuracy:.2f}%"
    typer.echo(
        f"{name}: {model} with {network.num_parameters:,} parameters ({chosen.source}), epoch "
        f"{result.best_epoch + 1} of {result.epochs} kept, validation accuracy "
        f"{100 * result.val_accuracy:.2f}%{tested}, {result.seconds:.1f} s; run in {folder}"
    )
    if json is not None:
        write_results(json, started, **record)


def _training_options(recipe: Recipe) -> dict[str, Any]:
    """The settings of ``fit`` that a recipe gives; an ``InputError`` for what a recipe cannot set."""
    unknown = recipe.training.keys() - set(_TRAINING)
    if unknown:
        raise InputError(
            f"{recipe.source} sets {min(unknown)!r} in [training]: known are {', '.join(_TRAINING)}"
        )
    return dict(recipe.training)


def dataset_source(
    dataset: str | None,
    edges: Path | None,
    features: Path | None,
    labels: Path | None,
    split: str | None,
    seed: int,
) -> dict[str, Any]:
    """Where a run's graph comes from, as kept in its configuration."""
    if (dataset is None) == (edges is None):
        raise InputError("name a dataset, or give your own graph with --edges, but not both")
    if dataset is not None and (features or labels):
        raise InputError("--features and --labels go with --edges, not with a named dataset")
    return {
        "dataset": dataset,
        "edges": str(edges) if edges else None,
        "features": str(features) if features else None,
        "labels": str(labels) if labels else None,
        "split": split,
        # Named datasets keep their fixed validation nodes whatever the seed of the training.
        "seed": 0 if dataset is not None else seed,
    }


def load_source(source: dict[str, Any], data_dir: Path | None) -> Data:
    """The graph that ``dataset_source`` described."""
    from .. import datasets
    from ..datasets.loading import load_nodes

    if source["dataset"] is not None:
        return load_nodes(source["dataset"], data_dir, source.get("split"), source.get("seed", 0))
    chosen = {key: source[key] for key in ("edges", "features", "labels", "split", "seed")}
    return datasets.from_files(**chosen)
