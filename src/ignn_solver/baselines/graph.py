"""What the baselines share: one adjacency a graph, and a graph convolution for dense or sparse features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..adjacency import Adjacency
from ..cache import TensorCache
from ..errors import InputError
from ..nn.classifiers import check_graph
from ..nn.features import FeatureLinear, check_features
from ..sparse import SparseMatrix

if TYPE_CHECKING:
    from torch_geometric.data import Data

_adjacencies: TensorCache[Adjacency] = TensorCache()
_neighbours: TensorCache[tuple[SparseMatrix, Tensor]] = TensorCache()


def adjacency_of(data: Data, dtype: torch.dtype) -> Adjacency:
    """The normalised adjacency of a graph, every edge in both directions; made once."""
    check_graph(data)
    edge_index, edge_weight = data.edge_index, data.edge_weight

    def make() -> Adjacency:
        return Adjacency.from_edge_index(
            edge_index, edge_weight, data.num_nodes, undirected=True, dtype=dtype
        )

    tensors = (edge_index,) if edge_weight is None else (edge_index, edge_weight)
    return _adjacencies.get(tensors, make, (data.num_nodes, dtype))


def neighbour_mean(data: Data, dtype: torch.dtype) -> tuple[SparseMatrix, Tensor]:
    r"""The matrix that averages over a node's neighbours, and how many those are; made once.

    Row i holds :math:`1/\deg(i)` for each neighbour, i itself not among them; a node without
    neighbours averages over itself alone.

    Returns:
        The ``n x n`` matrix, and the number of neighbours of each node, ``n``.
    """
    adjacency = adjacency_of(data, dtype)

    def make() -> tuple[SparseMatrix, Tensor]:
        row, col = adjacency.matrix.row.long(), adjacency.matrix.col.long()
        degree = torch.bincount(row[row != col], minlength=adjacency.num_nodes)
        kept = (row != col) | (degree[row] == 0)
        row, col = row[kept], col[kept]
        value = 1 / degree.clamp_min(1)[row].to(dtype)
        return SparseMatrix.from_coo(row, col, value, adjacency.matrix.shape), degree

    return _neighbours.get(data.edge_index, make, (data.num_nodes, dtype))


def random_walk(adjacency: Adjacency, x: Tensor) -> Tensor:
    r""":math:`D^{-1} M x`: the mean over neighbours and self, from the symmetric normalisation.

    Args:
        adjacency: :math:`D^{-1/2} M D^{-1/2}` with M symmetric.
        x: ``n x d``.
    """
    root = adjacency.degree.sqrt().unsqueeze(-1)
    return adjacency.matmul(x * root) / root


def features_of(data: Data, in_channels: int) -> Tensor:
    """The features of a graph, once they are known to fit a model made for ``in_channels``."""
    check_graph(data)
    check_features(data.x, data.num_nodes, in_channels)
    features: Tensor = data.x
    return features


def check_counts(**counts: int) -> None:
    """Raise an ``InputError`` for a count below 1, such as ``heads=0``."""
    for name, count in counts.items():
        if count < 1:
            raise InputError(f"{name} must be at least 1, not {count}")


class GraphConv(nn.Module):
    r"""The graph convolution :math:`\hat A^K (X \Theta) + \text{bias}`, for dense or sparse X.

    PyG's ``GCNConv`` (and ``SGConv``) with the same weights gives the same output; here sparse features
    stay sparse, and the product with the adjacency is the one everything else uses.

    Args:
        in_channels: Columns of X.
        out_channels: Columns of the result.
        dropout: Dropout on X, in training.
        power: K.
    """

    def __init__(
        self, in_channels: int, out_channels: int, dropout: float = 0.0, power: int = 1
    ) -> None:
        super().__init__()
        check_counts(power=power)
        self.power = power
        self.linear = FeatureLinear(in_channels, out_channels, bias=False, dropout=dropout)
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """From ``n x in_channels`` to ``n x out_channels``."""
        x = self.linear(x)
        for _ in range(self.power):
            x = adjacency.matmul(x)
        return x + self.bias


class Perceptron(nn.Module):
    r"""Two linear layers with a relu between, for dense or sparse X, with dropout before each.

    Args:
        in_channels: Columns of X.
        hidden_channels: Width between the layers.
        out_channels: Columns of the result.
        dropout: Dropout before each layer, in training.
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float
    ) -> None:
        super().__init__()
        self.first = FeatureLinear(in_channels, hidden_channels, dropout=dropout)
        self.second = FeatureLinear(hidden_channels, out_channels, dropout=dropout)

    def forward(self, x: Tensor) -> Tensor:
        """From ``n x in_channels`` to ``n x out_channels``."""
        scores: Tensor = self.second(F.relu(self.first(x)))
        return scores
