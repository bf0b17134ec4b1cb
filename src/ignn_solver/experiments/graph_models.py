"""The models of the paper's table III: how each is made and trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ..recipe import load_recipe

if TYPE_CHECKING:
    from torch_geometric.data import InMemoryDataset

HIDDEN = 32
_TRAINING = {"epochs": 100, "lr": 0.01, "weight_decay": 0.0, "batch_size": 64, "halve_every": 50}
#: What differs on large datasets, for every model alike: NCI1 has as many steps in 40 epochs as MUTAG in 300.
_LARGE: dict[str, dict[str, Any]] = {
    "proteins": {"batch_size": 128},
    "nci1": {"batch_size": 128, "epochs": 40, "halve_every": 20},
}
_PACKAGE = "ignn_solver.baselines.graphs"


@dataclass(frozen=True)
class GraphModel:
    """A row of the table.

    Attributes:
        title: Its name in print.
        place: Module and class.
        epochs: Whether it is trained by epochs; else it is fitted once for each candidate value.
        options: Arguments of the class, the same for every dataset.
        recipe: Whether the dataset's recipe says how to make and train it.
        learned_solver: Whether a solver is learned for it on training graphs and tried on test graphs.
    """

    title: str
    place: str
    epochs: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    recipe: bool = False
    learned_solver: bool = False

    def load(self) -> Any:
        """The class."""
        module, _, name = self.place.partition(":")
        return getattr(import_module(module), name)

    def settings(self, dataset: str, epochs: int | None = None) -> dict[str, Any]:
        """How it is made and trained on a dataset, as JSON can hold it."""
        if not self.epochs:
            return {"model": dict(self.options), "training": {}}
        model = {"hidden_channels": HIDDEN, **self.options}
        training = _TRAINING | _LARGE.get(dataset, {})
        if self.recipe:
            recipe = load_recipe(dataset)
            model |= recipe.model
            training |= recipe.training
        if epochs is not None:
            training["epochs"] = epochs
        return {"model": model, "training": training}


def sort_pooling_size(dataset: InMemoryDataset) -> int:
    """DGCNN's k: as many nodes as six graphs in ten exceed, and at least 10."""
    sizes = np.diff(dataset.slices["x"].numpy())
    return max(10, int(np.quantile(sizes, 0.4)))


MODELS: dict[str, GraphModel] = {
    "wl": GraphModel("WL", f"{_PACKAGE}.wl:WL", epochs=False),
    "dcnn": GraphModel("DCNN", f"{_PACKAGE}.dcnn:GraphDCNN"),
    "dgcnn": GraphModel("DGCNN", f"{_PACKAGE}.dgcnn:GraphDGCNN"),
    "gin": GraphModel("GIN", f"{_PACKAGE}.gin:GraphGIN"),
    "fdgnn": GraphModel("FDGNN", f"{_PACKAGE}.fdgnn:FDGNN", epochs=False),
    "pk": GraphModel("PK", f"{_PACKAGE}.pk:PK", epochs=False),
    "gcn": GraphModel("GCN", f"{_PACKAGE}.gcn:GraphGCN"),
    "ignn": GraphModel("IGNN", f"{_PACKAGE}.ignn:GraphIGNNOriginal", options={"tol": 1e-2}),
    "cgs": GraphModel("CGS", f"{_PACKAGE}.cgs:GraphCGS", options={"tol": 1e-2}),
    "gind": GraphModel("GIND", f"{_PACKAGE}.gind:GraphGIND", options={"tol": 1e-2, "layers": 1}),
    "mignn": GraphModel("MIGNN", f"{_PACKAGE}.mignn:GraphMIGNN", options={"tol": 1e-2}),
    "ignn-solver": GraphModel(
        "IGNN-Solver (ours)",
        "ignn_solver.nn.graph_classifier:GraphIGNN",
        recipe=True,
        learned_solver=True,
    ),
}
