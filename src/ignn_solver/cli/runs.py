"""Opening the folder of a run again: its model and its graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .train import load_source

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..nn.classifiers import IGNN

Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run of `ignn-solver train`.")]


def open_run(folder: Path, data_dir: Path | None) -> tuple[IGNN, Data]:
    """The implicit model of a run, with its best weights, and the graph it was trained on."""
    from ..nn.classifiers import IGNN
    from ..tasks.checkpoint import load_model, read_config

    config = read_config(folder)
    model = load_model(folder)
    if not isinstance(model, IGNN):
        raise InputError(
            f"{folder} holds the model {config['model']!r}, which has no equilibrium to solve for: "
            "name a run of --model ignn"
        )
    if "source" not in config:
        raise InputError(f"{folder} does not say which graph it was trained on: train it again")
    data = load_source(config["source"], data_dir)
    if data.num_features != model.in_channels:
        raise InputError(
            f"the graph of {folder} has {data.num_features} features now, the model was trained on "
            f"{model.in_channels}: the data changed, train again"
        )
    return model, data
