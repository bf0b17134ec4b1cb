"""GCN: Kipf and Welling, "Semi-supervised classification with graph convolutional networks", ICLR 2017."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from torch import Tensor, nn
from torch.nn import functional as F

from ..nn.base import NodeClassifier
from .graph import GraphConv, adjacency_of, features_of

if TYPE_CHECKING:
    from torch_geometric.data import Data


class GCN(NodeClassifier):
    r"""The `graph convolutional network <https://arxiv.org/abs/1609.02907>`_.

    :math:`\hat A\, \text{relu}(\hat A X \Theta_1) \Theta_2`, and likewise with more layers.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the hidden layers.
        num_classes: Classes.
        num_layers: Graph convolutions.
        dropout: Dropout before each of them, in training.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        num_layers: int = 2,
        dropout: float = 0.5,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes, num_layers=num_layers, dropout=dropout
        )
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), num_classes]
        self.convs = nn.ModuleList(
            GraphConv(before, after, dropout) for before, after in pairwise(widths)
        )

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        x = features_of(data, self.in_channels)
        adjacency = adjacency_of(data, x.dtype)
        x = self.convs[0](x, adjacency)
        for conv in self.convs[1:]:
            x = conv(F.relu(x), adjacency)
        return x
