"""Models by name, so that recipes, checkpoints and the command line can make them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import InputError

if TYPE_CHECKING:
    from .nn.base import NodeClassifier

#: Name, and where the class lives; imported only when asked for.
MODELS: dict[str, str] = {
    "ignn": "ignn_solver.nn.classifiers:IGNN",
    "acm-gcn": "ignn_solver.baselines.acm_gcn:ACMGCN",
    "am-gcn": "ignn_solver.baselines.am_gcn:AMGCN",
    "appnp": "ignn_solver.baselines.appnp:APPNP",
    "demo-net": "ignn_solver.baselines.demo_net:DEMONet",
    "eignn": "ignn_solver.baselines.eignn:EIGNN",
    "gat": "ignn_solver.baselines.gat:GAT",
    "gcn": "ignn_solver.baselines.gcn:GCN",
    "gcnii": "ignn_solver.baselines.gcnii:GCNII",
    "gtn": "ignn_solver.baselines.gtn:GTN",
    "ignn-original": "ignn_solver.baselines.ignn_original:IGNNOriginal",
    "jknet": "ignn_solver.baselines.jknet:JKNet",
    "mignn": "ignn_solver.baselines.mignn:MIGNN",
    "mlp": "ignn_solver.baselines.mlp:MLP",
    "sgc": "ignn_solver.baselines.sgc:SGC",
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
