"""A perceptron that never looks at an edge: what the features alone are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from ..nn.base import NodeClassifier
from .graph import Perceptron, features_of

if TYPE_CHECKING:
    from torch_geometric.data import Data


class MLP(NodeClassifier):
    r"""Two layers on the features alone: :math:`\text{relu}(X \Theta_1) \Theta_2`.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the hidden layer.
        num_classes: Classes.
        dropout: Dropout before each layer, in training.
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, num_classes: int, dropout: float = 0.5
    ) -> None:
        super().__init__(in_channels, hidden_channels, num_classes, dropout=dropout)
        self.layers = Perceptron(in_channels, hidden_channels, num_classes, dropout)

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        scores: Tensor = self.layers(features_of(data, self.in_channels))
        return scores
