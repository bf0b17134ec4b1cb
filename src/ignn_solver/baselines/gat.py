"""GAT: Veličković et al., "Graph attention networks", ICLR 2018."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..adjacency import Adjacency
from ..cache import TensorCache
from ..nn.base import NodeClassifier
from ..nn.features import FeatureLinear
from ..sparse import SparseMatrix
from .graph import adjacency_of, check_counts, features_of

if TYPE_CHECKING:
    from torch_geometric.data import Data

_patterns: TensorCache[SparseMatrix] = TensorCache()


def pattern_of(adjacency: Adjacency) -> SparseMatrix:
    """The places of the adjacency, to be filled with attention; its transpose is made once."""

    def make() -> SparseMatrix:
        matrix = adjacency.matrix
        pattern = SparseMatrix(
            matrix.rowptr, matrix.col, torch.ones_like(matrix.value), matrix.shape
        )
        # Made first, so that every head's matrix shares the order of its transpose.
        _ = pattern.transpose
        return pattern

    return _patterns.get(adjacency.matrix.value, make)


def softmax_rows(logits: Tensor, pattern: SparseMatrix) -> Tensor:
    """The softmax of the entries of each row of a sparse matrix, ``entries x heads``."""
    row = pattern.row.long()
    shape = (pattern.shape[0], logits.shape[1])
    index = row.unsqueeze(-1).expand_as(logits)
    largest = logits.new_zeros(shape).scatter_reduce(
        0, index, logits.detach(), "amax", include_self=False
    )
    weights = (logits - largest[row]).exp()
    return weights / logits.new_zeros(shape).index_add(0, row, weights)[row]


class AttentionConv(nn.Module):
    r"""Graph attention: each node takes a weighted mean of its neighbours and itself.

    With :math:`H = X \Theta` for each head, the weight of neighbour j for node i is the softmax over j of
    :math:`\text{leaky\_relu}(a_s \cdot H_j + a_t \cdot H_i)`. PyG's ``GATConv`` with the same weights
    gives the same output; here sparse features stay sparse, and no message is stored for each edge: that
    would be heads x width x edges numbers, gigabytes for a graph like Flickr.

    Args:
        in_channels: Columns of X.
        out_channels: Columns of each head.
        heads: Heads.
        concat: Whether heads stand side by side, or are averaged.
        dropout: Dropout on X and on the attention, in training.
        slope: Slope of the leaky relu below 0.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int,
        concat: bool = True,
        dropout: float = 0.0,
        slope: float = 0.2,
    ) -> None:
        super().__init__()
        self.heads, self.concat, self.dropout, self.slope = heads, concat, dropout, slope
        self.linear = FeatureLinear(in_channels, heads * out_channels, bias=False, dropout=dropout)
        self.source = nn.Parameter(torch.empty(heads, out_channels))
        self.target = nn.Parameter(torch.empty(heads, out_channels))
        self.bias = nn.Parameter(torch.zeros(heads * out_channels if concat else out_channels))
        nn.init.xavier_uniform_(self.source)
        nn.init.xavier_uniform_(self.target)

    def forward(self, x: Tensor, pattern: SparseMatrix) -> Tensor:
        """From ``n x in_channels`` to ``n x heads * out_channels`` (or ``n x out_channels``)."""
        states = self.linear(x).unflatten(1, (self.heads, -1))
        source = (states * self.source).sum(-1)[pattern.col.long()]
        target = (states * self.target).sum(-1)[pattern.row.long()]
        attention = softmax_rows(F.leaky_relu(source + target, self.slope), pattern)
        attention = F.dropout(attention, self.dropout, self.training)
        out = [
            pattern.with_value(attention[:, head].contiguous()).matmul(states[:, head].contiguous())
            for head in range(self.heads)
        ]
        joined = torch.cat(out, 1) if self.concat else torch.stack(out).mean(0)
        return joined + self.bias


class GAT(NodeClassifier):
    r"""The `graph attention network <https://arxiv.org/abs/1710.10903>`_.

    Hidden layers put their heads side by side, with elu; the last one averages its heads.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of each head of the hidden layers.
        num_classes: Classes.
        heads: Heads of every layer.
        num_layers: Layers.
        dropout: Dropout on the input of each layer and on the attention, in training.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        heads: int = 3,
        num_layers: int = 2,
        dropout: float = 0.5,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes,
            heads=heads, num_layers=num_layers, dropout=dropout,
        )  # fmt: skip
        check_counts(heads=heads)
        widths = [in_channels, *[heads * hidden_channels] * (num_layers - 1)]
        self.convs = nn.ModuleList(
            AttentionConv(width, hidden_channels, heads, dropout=dropout) for width in widths[:-1]
        )
        self.convs.append(AttentionConv(widths[-1], num_classes, heads, False, dropout))

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        x = features_of(data, self.in_channels)
        pattern = pattern_of(adjacency_of(data, x.dtype))
        x = self.convs[0](x, pattern)
        for conv in self.convs[1:]:
            x = conv(F.elu(x), pattern)
        return x
