"""DEMO-Net: Wu et al., "Degree-specific graph neural networks for node and graph classification", KDD 2019."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..cache import TensorCache
from ..nn.base import NodeClassifier
from ..nn.features import FeatureLinear
from ..sparse import SparseMatrix
from .graph import check_counts, features_of, neighbour_mean
from .hashing import hashed_means, hashed_rows

if TYPE_CHECKING:
    from torch_geometric.data import Data

_hashed_features: TensorCache[Tensor] = TensorCache()


class DegreeConv(nn.Module):
    r"""One layer of DEMO-Net (hash): :math:`X \Theta_0 + (\phi_{\deg}(M X) + \phi(M X)) \Theta + \text{bias}`.

    M averages over neighbours, :math:`\phi_{\deg}` hashes a node's row into ``hash_dimension`` places by
    a function of its degree, and :math:`\phi` by one that all share: weights specific to a degree,
    without a weight matrix for each degree.

    Args:
        in_channels: Columns of X.
        out_channels: Columns of the result.
        hash_dimension: Places of the hash functions.
        dropout: Dropout on both terms, in training.
    """

    def __init__(
        self, in_channels: int, out_channels: int, hash_dimension: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.own = FeatureLinear(in_channels, out_channels, bias=False)
        self.neighbours = FeatureLinear(hash_dimension, out_channels, bias=False)
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(self, x: Tensor, hashed: Tensor) -> Tensor:
        """From ``n x in_channels`` and ``n x hash_dimension`` to ``n x out_channels``."""
        own = F.dropout(self.own(x), self.dropout, self.training)
        neighbours = F.dropout(self.neighbours(hashed), self.dropout, self.training)
        return own + neighbours + self.bias


class DEMONet(NodeClassifier):
    r"""`DEMO-Net <https://arxiv.org/abs/1906.02319>`_ with its hash kernel: weights that know the degree.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the hidden layers.
        num_classes: Classes.
        num_layers: Hidden layers, each with elu.
        hash_dimension: Places of the hash functions.
        dropout: Dropout on the terms of each layer, in training.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        num_layers: int = 2,
        hash_dimension: int = 256,
        dropout: float = 0.5,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes,
            num_layers=num_layers, hash_dimension=hash_dimension, dropout=dropout,
        )  # fmt: skip
        check_counts(hash_dimension=hash_dimension)
        self.hash_dimension = hash_dimension
        widths = [in_channels, *[hidden_channels] * num_layers, num_classes]
        self.convs = nn.ModuleList(
            DegreeConv(before, after, hash_dimension, dropout) for before, after in pairwise(widths)
        )

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        x = features_of(data, self.in_channels)
        mean, degree = neighbour_mean(data, x.dtype)
        scores: Tensor = self.convs[0](x, self._hashed_features(x, mean, degree))
        for layer, conv in enumerate(self.convs[1:], 1):
            states = F.elu(scores)
            hashed = hashed_rows(mean.matmul(states), degree, self.hash_dimension, layer)
            scores = conv(states, hashed)
        return scores

    def _hashed_features(self, x: Tensor, mean: SparseMatrix, degree: Tensor) -> Tensor:
        """The hashed neighbours of the first layer: nothing in them is learnt, so made once."""

        def make() -> Tensor:
            with torch.no_grad():
                if x.layout == torch.strided:
                    return hashed_rows(mean.matmul(x), degree, self.hash_dimension, 0)
                features = SparseMatrix.from_torch(x)
                return hashed_means(features, mean, degree, self.hash_dimension, 0)

        return _hashed_features.get((x, mean.value), make, self.hash_dimension)
