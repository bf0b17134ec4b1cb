"""JKNet: Xu et al., "Representation learning on graphs with jumping knowledge networks", ICML 2018."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import JumpingKnowledge

from ..errors import InputError
from ..nn.base import NodeClassifier
from .graph import GraphConv, adjacency_of, features_of

if TYPE_CHECKING:
    from torch_geometric.data import Data


class JKNet(NodeClassifier):
    r"""The `jumping knowledge network <https://arxiv.org/abs/1806.03536>`_: the head sees every layer.

    :math:`H_l = \text{relu}(\hat A H_{l-1} \Theta_l)`, and a linear head on all :math:`H_l` side by
    side (``"cat"``) or on their largest entries (``"max"``).

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the hidden layers.
        num_classes: Classes.
        num_layers: Graph convolutions: 1 for the small datasets of the paper, 8 for the large ones.
        mode: ``"cat"`` or ``"max"``.
        dropout: Dropout before each layer, in training.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        num_layers: int = 1,
        mode: str = "cat",
        dropout: float = 0.5,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes,
            num_layers=num_layers, mode=mode, dropout=dropout,
        )  # fmt: skip
        if mode not in ("cat", "max"):
            raise InputError(f'mode must be "cat" or "max", not {mode!r}')
        self.dropout = dropout
        self.convs = nn.ModuleList(
            GraphConv(hidden_channels if layer else in_channels, hidden_channels, dropout)
            for layer in range(num_layers)
        )
        self.jump = JumpingKnowledge(mode)
        width = hidden_channels * (num_layers if mode == "cat" else 1)
        self.head = nn.Linear(width, num_classes)

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        x = features_of(data, self.in_channels)
        adjacency = adjacency_of(data, x.dtype)
        layers = []
        for conv in self.convs:
            x = F.relu(conv(x, adjacency))
            layers.append(x)
        scores: Tensor = self.head(F.dropout(self.jump(layers), self.dropout, self.training))
        return scores
