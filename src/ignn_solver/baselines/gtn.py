"""GTN: Yun et al., "Graph transformer networks", NeurIPS 2019."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..nn.base import NodeClassifier
from ..nn.features import FeatureLinear
from ..sparse import SparseMatrix
from .graph import check_counts, features_of, neighbour_mean

if TYPE_CHECKING:
    from torch_geometric.data import Data


class MetaPaths(nn.Module):
    r"""One channel of graph transformer layers: a learned mixture of paths, applied to states.

    A graph of one relation offers two kinds of edges, the neighbours A and the node itself I. Each
    selection is :math:`Q = \phi_1 A + \phi_0 I` with a softmax :math:`\phi`. The first layer is
    :math:`H_1 = D^{-1} Q_0 Q_1`, each further one :math:`H_l = D^{-1} H_{l-1} Q_l`, where D makes rows
    sum to 1: all paths of up to ``num_layers + 1`` edges. The product is never formed: its factors are
    applied to the states one by one.

    Args:
        num_layers: Graph transformer layers.
    """

    def __init__(self, num_layers: int) -> None:
        super().__init__()
        self.selection = nn.Parameter(0.1 * torch.randn(num_layers + 1, 2))

    def forward(self, x: Tensor, mean: SparseMatrix, degree: Tensor) -> Tensor:
        """:math:`H_L x`, from ``n x d`` to ``n x d``.

        Args:
            x: The states.
            mean: The matrix that averages over neighbours.
            degree: The number of neighbours, ``n x 1``.
        """
        shares = self.selection.softmax(-1)
        # Each D scales rows, so all of them together make the rows of the whole product sum to 1.
        y = torch.cat([x, x.new_ones(x.shape[0], 1)], 1)
        for share in shares.flip(0):
            y = share[1] * degree * mean.matmul(y) + share[0] * y
        return y[:, :-1] / y[:, -1:]


class GTN(NodeClassifier):
    r"""The `graph transformer network <https://arxiv.org/abs/1911.06455>`_ on a graph of one relation.

    :math:`Z = \Vert_c\, \text{relu}(\tilde D^{-1} (H^c + I) X \Theta)`, the channels c side by side, then two
    linear layers with a relu between.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of each channel.
        num_classes: Classes.
        num_layers: Graph transformer layers; a node sees one edge further than that.
        channels: Mixtures of paths, C.
        dropout: Dropout on the features and before each linear layer, in training.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        num_layers: int = 2,
        channels: int = 2,
        dropout: float = 0.5,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes,
            num_layers=num_layers, channels=channels, dropout=dropout,
        )  # fmt: skip
        check_counts(channels=channels)
        self.dropout = dropout
        self.input = FeatureLinear(in_channels, hidden_channels, bias=False, dropout=dropout)
        self.paths = nn.ModuleList(MetaPaths(num_layers) for _ in range(channels))
        self.middle = nn.Linear(channels * hidden_channels, hidden_channels)
        self.head = nn.Linear(hidden_channels, num_classes)

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        x = self.input(features_of(data, self.in_channels))
        mean, degree = neighbour_mean(data, x.dtype)
        count = degree.unsqueeze(-1).to(x.dtype)
        # The rows of H sum to 1, so those of H + I sum to 2.
        seen = [F.relu((path(x, mean, count) + x) / 2) for path in self.paths]
        hidden = F.dropout(torch.cat(seen, 1), self.dropout, self.training)
        hidden = F.dropout(F.relu(self.middle(hidden)), self.dropout, self.training)
        scores: Tensor = self.head(hidden)
        return scores
