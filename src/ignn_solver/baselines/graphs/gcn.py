"""GCN for graphs: Kipf and Welling, "Semi-supervised classification with graph convolutional networks"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from ...nn.base import GraphClassifier
from ..graph import GraphConv
from .common import JumpingReadout, batch_adjacency, check_batch

if TYPE_CHECKING:
    from torch_geometric.data import Batch


class GraphGCN(GraphClassifier):
    r"""`Graph convolutions <https://arxiv.org/abs/1609.02907>`_ with the readout of GIN's comparison.

    :math:`h_l = \text{relu}(\text{BN}(\hat A h_{l-1} \Theta_l))`, mean pooling: Xu et al. compare with GCN
    in this form, and their figures are the published ones.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the hidden layers.
        num_classes: Classes.
        num_layers: Convolutions.
        dropout: Dropout on the scores of each layer, in training.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        num_layers: int = 4,
        dropout: float = 0.5,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes, num_layers=num_layers, dropout=dropout
        )
        widths = [in_channels] + [hidden_channels] * num_layers
        self.convs = nn.ModuleList(GraphConv(width, hidden_channels) for width in widths[:-1])
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden_channels) for _ in widths[:-1])
        self.readout = JumpingReadout(widths, num_classes, dropout, mean=True)

    def forward(self, batch: Batch) -> Tensor:
        """The score of each class for each graph, ``num_graphs x num_classes``."""
        graph, num_graphs = check_batch(batch, self.in_channels)
        adjacency = batch_adjacency(batch, batch.x.dtype)
        states = [batch.x]
        for conv, norm in zip(self.convs, self.norms, strict=True):
            states.append(norm(conv(states[-1], adjacency)).relu())
        scores: Tensor = self.readout(states, graph, num_graphs)
        return scores
