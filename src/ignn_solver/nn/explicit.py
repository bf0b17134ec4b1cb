"""Explicit hops: what a node sees of its neighbourhood before any equilibrium."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..cache import TensorCache
from ..sparse import SparseMatrix

_neighbours: TensorCache[SparseMatrix] = TensorCache()


def neighbours(edge_index: Tensor, num_nodes: int) -> SparseMatrix:
    """The matrix of ones whose product with x sums over neighbours; kept while the edges live.

    Args:
        edge_index: ``2 x edges``; an edge ``(j, i)`` carries the state of node j to node i.
        num_nodes: How many nodes.
    """

    def build() -> SparseMatrix:
        source, target = edge_index
        ones = torch.ones(source.numel(), device=source.device)
        return SparseMatrix.from_coo(target, source, ones, (num_nodes, num_nodes))

    return _neighbours.get(edge_index, build, num_nodes)


class MLP(nn.Sequential):
    """Linear, batch normalisation, ReLU, Linear.

    Args:
        in_channels: Width of the input.
        hidden_channels: Width in the middle.
        out_channels: Width of the output.
        normalization: Whether to normalise the middle over the batch.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        normalization: bool = True,
    ) -> None:
        norm = nn.BatchNorm1d(hidden_channels) if normalization else nn.Identity()
        super().__init__(
            nn.Linear(in_channels, hidden_channels),
            norm,
            nn.ReLU(inplace=True),
            nn.Linear(hidden_channels, out_channels),
        )


class Hop(nn.Module):
    r"""One hop of a graph isomorphism network: :math:`\text{MLP}(x_i + \sum_{j \to i} x_j)`.

    See `"How Powerful are Graph Neural Networks?" <https://arxiv.org/abs/1810.00826>`_ (GIN-0). Batch
    normalisation and a ReLU follow.

    Args:
        in_channels: Width of the input.
        out_channels: Width of the output.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.mlp = MLP(in_channels, out_channels, out_channels)
        self.norm = nn.BatchNorm1d(out_channels)

    def forward(self, x: Tensor, adjacent: SparseMatrix) -> Tensor:
        """From ``n x in_channels`` to ``n x out_channels``; ``adjacent`` is from ``neighbours``."""
        # In place wherever nobody reads what was there: fresh memory costs as much as the arithmetic.
        summed = adjacent.to(x.dtype).matmul(x).add_(x)
        return self.norm(self.mlp(summed)).relu_()
