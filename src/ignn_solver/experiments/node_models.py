"""The rows of the paper's tables I and II: which network each is, and how it is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..recipe import load_recipe

#: Wider recipes are cut to this, for every model alike: 512 takes five times as long.
WIDEST = 128
#: Where a recipe does not say: most epochs on small and on large graphs, and the patience.
EPOCHS, LARGE_EPOCHS, PATIENCE = 200, 50, 40


@dataclass(frozen=True)
class Network:
    """What is trained: one for each row, but for ours, whose four rows share it.

    Attributes:
        model: Its name in ``ignn_solver.models``.
        large: Options that the paper's section "Baselines" sets on large graphs; on small ones
            the models' defaults are the paper's.
    """

    model: str
    large: Mapping[str, Any] = field(default_factory=dict)

    def settings(self, dataset: str, large: bool, epochs: int | None = None) -> dict[str, Any]:
        """How it is made and trained on a dataset, as JSON can hold it; ``recipe`` says whence."""
        recipe = load_recipe(dataset, model=self.model)
        model = {**(self.large if large else {}), **recipe.model}
        model["hidden_channels"] = min(WIDEST, model.get("hidden_channels", WIDEST))
        most = LARGE_EPOCHS if large else EPOCHS
        training = {"epochs": most, "patience": PATIENCE, **recipe.training}
        if epochs is not None:
            training["epochs"] = epochs
        return {"model": model, "training": training, "recipe": recipe.source}


NETWORKS: dict[str, Network] = {
    "gcn": Network("gcn"),
    "gat": Network("gat"),
    "sgc": Network("sgc"),
    "appnp": Network("appnp"),
    "jknet": Network("jknet", large={"num_layers": 8}),
    "am-gcn": Network("am-gcn"),
    "demo-net": Network("demo-net"),
    "gcnii": Network("gcnii"),
    "acm-gcn": Network("acm-gcn", large={"num_layers": 4}),
    "ignn-original": Network("ignn-original"),
    "eignn": Network("eignn"),
    "mignn": Network("mignn"),
    "ignn": Network("ignn"),
}
#: The forms of our solver: each is fitted to the same trained network.
FORMS = ("learned-aa", "learned-nn", "learned-paper", "learned")
TITLES: dict[str, str] = {
    "gcn": "GCN",
    "gat": "GAT",
    "sgc": "SGC",
    "appnp": "APPNP",
    "jknet": "JKNet",
    "am-gcn": "AM-GCN",
    "demo-net": "DEMO-Net",
    "gcnii": "GCNII",
    "acm-gcn": "ACM-GCN",
    "ignn-original": "IGNN",
    "eignn": "EIGNN",
    "mignn": "MIGNN",
    "learned-aa": "IGNN-Solver (AA)",
    "learned-nn": "IGNN-Solver (NN)",
    "learned-paper": "IGNN-Solver (as published)",
    "learned": "IGNN-Solver (default)",
}


def network_of(row: str) -> str:
    """The network behind a row of the table."""
    return "ignn" if row in FORMS else row


def published_name(row: str) -> str:
    """Whose figure in the paper a row is compared with: it has one IGNN-Solver, we have two."""
    return "learned-paper" if row == "learned" else row
