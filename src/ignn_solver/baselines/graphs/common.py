"""What the graph-level baselines share: adjacencies of batches, and a readout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...adjacency import Adjacency
from ...cache import TensorCache
from ...nn.pooling import check_batch, sum_nodes

if TYPE_CHECKING:
    from torch_geometric.data import Batch

_adjacencies: TensorCache[Adjacency] = TensorCache()


def batch_adjacency(batch: Batch, dtype: torch.dtype) -> Adjacency:
    """The normalised block-diagonal adjacency of a batch, every edge in both directions; made once."""
    edge_index, graph = batch.edge_index, batch.batch

    def make() -> Adjacency:
        return Adjacency.from_edge_index(
            edge_index, None, batch.num_nodes, undirected=True, batch=graph, dtype=dtype
        )

    tensors = (edge_index,) if graph is None else (edge_index, graph)
    return _adjacencies.get(tensors, make, (batch.num_nodes, dtype))


class SumReadout(nn.Module):
    """Sum over the nodes of each graph, then Linear, ReLU, dropout, Linear: the head of IGNN's code.

    Args:
        channels: Width of the node states.
        num_classes: Classes.
        dropout: Dropout before the last layer, in training.
    """

    def __init__(self, channels: int, num_classes: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.hidden = nn.Linear(channels, channels)
        self.head = nn.Linear(channels, num_classes)

    def forward(self, z: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
        """From ``n x channels`` states to ``num_graphs x num_classes`` scores."""
        hidden = self.hidden(sum_nodes(z, graph, num_graphs)).relu()
        scores: Tensor = self.head(F.dropout(hidden, self.dropout, self.training))
        return scores


__all__ = ["SumReadout", "batch_adjacency", "check_batch"]
