"""Runs on disk: a folder with ``config.json``, ``model.safetensors`` and ``resume.safetensors``.

Every file is written whole or not at all, and loading executes no code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import InputError
from ..files import read_json, write_json
from ..models import build, model_name
from ..nn.base import NodeClassifier
from ..tensors import load_tensors, load_weights, save_tensors

FORMAT = 1
CONFIG, WEIGHTS, RESUME = "config.json", "model.safetensors", "resume.safetensors"


def save_config(folder: Path, model: NodeClassifier, **details: Any) -> None:
    """Write what is needed to rebuild the model, and the details of the run."""
    content = {"format": FORMAT, "model": model_name(model), "config": model.config, **details}
    write_json(folder / CONFIG, content)


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration of a run."""
    config = read_json(folder / CONFIG, "run configuration")
    if not isinstance(config, dict) or config.get("format") != FORMAT or "model" not in config:
        raise InputError(f"{folder / CONFIG} is not a run configuration of format {FORMAT}")
    return config


def save_model(folder: Path, model: NodeClassifier, **details: Any) -> None:
    """Write a model's configuration and weights into ``folder``."""
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
