"""A trained model to measure on: from a run's folder, or trained by the recipe and kept there.

A training that was stopped has left weights, but not those of its end: it is gone on with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..errors import InputError
from ..models import build
from ..nn.classifiers import IGNN
from ..recipe import load_recipe
from ..tasks.checkpoint import CONFIG, RESUME, WEIGHTS, load_model, read_config
from ..tasks.node import fit, read_result

if TYPE_CHECKING:
    from torch_geometric.data import Data

#: The settings of ``fit`` that say when it ends.
_ENDS = ("epochs", "patience")


def hidden_channels(dataset: str, folder: Path, recipe: str | None = None) -> int:
    """The width of the model that :func:`trained` would give, before it is trained."""
    known = (folder / CONFIG).exists() and (folder / WEIGHTS).exists()
    settings = read_config(folder)["config"] if known else load_recipe(dataset, recipe).model
    return int(settings["hidden_channels"])


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

    A run whose training was stopped is trained to its end first, by its own settings.

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
        InputError: When the run is of another dataset, or of a model that is not implicit, or was stopped
            on another split.
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
        if not was_stopped(folder, config):
            return model
        say(f"the training in {folder} was stopped: it goes on")
        return _go_on(folder, config, data, progress)
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


def was_stopped(folder: Path, config: Mapping[str, Any]) -> bool:
    """Whether the training of a run has not come to its end.

    Args:
        folder: The run's folder.
        config: Its configuration. Without the settings of a training it holds a model that was only saved.
    """
    if "training" not in config:
        return False
    # Weights are written at every improvement, the rest only after some seconds.
    if not (folder / RESUME).exists():
        return True
    settings = {key: config["training"][key] for key in _ENDS if key in config["training"]}
    return not read_result(folder).is_over(**settings)


def _go_on(folder: Path, config: dict[str, Any], data: Data, progress: bool | None) -> IGNN:
    if (config.get("source") or {}).get("split") is not None:
        raise InputError(
            f"the training in {folder} was stopped, on another split: finish it first, by the command "
            "that began it and --resume"
        )
    seed = config.get("seed", 0)
    torch.manual_seed(seed)
    model = build(config["model"], **config["config"])
    assert isinstance(model, IGNN)
    details = {key: config[key] for key in config.keys() - {"format", "model", "config"}}
    fit(
        model, data, run=folder, resume=True, seed=seed, progress=progress, details=details,
        **config["training"],
    )  # fmt: skip
    return model
