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


class JumpingReadout(nn.Module):
    """The readout of GIN: each layer's pooled states have their own linear scores, which add up.

    Args:
        widths: Width of the states of each layer, the input's first.
        num_classes: Classes.
        dropout: Dropout on each layer's scores, in training.
        mean: Whether to pool by the mean and not by the sum.
    """

    def __init__(
        self, widths: list[int], num_classes: int, dropout: float, mean: bool = False
    ) -> None:
        super().__init__()
        self.dropout, self.mean = dropout, mean
        self.heads = nn.ModuleList(nn.Linear(width, num_classes) for width in widths)

    def forward(self, states: list[Tensor], graph: Tensor, num_graphs: int) -> Tensor:
        """From one ``n x width`` matrix a layer to ``num_graphs x num_classes`` scores."""
        size = torch.bincount(graph, minlength=num_graphs).unsqueeze(-1) if self.mean else 1
        scores = [
            F.dropout(head(sum_nodes(z, graph, num_graphs) / size), self.dropout, self.training)
            for head, z in zip(self.heads, states, strict=True)
        ]
        return torch.stack(scores).sum(0)


__all__ = ["JumpingReadout", "SumReadout", "batch_adjacency", "check_batch"]
