"""From the states of nodes to one vector a graph."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..errors import InputError


def sum_nodes(x: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
    """Sum the rows of each graph: from ``n x d`` to ``num_graphs x d``."""
    return x.new_zeros(num_graphs, x.shape[1]).index_add(0, graph, x)


class Pooling(nn.Module):
    r"""Pool the node states of each graph.

    ``"sum"``: :math:`\sum_i z_i`. ``"mean"``: the sum over the number of nodes. ``"attention"``:
    :math:`\sum_i p_i z_i` with :math:`p = \text{softmax}_i(z_i \cdot a + c)` over the nodes of the
    graph, as the gate of `"Gated Graph Sequence Neural Networks" <https://arxiv.org/abs/1511.05493>`_.

    Args:
        kind: ``"sum"``, ``"mean"`` or ``"attention"``.
        channels: Width d of the states.
    """

    def __init__(self, kind: str, channels: int) -> None:
        super().__init__()
        if kind not in ("sum", "mean", "attention"):
            raise InputError(f"unknown pooling {kind!r}: choose one of sum, mean, attention")
        self.kind = kind
        self.gate = nn.Linear(channels, 1) if kind == "attention" else None

    def forward(self, x: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
        """Pool ``n x d`` states to ``num_graphs x d``; ``graph`` is the graph of each node, ``n``."""
        if self.gate is not None:
            score = self.gate(x).squeeze(-1)
            # The largest score of each graph is taken off, so that no exponential overflows.
            largest = score.detach().new_full((num_graphs,), -torch.inf)
            largest = largest.scatter_reduce(0, graph, score.detach(), "amax")
            weight = (score - largest[graph]).exp().unsqueeze(-1)
            total = sum_nodes(weight, graph, num_graphs)
            return sum_nodes(x * weight, graph, num_graphs) / total
        total = sum_nodes(x, graph, num_graphs)
        if self.kind == "mean":
            return total / torch.bincount(graph, minlength=num_graphs).unsqueeze(-1)
        return total

    def extra_repr(self) -> str:
        """The kind."""
        return self.kind


def check_batch(batch: object, in_channels: int) -> tuple[Tensor, int]:
    """The graph of each node and the number of graphs of a PyG ``Batch`` (or a single ``Data``).

    Raises:
        InputError: Unless every graph has nodes, with ``in_channels`` features each, and edges.
    """
    x, edge_index = getattr(batch, "x", None), getattr(batch, "edge_index", None)
    if x is None or edge_index is None:
        raise InputError("a batch of graphs needs x and edge_index: make it with PyG's Batch")
    if x.dim() != 2 or x.shape[1] != in_channels:
        raise InputError(
            f"the nodes have features of shape {tuple(x.shape)}, but the model was made for "
            f"{in_channels} a node"
        )
    graph = getattr(batch, "batch", None)
    graph = torch.zeros(x.shape[0], dtype=torch.int64) if graph is None else graph
    num_graphs = int(getattr(batch, "num_graphs", 1))
    sizes = torch.bincount(graph, minlength=num_graphs)
    if not bool((sizes > 0).all()):
        empty = int((sizes == 0).nonzero()[0])
        raise InputError(f"graph {empty} of the batch has no node: leave it out")
    return graph, num_graphs
