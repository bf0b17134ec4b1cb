"""GIN: Xu et al., "How powerful are graph neural networks?", ICLR 2019."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...nn.explicit import Hop, neighbours
from ...sparse import SparseMatrix
from .jumping import JumpingClassifier

if TYPE_CHECKING:
    from torch_geometric.data import Batch


class GraphGIN(JumpingClassifier):
    r"""The `graph isomorphism network <https://arxiv.org/abs/1810.00826>`_ GIN-0.

    :math:`h_l = \text{relu}(\text{BN}(\text{MLP}(h_{l-1} + \sum_{j} h_{l-1, j})))`; the scores add up
    linear scores of the summed states of every layer, the features included. For the arguments see
    :class:`JumpingClassifier`.
    """

    layer = Hop

    def matrix(self, batch: Batch) -> SparseMatrix:
        """The sum over neighbours."""
        return neighbours(batch.edge_index, batch.num_nodes)
