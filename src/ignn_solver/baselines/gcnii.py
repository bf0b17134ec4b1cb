"""GCNII: Chen et al., "Simple and deep graph convolutional networks", ICML 2020."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..adjacency import Adjacency
from ..nn.base import NodeClassifier
from ..nn.features import FeatureLinear
from .graph import adjacency_of, features_of

if TYPE_CHECKING:
    from torch_geometric.data import Data


class ResidualConv(nn.Module):
    r"""One layer of GCNII, with the initial residual and the identity mapping.

    :math:`P = (1 - \alpha) \hat A H + \alpha H_0` and the output is
    :math:`(1 - \beta_l) P + \beta_l P \Theta_l` with :math:`\beta_l = \log(\theta / l + 1)`.

    Args:
        channels: Columns of H.
        alpha: Share of the initial states.
        beta: Share of the weight against the identity.
    """

    def __init__(self, channels: int, alpha: float, beta: float) -> None:
        super().__init__()
        self.alpha, self.beta = alpha, beta
        self.weight = nn.Parameter(torch.empty(channels, channels))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x: Tensor, initial: Tensor, adjacency: Adjacency) -> Tensor:
        """From ``n x channels`` to ``n x channels``."""
        mixed = (1 - self.alpha) * adjacency.matmul(x) + self.alpha * initial
        return torch.addmm(mixed, mixed, self.weight, beta=1 - self.beta, alpha=self.beta)


class GCNII(NodeClassifier):
    r"""`Simple and deep graph convolutions <https://arxiv.org/abs/2007.02133>`_.

    A linear layer, ``num_layers`` of :class:`ResidualConv` with relu, a linear head.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the hidden layers.
        num_classes: Classes.
        num_layers: Graph convolutions.
        alpha: Share of the initial states in every layer.
        theta: How fast the layers approach the identity with depth.
        dropout: Dropout before each layer, in training.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        num_layers: int = 16,
        alpha: float = 0.1,
        theta: float = 0.5,
        dropout: float = 0.5,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes,
            num_layers=num_layers, alpha=alpha, theta=theta, dropout=dropout,
        )  # fmt: skip
        self.dropout = dropout
        self.embed = FeatureLinear(in_channels, hidden_channels, dropout=dropout)
        self.convs = nn.ModuleList(
            ResidualConv(hidden_channels, alpha, math.log(theta / layer + 1))
            for layer in range(1, num_layers + 1)
        )
        self.head = nn.Linear(hidden_channels, num_classes)

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        features = features_of(data, self.in_channels)
        adjacency = adjacency_of(data, features.dtype)
        initial = F.relu(self.embed(features))
        x = initial
        for conv in self.convs:
            x = F.relu(conv(F.dropout(x, self.dropout, self.training), initial, adjacency))
        scores: Tensor = self.head(F.dropout(x, self.dropout, self.training))
        return scores
