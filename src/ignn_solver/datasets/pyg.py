"""Any node or graph dataset that PyTorch Geometric knows, and any ``Data`` of the user's own."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from ..errors import InputError
from .data import NodeData
from .directory import storage
from .splits import Parts, check, masks, stratified

_PARTS = ("train_mask", "val_mask", "test_mask")


def load_pyg(
    argument: str, data: Path, split: str | float | None, seed: int, options: dict[str, Any]
) -> Data | InMemoryDataset:
    """Load ``Class`` or ``Class/Name`` of ``torch_geometric.datasets`` into the data directory.

    One graph with labels on nodes becomes a ``NodeData``: with its own masks where it has all
    three (``split`` then chooses among several, from 0), else, or with ``split="stratified"``, with
    a stratified split. Anything else is returned as PyG gives it.
    """
    import torch_geometric.datasets

    kind, _, name = argument.partition("/")
    factory = getattr(torch_geometric.datasets, kind, None)
    if not inspect.isclass(factory):
        raise InputError(
            f"torch_geometric.datasets has no {kind!r}: say pyg:Class or pyg:Class/Name, "
            f"for example pyg:Planetoid/Cora"
        )
    parameters = inspect.signature(factory).parameters
    if "root" in parameters:
        options = {"root": str(storage(data) / "pyg" / kind), **options}
    if "name" in parameters and name:
        options["name"] = name
    elif "name" in parameters and parameters["name"].default is inspect.Parameter.empty:
        raise InputError(f"{kind} holds several datasets: say pyg:{kind}/NAME")
    elif name:
        raise InputError(f"{kind} is one dataset: say pyg:{kind}")
    try:
        dataset: Any = factory(**options)
    except Exception as error:
        # PyG lets through whatever its parsers, the network and the disk raise.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"PyG could not load {argument}: {reason}") from error
    if len(dataset) != 1 or not _on_nodes(dataset[0]):
        if split is not None:
            raise InputError(f"pyg:{argument} has no split {split!r}: leave split out")
        return dataset
    return from_data(dataset[0], f"pyg:{argument}", split, seed)


def _on_nodes(data: Data) -> bool:
    y = getattr(data, "y", None)
    return isinstance(y, Tensor) and y.shape[0] == data.num_nodes


def from_data(
    data: Data, name: str = "own graph", split: str | float | None = None, seed: int = 0
) -> NodeData:
    """Complete a PyG ``Data`` to what this package works on: masks, ``num_classes``, a name.

    Args:
        data: A graph with ``x``, ``edge_index`` and ``y`` on nodes.
        name: What to call it.
        split: ``None`` for its own masks, a number to choose among several, or ``"stratified"``
            for 60%, 20% and 20% of each class, which is also what a graph without masks gets.
        seed: Draws the stratified split.

    Raises:
        InputError: Labels or features are missing, or the split cannot be used.
    """
    if data.x is None or not _on_nodes(data):
        raise InputError(f"{name} needs x and y with one row a node, and an edge_index")
    result = NodeData(**data.to_dict())
    y = data.y.squeeze(1) if data.y.dim() == 2 and data.y.shape[1] == 1 else data.y
    result.y = y if y.dim() == 2 else y.long()
    result.num_classes = int(y.shape[1] if y.dim() == 2 else y.max() + 1)
    result.name = name
    result.stand_in = ""
    labels = result.y.numpy()
    own = all(isinstance(data.get(part), Tensor) for part in _PARTS)
    if own and split != "stratified":
        chosen = _chosen_masks(data, name, split)
        parts = Parts(*(np.flatnonzero(chosen[part].numpy()) for part in _PARTS))
    elif split in (None, "stratified"):
        if labels.ndim == 2:
            raise InputError(f"{name} has several classes a node: give it masks of your own")
        parts = stratified(labels, 0.6, 0.2, None, seed)
    else:
        raise InputError(f"{name} has no split {split!r}: its only one is stratified")
    check(parts, labels, result.num_classes, name)
    for part, value in masks(parts, len(labels)).items():
        result[part] = value
    return result


def _chosen_masks(data: Data, name: str, split: str | float | None) -> dict[str, Tensor]:
    """The masks, or their column ``split`` where a dataset comes with several."""
    several = {part: data[part].shape[1] for part in _PARTS if data[part].dim() == 2}
    if not several and split is not None:
        raise InputError(f"{name} has no split {split!r}: leave it out, or say stratified")
    count = min(several.values(), default=1)
    number = str(split if split is not None else 0)
    if not number.isdecimal() or int(number) >= count:
        raise InputError(f"{name} has no split {split!r}: choose from 0 to {count - 1}")
    return {part: data[part][:, int(number)] if part in several else data[part] for part in _PARTS}
