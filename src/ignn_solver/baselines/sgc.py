"""SGC: Wu et al., "Simplifying graph convolutional networks", ICML 2019."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from ..nn.base import NodeClassifier
from .graph import GraphConv, adjacency_of, features_of

if TYPE_CHECKING:
    from torch_geometric.data import Data


class SGC(NodeClassifier):
    r"""The `simplified graph convolution <https://arxiv.org/abs/1902.07153>`_.

    :math:`\hat A^K X \Theta + \text{bias}`, evaluated as :math:`\hat A^K (X \Theta)`: the same numbers,
    and only ``num_classes`` columns pass over the edges.

    Args:
        in_channels: Features of a node.
        hidden_channels: Unused: the model has no hidden layer.
        num_classes: Classes.
        power: K.
        dropout: Dropout on the features, in training.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        power: int = 3,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(in_channels, hidden_channels, num_classes, power=power, dropout=dropout)
        self.conv = GraphConv(in_channels, num_classes, dropout, power)

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        x = features_of(data, self.in_channels)
        scores: Tensor = self.conv(x, adjacency_of(data, x.dtype))
        return scores
