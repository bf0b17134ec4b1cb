"""The yardstick: the forward pass of a two-layer graph convolutional network in PyG."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..equilibrium import EquilibriumMap


class TwoLayerGCN(nn.Module):
    """PyG's ``GCNConv`` twice, fed in the layout that is fastest there: a CSR adjacency.

    The normalisation is done beforehand, as it is for the implicit network, and sparse features stay
    sparse.

    Args:
        f: An equilibrium map on the same graph, of the same width.
        data: The graph.
        num_classes: Classes.
    """

    def __init__(self, f: EquilibriumMap, data: Data, num_classes: int) -> None:
        super().__init__()
        from torch_geometric.nn import GCNConv

        width = f.bias.shape[1]
        self.first = GCNConv(data.num_features, width, normalize=False)
        self.second = GCNConv(width, num_classes, normalize=False)
        self.adjacency = f.adjacency.matrix.as_torch()
        self.features = data.x

    @torch.no_grad()
    def forward(self) -> Tensor:
        """The score of each class for each node."""
        hidden = self.first(self.features, self.adjacency).relu()
        scores: Tensor = self.second(hidden, self.adjacency)
        return scores
