"""Is this graph fit for training? Each wrong thing has its sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from ..errors import InputError
from ..nn.classifiers import check_graph
from ..nn.features import check_features

if TYPE_CHECKING:
    from torch_geometric.data import Data

SPLITS = ("train", "val", "test")
_LARGEST = 1e6


def mask(data: Data, split: str) -> Tensor:
    """The boolean mask of a split, ``n``; an ``InputError`` if it is not there or holds no node."""
    found = data.get(f"{split}_mask")
    if found is None:
        raise InputError(f"the graph has no {split}_mask: give every split a boolean mask of nodes")
    if found.shape != (data.num_nodes,) or found.dtype != torch.bool:
        raise InputError(
            f"{split}_mask must be a boolean tensor of shape ({data.num_nodes},), not {found.dtype} "
            f"of shape {tuple(found.shape)}"
        )
    if not bool(found.any()):
        raise InputError(
            f"no node is in the {split} split: put some there, in {split}_mask or the split file"
        )
    return found


def check_training_data(data: Data, num_classes: int) -> None:
    """Raise an ``InputError`` unless a classifier of ``num_classes`` can be trained on ``data``."""
    check_graph(data)
    check_features(data.x, data.num_nodes)
    if data.y is None:
        raise InputError("the graph has no labels: set data.y to one class number a node")
    if data.y.shape != (data.num_nodes,) or data.y.is_floating_point():
        raise InputError(
            f"data.y must hold one whole class number for each of the {data.num_nodes} nodes, not "
            f"{data.y.dtype} of shape {tuple(data.y.shape)}"
        )
    masks = {split: mask(data, split) for split in SPLITS if split != "test"}
    if data.get("test_mask") is not None:
        masks["test"] = mask(data, "test")
    for split, members in masks.items():
        labels = data.y[members]
        if int(labels.min()) < 0 or int(labels.max()) >= num_classes:
            worst = int(labels.min()) if int(labels.min()) < 0 else int(labels.max())
            raise InputError(
                f"a node of the {split} split has label {worst}, but the model knows classes 0 to "
                f"{num_classes - 1}: fix the label or take the node out of the split"
            )
    names = list(masks)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            shared = int((masks[one] & masks[other]).sum())
            if shared:
                raise InputError(
                    f"{shared} nodes are in both the {one} and the {other} split: leave each in one"
                )


def check_settings(epochs: int, lr: float, weight_decay: float, patience: int, loss: str) -> None:
    """Raise an ``InputError`` unless a training can be run with these settings."""
    for name, value in (("epochs", epochs), ("patience", patience)):
        if not isinstance(value, int) or value < 1:
            raise InputError(f"{name} must be a whole number of at least 1, not {value!r}")
    for name, number in (("lr", lr), ("weight_decay", weight_decay)):
        if not isinstance(number, int | float) or not 0 <= number <= _LARGEST:
            raise InputError(f"{name} must be a number from 0 to {_LARGEST:g}, not {number!r}")
    check_loss(loss)


def loss_function(name: str, scores: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy (``"ce"``), or binary cross-entropy on one-hot labels (``"bce"``)."""
    check_loss(name)
    if name == "ce":
        return F.cross_entropy(scores, labels)
    target = F.one_hot(labels, scores.shape[1]).to(scores.dtype)
    return F.binary_cross_entropy_with_logits(scores, target)


def check_loss(name: str) -> None:
    """Raise an ``InputError`` unless there is a loss of this name."""
    if name not in ("ce", "bce"):
        raise InputError(f'unknown loss {name!r}: choose "ce" or "bce"')
