"""GCN for graphs: Kipf and Welling, "Semi-supervised classification with graph convolutional networks"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from ...adjacency import Adjacency
from ..graph import GraphConv
from .common import batch_adjacency
from .jumping import JumpingClassifier

if TYPE_CHECKING:
    from torch_geometric.data import Batch


class NormalizedConv(nn.Module):
    r"""A convolution, normalised over the batch: :math:`\text{relu}(\text{BN}(\hat A x \Theta))`.

    Args:
        in_channels: Width of the input.
        out_channels: Width of the output.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv = GraphConv(in_channels, out_channels)
        self.norm = nn.BatchNorm1d(out_channels)

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """From ``n x in_channels`` to ``n x out_channels``."""
        result: Tensor = self.norm(self.conv(x, adjacency)).relu()
        return result


class GraphGCN(JumpingClassifier):
    r"""`Graph convolutions <https://arxiv.org/abs/1609.02907>`_ with the readout of GIN's comparison.

    :math:`h_l = \text{relu}(\text{BN}(\hat A h_{l-1} \Theta_l))`, mean pooling: Xu et al. compare with GCN
    in this form, and their figures are the published ones. For the arguments see :class:`JumpingClassifier`.
    """

    layer = NormalizedConv
    mean = True

    def matrix(self, batch: Batch) -> Adjacency:
        """The normalised adjacency."""
        return batch_adjacency(batch, batch.x.dtype)
