"""DGCNN: Zhang et al., "An end-to-end deep learning architecture for graph classification", AAAI 2018."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...errors import InputError
from ...nn.base import GraphClassifier
from ..graph import random_walk
from .common import batch_adjacency, check_batch

if TYPE_CHECKING:
    from torch_geometric.data import Batch

_KERNEL = 5
_TIE_BREAKERS = 4


def sort_pooling(x: Tensor, graph: Tensor, num_graphs: int, k: int) -> Tensor:
    """The k nodes of each graph with the largest last channel, in descending order.

    Ties are broken by the three channels before it, so that the order of the nodes does not matter: nodes
    that agree in all four are as good as equal. Graphs with fewer than k nodes end in zeros.

    Args:
        x: Node states, ``n x d``.
        graph: The graph of each node, ``n``.
        num_graphs: How many graphs there are.
        k: Nodes to keep.

    Returns:
        ``num_graphs x k x d``.
    """
    order = torch.arange(x.shape[0])
    values = x.detach()
    for channel in range(max(0, x.shape[1] - _TIE_BREAKERS), x.shape[1]):
        order = order[torch.argsort(values[order, channel], descending=True, stable=True)]
    order = order[torch.argsort(graph[order], stable=True)]
    sizes = torch.bincount(graph, minlength=num_graphs)
    rank = torch.arange(x.shape[0]) - (sizes.cumsum(0) - sizes)[graph[order]]
    kept = rank < k
    place = graph[order][kept] * k + rank[kept]
    result = x.new_zeros(num_graphs * k, x.shape[1]).index_add(0, place, x[order[kept]])
    return result.view(num_graphs, k, x.shape[1])


class GraphDGCNN(GraphClassifier):
    r"""Graph convolutions, `sort pooling <https://muhanzhang.github.io/papers/AAAI_2018_DGCNN.pdf>`_, convolutions.

    :math:`h_l = \tanh(\tilde D^{-1} \tilde A h_{l-1} \Theta_l)` with widths d, d, d and 1; all layers side by
    side are sorted and cut to k nodes, read by two one-dimensional convolutions and a dense layer.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width d of the graph convolutions.
        num_classes: Classes.
        k: Nodes kept of each graph, at least 10; the paper lets six graphs in ten have more.
        dropout: Dropout before the last layer, in training.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        k: int = 30,
        dropout: float = 0.5,
    ) -> None:
        super().__init__(in_channels, hidden_channels, num_classes, k=k, dropout=dropout)
        if k < 2 * _KERNEL:
            raise InputError(f"k must be at least {2 * _KERNEL}, not {k}")
        self.k, self.dropout = k, dropout
        widths = [in_channels, hidden_channels, hidden_channels, hidden_channels, 1]
        self.convs = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        total = sum(widths[1:])
        self.first = nn.Conv1d(1, 16, total, stride=total)
        self.second = nn.Conv1d(16, 32, _KERNEL)
        self.hidden = nn.Linear(32 * (k // 2 - _KERNEL + 1), 128)
        self.head = nn.Linear(128, num_classes)

    def forward(self, batch: Batch) -> Tensor:
        """The score of each class for each graph, ``num_graphs x num_classes``."""
        graph, num_graphs = check_batch(batch, self.in_channels)
        adjacency = batch_adjacency(batch, batch.x.dtype)
        x, states = batch.x, []
        for conv in self.convs:
            x = torch.tanh(random_walk(adjacency, conv(x)))
            states.append(x)
        sorted_ = sort_pooling(torch.cat(states, -1), graph, num_graphs, self.k)
        y = self.first(sorted_.flatten(1).unsqueeze(1)).relu()
        y = self.second(F.max_pool1d(y, 2)).relu()
        hidden = self.hidden(y.flatten(1)).relu()
        scores: Tensor = self.head(F.dropout(hidden, self.dropout, self.training))
        return scores
