"""IGNN as first published: Gu et al., "Implicit graph neural networks", NeurIPS 2020."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn
from torch.nn import functional as F

from ..nn.base import NodeClassifier
from ..nn.conv import IGNNConv
from .graph import features_of

if TYPE_CHECKING:
    from torch_geometric.data import Data


class IGNNOriginal(NodeClassifier):
    r"""The `implicit graph network <https://arxiv.org/abs/2009.06211>`_ of Gu et al., as its code has it.

    :math:`Z^\star = \text{relu}(\hat A Z^\star W + \hat A X \Omega)`, where every column of W is projected
    onto the absolute-sum ball of radius kappa (the infinity norm of the transposed W, which is what
    the paper writes) before each training step, and plain iteration from a cold start finds the fixed
    point. The head, linear and without bias, sees states scaled to length 1.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the node states.
        num_classes: Classes.
        kappa: Contraction factor, strictly between 0 and 1.
        dropout: Dropout before the head, in training.
        **options: Passed to :class:`IGNNConv`: ``tol``, ``max_evals``, ``activation``.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        kappa: float = 0.9,
        dropout: float = 0.5,
        **options: Any,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes, kappa=kappa, dropout=dropout, **options
        )
        self.dropout = dropout
        self.conv = IGNNConv(
            in_channels, hidden_channels, kappa,
            parametrization="projection", propagate_input=True, bias=False, **options,
        )  # fmt: skip
        self.head = nn.Linear(hidden_channels, num_classes, bias=False)

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        x = features_of(data, self.in_channels)
        states = F.normalize(self.conv(x, data.edge_index, data.edge_weight), dim=-1)
        scores: Tensor = self.head(F.dropout(states, self.dropout, self.training))
        return scores

    def evaluations(self) -> tuple[int, int]:
        """Evaluations of the equilibrium map in the last forward and backward solve."""
        forward, backward = self.conv.last_solution, self.conv.last_backward
        solved = None if backward is None else backward.solution
        return (
            0 if forward is None else forward.num_evals,
            0 if solved is None else solved.num_evals,
        )
