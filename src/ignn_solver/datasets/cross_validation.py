"""Stratified cross-validation for graph classification."""

from __future__ import annotations

import numpy as np
from torch_geometric.data import InMemoryDataset

from ..errors import InputError
from .splits import Parts, fold_order


def folds(
    dataset: InMemoryDataset, count: int = 10, seed: int = 0, validation: bool = True
) -> list[Parts]:
    """Split graphs into ``count`` folds that keep class proportions.

    Every graph is in the test part of exactly one fold. With ``validation`` the fold after the
    test fold is kept out of training, so that a model can be chosen without looking at test.

    Args:
        dataset: Graphs with a class each.
        count: Number of folds.
        seed: Same seed, same folds.
        validation: Whether to keep a validation part; without it ``val`` is empty.

    Returns:
        One ``(train, val, test)`` of graph numbers for each fold.
    """
    labels = dataset._data.y.flatten().numpy()
    smallest = int(np.bincount(labels).min())
    if not 2 + validation <= count <= max(smallest, 2 + validation):
        raise InputError(
            f"{count} folds cannot be made: choose from {2 + validation} to {smallest}, "
            f"the size of the smallest class"
        )
    fold = fold_order(labels, count, seed)
    result = []
    for test in range(count):
        kept = (test + 1) % count if validation else -1
        result.append(
            Parts(
                np.flatnonzero((fold != test) & (fold != kept)),
                np.flatnonzero(fold == kept),
                np.flatnonzero(fold == test),
            )
        )
    return result
