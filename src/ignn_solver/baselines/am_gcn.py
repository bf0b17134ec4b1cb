"""AM-GCN: Wang et al., "Adaptive multi-channel graph convolutional networks", KDD 2020."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..adjacency import Adjacency
from ..errors import InputError
from ..nn.base import NodeClassifier
from .graph import GraphConv, adjacency_of, check_counts, features_of
from .knn import neighbour_graph

if TYPE_CHECKING:
    from torch_geometric.data import Data

_ATTENTION_WIDTH = 16


def consistency(first: Tensor, second: Tensor) -> Tensor:
    r"""How far two embeddings disagree on which nodes are alike.

    The mean square of :math:`Z_1 Z_1^\top - Z_2 Z_2^\top` over all pairs of nodes, rows of Z being
    centred and of length 1; from the ``d x d`` products alone, never an ``n x n`` matrix.
    """
    one, two = (F.normalize(z - z.mean(0), dim=1) for z in (first, second))
    own = (one.T @ one).square().sum() + (two.T @ two).square().sum()
    return (own - 2 * (one.T @ two).square().sum()) / first.shape[0] ** 2


def disparity(first: Tensor, second: Tensor) -> Tensor:
    r"""The Hilbert-Schmidt independence criterion of two embeddings, with linear kernels.

    :math:`\text{tr}(R K_1 R K_2) = \|Z_1^\top R Z_2\|_F^2`, :math:`K = Z Z^\top`, R the centring; without
    the factor :math:`(n - 1)^{-2}`, as in the authors' code.
    """
    return ((first - first.mean(0)).T @ (second - second.mean(0))).square().sum()


class Branch(nn.Module):
    """Two graph convolutions with a relu between: one embedding of AM-GCN.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the first convolution and of the embedding.
        dropout: Dropout before the second convolution, in training.
    """

    def __init__(self, in_channels: int, hidden_channels: int, dropout: float) -> None:
        super().__init__()
        self.first = GraphConv(in_channels, hidden_channels)
        self.second = GraphConv(hidden_channels, hidden_channels, dropout)

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """From ``n x in_channels`` to ``n x hidden_channels``."""
        embedding: Tensor = self.second(F.relu(self.first(x, adjacency)), adjacency)
        return embedding


class AMGCN(NodeClassifier):
    r"""`Adaptive multi-channel GCN <https://arxiv.org/abs/2007.02265>`_: graph, feature graph and common part.

    One branch embeds the graph, one the graph of nearest neighbours in feature space, and a third, with
    shared weights, both; each node weighs the three embeddings by attention. Training adds
    ``consistency`` between the two common embeddings and ``disparity`` between each own embedding and its
    common one, through ``auxiliary_loss``.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the hidden layers and embeddings.
        num_classes: Classes.
        neighbours: Nearest neighbours of each node in the feature graph: 5 to 7.
        consistency_weight: Weight of the consistency in the loss.
        disparity_weight: Weight of the disparity in the loss.
        dropout: Dropout between the convolutions of a branch, in training.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        neighbours: int = 7,
        consistency_weight: float = 1e-3,
        disparity_weight: float = 5e-9,
        dropout: float = 0.5,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes,
            neighbours=neighbours, consistency_weight=consistency_weight,
            disparity_weight=disparity_weight, dropout=dropout,
        )  # fmt: skip
        check_counts(neighbours=neighbours)
        self.neighbours = neighbours
        self.consistency_weight = consistency_weight
        self.disparity_weight = disparity_weight
        self.graph = Branch(in_channels, hidden_channels, dropout)
        self.features = Branch(in_channels, hidden_channels, dropout)
        self.common = Branch(in_channels, hidden_channels, dropout)
        self.attention = nn.Sequential(
            nn.Linear(hidden_channels, _ATTENTION_WIDTH),
            nn.Tanh(),
            nn.Linear(_ATTENTION_WIDTH, 1, bias=False),
        )
        self.head = nn.Linear(hidden_channels, num_classes)
        self._embeddings: tuple[Tensor, ...] = ()

    def embed(self, data: Data) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The embeddings: graph, common on the graph, common on the feature graph, features."""
        x = features_of(data, self.in_channels)
        graph = adjacency_of(data, x.dtype)
        nearest = neighbour_graph(data.x, self.neighbours)
        return (
            self.graph(x, graph),
            self.common(x, graph),
            self.common(x, nearest),
            self.features(x, nearest),
        )

    def attend(self, stacked: Tensor) -> Tensor:
        """The mean of ``n x 3 x d`` embeddings, weighed by each node's attention, ``n x d``."""
        weights = self.attention(stacked).softmax(1)
        return (weights * stacked).sum(1)

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        own, common, common_features, features = self.embed(data)
        if self.training:
            self._embeddings = (own, common, common_features, features)
        stacked = torch.stack([own, features, (common + common_features) / 2], 1)
        scores: Tensor = self.head(self.attend(stacked))
        return scores

    def auxiliary_loss(self) -> Tensor:
        """What training adds to the loss of the last forward pass; it can be asked for once."""
        if not self._embeddings:
            raise InputError("call the model in training mode before asking for its auxiliary loss")
        own, common, common_features, features = self._embeddings
        # Let go of them: they hold the whole pass.
        self._embeddings = ()
        apart = (disparity(own, common) + disparity(features, common_features)) / 2
        agreement = consistency(common, common_features)
        return self.consistency_weight * agreement + self.disparity_weight * apart
