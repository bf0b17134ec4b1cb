"""A trained model to measure on: from a run's folder, or trained by the recipe and kept there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..errors import InputError
from ..models import build
from ..nn.classifiers import IGNN
from ..recipe import load_recipe
from ..tasks.checkpoint import CONFIG, WEIGHTS, load_model, read_config
from ..tasks.node import fit

if TYPE_CHECKING:
    from torch_geometric.data import Data


def trained(
    dataset: str,
    data: Data,
    folder: Path,
    seed: int = 0,
    progress: bool | None = None,
    say: Callable[[str], None] = lambda line: None,
    model_options: Mapping[str, Any] | None = None,
    training_options: Mapping[str, Any] | None = None,
    recipe: str | None = None,
) -> IGNN:
    """The model of the run in ``folder``, trained first by the dataset's recipe if there is none.

    Args:
        dataset: The dataset's name.
        data: Its graph.
        folder: The run's folder.
        seed: Seed of the training.
        progress: Show a progress bar; by default on a terminal.
        say: Called with lines for the user.
        model_options: What to make otherwise than the recipe says, such as ``hidden_channels``.
        training_options: The same for the training, such as ``epochs``.
        recipe: Which recipe, as ``load_recipe`` takes it.

    Raises:
        InputError: When the run is of another dataset, or of a model that is not implicit.
    """
    if (folder / CONFIG).exists() and (folder / WEIGHTS).exists():
        config = read_config(folder)
        of = (config.get("source") or {}).get("dataset", dataset)
        if of != dataset:
            raise InputError(
                f"the run in {folder} is of {of}, not of {dataset}: name its own --run"
            )
        model = load_model(folder)
        if not isinstance(model, IGNN):
            raise InputError(
                f"the run in {folder} is of an explicit model: there is nothing to solve"
            )
        return model
    chosen = load_recipe(dataset, recipe)
    say(f"training on {dataset} by the {chosen.source}; the run is kept in {folder}")
    torch.manual_seed(seed)
    model = build(
        "ignn",
        in_channels=data.num_features,
        num_classes=data.num_classes,
        **{**chosen.model, **(model_options or {})},
    )
    assert isinstance(model, IGNN)
    source = {"dataset": dataset, "split": None, "seed": 0}
    training = {**chosen.training, **(training_options or {})}
    details = {"source": source, "recipe": chosen.source, "training": training, "seed": seed}
    fit(model, data, run=folder, seed=seed, progress=progress, details=details, **training)
    return model
