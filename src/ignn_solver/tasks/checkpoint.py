"""Runs on disk: a folder with ``config.json``, ``model.safetensors`` and ``resume.safetensors``.

Every file is written whole or not at all, and loading executes no code.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import InputError
from ..files import json_text, read_json, replacing, write_text
from ..learning.store import FILE as SOLVER
from ..models import build, model_name
from ..nn.base import NodeClassifier
from ..tensors import load_tensors, load_weights, save_tensors

FORMAT = 1
CONFIG, WEIGHTS, RESUME = "config.json", "model.safetensors", "resume.safetensors"


def save_config(folder: Path, model: NodeClassifier, **details: Any) -> None:
    """Write what is needed to rebuild the model, and the details of the run."""
    write_text(folder / CONFIG, _config_text(model, details))


def start_run(folder: Path, model: NodeClassifier, **details: Any) -> None:
    """Make ``folder`` the place of a new run; what an earlier run left there makes way.

    The earlier run is untouched if the new one cannot be written, and never mixes with it.
    """
    text = _config_text(model, details)
    with replacing(folder / CONFIG) as temporary:
        temporary.write_text(text, encoding="utf-8")
        for name in (RESUME, WEIGHTS, SOLVER):
            (folder / name).unlink(missing_ok=True)


def _config_text(model: NodeClassifier, details: dict[str, Any]) -> str:
    for name, value in model.config.items():
        try:
            json.dumps(value)
        except TypeError as error:
            raise InputError(
                f"a checkpoint cannot keep {name}={value!r}, with which the model was made: make it "
                "without, and set it on the model itself"
            ) from error
    return json_text(
        {"format": FORMAT, "model": model_name(model), "config": model.config, **details}
    )


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration of a run."""
    path = folder / CONFIG
    if not path.is_file():
        raise InputError(
            f"{folder} is not the folder of a run: train first, or name another folder"
        )
    config = read_json(path, "run configuration")
    if (
        not isinstance(config, dict)
        or config.get("format") != FORMAT
        or not isinstance(config.get("model"), str)
        or not isinstance(config.get("config"), dict)
    ):
        raise InputError(
            f"{path} is not a run configuration of format {FORMAT}: name the folder of a run of this "
            "version, or train again"
        )
    return config


def save_model(folder: str | Path, model: NodeClassifier, **details: Any) -> None:
    """Write a model's configuration and weights into ``folder``."""
    folder = Path(folder)
    save_config(folder, model, **details)
    save_tensors(folder / WEIGHTS, model.state_dict())


def load_model(folder: str | Path) -> NodeClassifier:
    """The model stored in a run's folder, with the weights of its best epoch."""
    folder = Path(folder)
    config = read_config(folder)
    model = build(config["model"], **config["config"])
    tensors, _ = load_tensors(folder / WEIGHTS, "checkpoint")
    load_weights(model, tensors, folder / WEIGHTS)
    return model.eval()


def pack_optimizer(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """An optimizer's state as named tensors."""
    state = optimizer.state_dict()["state"]
    return {
        f"optimizer.{index}.{name}": torch.as_tensor(value)
        for index, values in state.items()
        for name, value in values.items()
    }


def unpack_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put back what ``pack_optimizer`` gave."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        if key.startswith("optimizer."):
            _, index, name = key.split(".", 2)
            state.setdefault(int(index), {})[name] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
