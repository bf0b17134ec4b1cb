"""MIGNN for graphs: Baker et al., "Implicit graph neural networks: a monotone operator viewpoint", ICML 2023."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from ...nn.base import GraphClassifier
from ..mignn import MonotoneLayer
from .common import SumReadout, batch_adjacency, check_batch

if TYPE_CHECKING:
    from torch_geometric.data import Batch


class GraphMIGNN(GraphClassifier):
    r"""The `monotone implicit network <https://proceedings.mlr.press/v202/baker23a.html>`_ in IGNN's set-up.

    Layers :math:`Z = \text{relu}(\hat A Z W + \hat A X \Omega)` with W orthogonal or only monotone, solved
    by operator splitting, normalised over the batch; the sum of the last states goes to the head.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the node states.
        num_classes: Classes.
        layers: Implicit layers.
        dropout: Dropout before the last layer, in training.
        **options: Passed to :class:`MonotoneLayer`: ``kappa``, ``parametrization``, ``splitting``, ``tol``,
            ``max_evals``.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        layers: int = 3,
        dropout: float = 0.5,
        **options: Any,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes, layers=layers, dropout=dropout, **options
        )
        widths = [in_channels] + [hidden_channels] * layers
        self.inputs = nn.ModuleList(nn.Linear(width, hidden_channels) for width in widths[:-1])
        self.layers = nn.ModuleList(
            MonotoneLayer(hidden_channels, **options) for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden_channels) for _ in range(layers))
        self.readout = SumReadout(hidden_channels, num_classes, dropout)

    def forward(self, batch: Batch) -> Tensor:
        """The score of each class for each graph, ``num_graphs x num_classes``."""
        graph, num_graphs = check_batch(batch, self.in_channels)
        adjacency = batch_adjacency(batch, batch.x.dtype)
        x = batch.x
        for embed, layer, norm in zip(self.inputs, self.layers, self.norms, strict=True):
            x = norm(layer(embed(x), adjacency))
        scores: Tensor = self.readout(x, graph, num_graphs)
        return scores

    def evaluations(self) -> tuple[int, int]:
        """Products with the adjacency in the last forward and backward solves, over all layers."""
        forward, backward = zip(*(layer.products for layer in self.layers), strict=True)
        return sum(forward), sum(backward)
