"""Models by name, so that recipes, checkpoints and the command line can make them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import InputError
from .nn.base import NodeClassifier

#: Name, and where the class lives; imported only when asked for.
MODELS: dict[str, str] = {
    "ignn": "ignn_solver.nn.classifiers:IGNN",
}


def model_class(name: str) -> type[NodeClassifier]:
    """The class of the model called ``name``."""
    if name not in MODELS:
        raise InputError(f"unknown model {name!r}: choose one of {', '.join(sorted(MODELS))}")
    module, _, attribute = MODELS[name].partition(":")
    found: type[NodeClassifier] = getattr(import_module(module), attribute)
    return found


def model_name(model: NodeClassifier) -> str:
    """The name under which a model's class is listed."""
    here = f"{type(model).__module__}:{type(model).__qualname__}"
    for name, place in MODELS.items():
        if place == here:
            return name
    raise InputError(f"{type(model).__name__} is not listed in ignn_solver.models.MODELS: add it")


def build(name: str, **config: Any) -> NodeClassifier:
    """Make the model called ``name`` with these arguments."""
    try:
        return model_class(name)(**config)
    except TypeError as error:
        raise InputError(f"the model {name!r} cannot be made: {error}") from error
