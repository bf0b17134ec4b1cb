"""Scikit-learn's handwritten digits, with edges between similar images: real, and embedded."""

from __future__ import annotations

import numpy as np
import torch

from .data import NodeData, feature_tensor, node_data
from .splits import masks, stratified


def digits(*, seed: int = 0, neighbours: int = 10) -> NodeData:
    """Load 1,797 handwritten digits (8 x 8 pixels, 10 classes) as a nearest-neighbour graph.

    Two images are joined when either is among the other's ``neighbours`` nearest in pixel space.
    Pixels are scaled to [0, 1]. The split is stratified: 20 training images a class, 300 for
    validation, the rest for test.
    """
    from sklearn.datasets import load_digits
    from sklearn.neighbors import kneighbors_graph

    images, labels = load_digits(return_X_y=True)
    nearest = kneighbors_graph(images, neighbours, mode="connectivity", include_self=False)
    graph = nearest.maximum(nearest.T).tocoo()
    labels = labels.astype(np.int64)
    return node_data(
        "digits",
        x=feature_tensor(images / 16.0),
        y=torch.from_numpy(labels),
        edge_index=torch.from_numpy(np.stack([graph.row, graph.col]).astype(np.int64)),
        num_classes=10,
        masks=masks(stratified(labels, 20, 300, None, seed), len(labels)),
    )
