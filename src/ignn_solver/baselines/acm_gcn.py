"""ACM-GCN: Luan et al., "Revisiting heterophily for graph neural networks", NeurIPS 2022."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..adjacency import Adjacency
from ..nn.base import NodeClassifier
from ..nn.features import FeatureLinear
from .graph import adjacency_of, features_of, random_walk

if TYPE_CHECKING:
    from torch_geometric.data import Data

CHANNELS = 3
"""Low-pass, high-pass and identity."""


class MixingConv(nn.Module):
    r"""One layer of adaptive channel mixing.

    With P the mean over neighbours and self, the channels are
    :math:`H_L = \text{relu}(P X \Theta_L)`, :math:`H_H = \text{relu}((I - P) X \Theta_H)` and
    :math:`H_I = \text{relu}(X \Theta_I)`. Each node weighs them by
    :math:`\alpha = \text{softmax}(\text{sigmoid}([H_L v_L, H_H v_H, H_I v_I]) V / 3)`, and the output is
    :math:`3 (\alpha_L H_L + \alpha_H H_H + \alpha_I H_I)`, as in the authors' code.

    Args:
        in_channels: Columns of X.
        out_channels: Columns of the result.
        dropout: Dropout on X, in training.
        activate: Whether the channels pass a relu.
    """

    def __init__(
        self, in_channels: int, out_channels: int, dropout: float = 0.0, activate: bool = True
    ) -> None:
        super().__init__()
        self.activate = activate
        # One product for the three channels, so that they see the same dropout, as in the code.
        self.linear = FeatureLinear(in_channels, CHANNELS * out_channels, False, dropout)
        self.score = nn.Parameter(torch.empty(CHANNELS, out_channels))
        self.mix = nn.Parameter(torch.empty(CHANNELS, CHANNELS))
        nn.init.xavier_uniform_(self.score)
        nn.init.uniform_(self.mix, -(CHANNELS**-0.5), CHANNELS**-0.5)

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """From ``n x in_channels`` to ``n x out_channels``."""
        low, high, same = self.linear(x).chunk(CHANNELS, dim=-1)
        passed = random_walk(adjacency, torch.cat([low, high], -1))
        low, smooth = passed.chunk(2, dim=-1)
        channels = torch.stack([low, high - smooth, same], 1)
        if self.activate:
            channels = F.relu(channels)
        logits = torch.sigmoid((channels * self.score).sum(-1)) @ self.mix / CHANNELS
        weights = logits.softmax(-1)
        return CHANNELS * (weights.unsqueeze(-1) * channels).sum(1)


class ACMGCN(NodeClassifier):
    r"""`Adaptive channel mixing <https://arxiv.org/abs/2210.07606>`_: every node weighs three filters.

    The last layer has no relu, unlike the authors' code: with it, a class whose three channels are never
    positive is never predicted and never learns.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the hidden layers.
        num_classes: Classes.
        num_layers: Hidden layers: 1 for the small datasets of the paper, 4 for the large ones.
        dropout: Dropout before each layer, in training.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        num_layers: int = 1,
        dropout: float = 0.5,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes, num_layers=num_layers, dropout=dropout
        )
        widths = [in_channels, *[hidden_channels] * num_layers, num_classes]
        self.convs = nn.ModuleList(
            MixingConv(before, after, dropout, activate=layer < num_layers)
            for layer, (before, after) in enumerate(pairwise(widths))
        )

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        x = features_of(data, self.in_channels)
        adjacency = adjacency_of(data, x.dtype)
        for conv in self.convs:
            x = conv(x, adjacency)
        return x
