"""GIN: Xu et al., "How powerful are graph neural networks?", ICLR 2019."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from ...nn.base import GraphClassifier
from ...nn.explicit import Hop, neighbours
from .common import JumpingReadout, check_batch

if TYPE_CHECKING:
    from torch_geometric.data import Batch


class GraphGIN(GraphClassifier):
    r"""The `graph isomorphism network <https://arxiv.org/abs/1810.00826>`_ GIN-0.

    :math:`h_l = \text{relu}(\text{BN}(\text{MLP}(h_{l-1} + \sum_{j} h_{l-1, j})))`; the scores add up
    linear scores of the summed states of every layer, the features included.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the hidden layers.
        num_classes: Classes.
        num_layers: Hops; with the features they make the five layers of the paper.
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
        self.hops = nn.ModuleList(Hop(width, hidden_channels) for width in widths[:-1])
        self.readout = JumpingReadout(widths, num_classes, dropout)

    def forward(self, batch: Batch) -> Tensor:
        """The score of each class for each graph, ``num_graphs x num_classes``."""
        graph, num_graphs = check_batch(batch, self.in_channels)
        adjacent = neighbours(batch.edge_index, batch.num_nodes)
        states = [batch.x]
        for hop in self.hops:
            states.append(hop(states[-1], adjacent))
        scores: Tensor = self.readout(states, graph, num_graphs)
        return scores
