"""APPNP: Gasteiger et al., "Predict then propagate: GNNs meet personalized PageRank", ICLR 2019."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from ..errors import InputError
from ..nn.base import NodeClassifier
from .graph import Perceptron, adjacency_of, check_counts, features_of

if TYPE_CHECKING:
    from torch_geometric.data import Data


class APPNP(NodeClassifier):
    r"""`Predict, then propagate <https://arxiv.org/abs/1810.05997>`_ by personalised PageRank.

    From the scores H of a two-layer perceptron, :math:`Z \leftarrow (1 - \alpha) \hat A Z + \alpha H`,
    ``iterations`` times, starting at H.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the perceptron.
        num_classes: Classes.
        iterations: Steps of propagation.
        alpha: Teleport probability, above 0 and at most 1.
        dropout: Dropout before each linear layer, in training.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        iterations: int = 3,
        alpha: float = 0.5,
        dropout: float = 0.5,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes,
            iterations=iterations, alpha=alpha, dropout=dropout,
        )  # fmt: skip
        check_counts(iterations=iterations)
        if not 0 < alpha <= 1:
            raise InputError(
                f"alpha is a probability above 0 and at most 1, not {alpha}: 0.5 is usual"
            )
        self.iterations, self.alpha = iterations, alpha
        self.perceptron = Perceptron(in_channels, hidden_channels, num_classes, dropout)

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        x = features_of(data, self.in_channels)
        adjacency = adjacency_of(data, x.dtype)
        local: Tensor = self.perceptron(x)
        scores = local
        for _ in range(self.iterations):
            scores = (1 - self.alpha) * adjacency.matmul(scores) + self.alpha * local
        return scores
