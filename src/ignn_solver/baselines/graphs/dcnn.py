"""DCNN: Atwood and Towsley, "Diffusion-convolutional neural networks", NeurIPS 2016."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ...cache import TensorCache
from ...nn.base import GraphClassifier
from ...nn.explicit import neighbours
from ...nn.pooling import sum_nodes
from .common import check_batch

if TYPE_CHECKING:
    from torch_geometric.data import Batch

_diffused: TensorCache[Tensor] = TensorCache()


class GraphDCNN(GraphClassifier):
    r"""`Diffusion convolutions <https://arxiv.org/abs/1511.02136>`_ averaged over each graph.

    :math:`Z = \tanh(W^c \odot \frac{1}{n} 1^\top P^j X)` for :math:`j = 0 \dots H`, one weight for every hop
    and feature, P the transition matrix :math:`D^{-1} A`; then one linear layer.

    Args:
        in_channels: Features of a node.
        hidden_channels: Not used by the model, which has no hidden width of its own.
        num_classes: Classes.
        hops: H.
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, num_classes: int, hops: int = 3
    ) -> None:
        super().__init__(in_channels, hidden_channels, num_classes, hops=hops)
        self.hops = hops
        self.weight = nn.Parameter(torch.empty(hops + 1, in_channels))
        nn.init.normal_(self.weight)
        self.head = nn.Linear((hops + 1) * in_channels, num_classes)

    def diffusion(self, batch: Batch) -> Tensor:
        """The mean over nodes of ``P^j X``, ``num_graphs x (hops + 1) x features``; kept per batch."""
        graph, num_graphs = check_batch(batch, self.in_channels)

        def make() -> Tensor:
            adjacent = neighbours(batch.edge_index, batch.num_nodes).to(batch.x.dtype)
            degree = adjacent.rowptr.diff().clamp_min(1).unsqueeze(-1)
            size = torch.bincount(graph, minlength=num_graphs).unsqueeze(-1)
            powers = [batch.x]
            for _ in range(self.hops):
                powers.append(adjacent.matmul(powers[-1]) / degree)
            return torch.stack([sum_nodes(x, graph, num_graphs) / size for x in powers], 1)

        return _diffused.get((batch.x, batch.edge_index), make, self.hops)

    def forward(self, batch: Batch) -> Tensor:
        """The score of each class for each graph, ``num_graphs x num_classes``."""
        scores: Tensor = self.head(torch.tanh(self.weight * self.diffusion(batch)).flatten(1))
        return scores
