"""GIN's frame: explicit layers, the states of each of which are pooled and scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...nn.base import GraphClassifier
from ...nn.pooling import check_batch, sum_nodes

if TYPE_CHECKING:
    from torch_geometric.data import Batch


class JumpingReadout(nn.Module):
    """The readout of GIN: each layer's pooled states have their own linear scores, which add up.

    Args:
        widths: Width of the states of each layer, the input's first.
        num_classes: Classes.
        dropout: Dropout on each layer's scores, in training.
        mean: Whether to pool by the mean and not by the sum.
    """

    def __init__(
        self, widths: list[int], num_classes: int, dropout: float, mean: bool = False
    ) -> None:
        super().__init__()
        self.dropout, self.mean = dropout, mean
        self.heads = nn.ModuleList(nn.Linear(width, num_classes) for width in widths)

    def forward(self, states: list[Tensor], graph: Tensor, num_graphs: int) -> Tensor:
        """From one ``n x width`` matrix a layer to ``num_graphs x num_classes`` scores."""
        size = torch.bincount(graph, minlength=num_graphs).unsqueeze(-1) if self.mean else 1
        scores = [
            F.dropout(head(sum_nodes(z, graph, num_graphs) / size), self.dropout, self.training)
            for head, z in zip(self.heads, states, strict=True)
        ]
        return torch.stack(scores).sum(0)


class JumpingClassifier(GraphClassifier):
    """What GIN and GCN for graphs share; a subclass says what a layer is, and what it multiplies with.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the hidden layers.
        num_classes: Classes.
        num_layers: Layers; with the features they make the five of GIN's paper.
        dropout: Dropout on the scores of each layer, in training.
    """

    #: Made with the widths of its input and output, called with the states and ``matrix(batch)``.
    layer: type[nn.Module]
    #: Whether to pool by the mean and not by the sum.
    mean = False

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
        self.layers = nn.ModuleList(self.layer(width, hidden_channels) for width in widths[:-1])
        self.readout = JumpingReadout(widths, num_classes, dropout, mean=self.mean)

    def matrix(self, batch: Batch) -> Any:
        """What every layer multiplies its states with."""
        raise TypeError(f"{type(self).__name__} does not define its matrix")

    def forward(self, batch: Batch) -> Tensor:
        """The score of each class for each graph, ``num_graphs x num_classes``."""
        graph, num_graphs = check_batch(batch, self.in_channels)
        matrix = self.matrix(batch)
        states = [batch.x]
        for layer in self.layers:
            states.append(layer(states[-1], matrix))
        scores: Tensor = self.readout(states, graph, num_graphs)
        return scores
