"""CGS: Park, Choo and Park, "Convergent graph solvers", ICLR 2022."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ...adjacency import Adjacency
from ...cache import TensorCache
from ...errors import InputError
from ...nn.base import GraphClassifier
from ...nn.explicit import MLP, neighbours
from ...sparse import SparseMatrix
from .common import SumReadout, check_batch
from .deq import Equilibrium, LinearMap

if TYPE_CHECKING:
    from torch_geometric.data import Batch

_patterns: TensorCache[SparseMatrix] = TensorCache()


def row_softmax(scores: Tensor, row: Tensor, num_rows: int) -> Tensor:
    """The softmax of the entries of each row: ``entries x heads`` scores to weights that sum to 1."""
    index = row.unsqueeze(-1).expand_as(scores)
    largest = scores.detach().new_full((num_rows, scores.shape[1]), -torch.inf)
    largest = largest.scatter_reduce(0, index, scores.detach(), "amax")
    weights = (scores - largest.index_select(0, row)).exp()
    total = weights.new_zeros(num_rows, scores.shape[1]).index_add(0, row, weights)
    return weights / total.index_select(0, row)


class GraphCGS(GraphClassifier):
    r"""A `convergent graph solver <https://arxiv.org/abs/2106.01680>`_.

    Each head m has a transition matrix :math:`A_m` whose rows are a softmax over neighbours of scores that a
    network gives to the two ends of an edge, and an input :math:`B_m`. The states are the fixed point of the
    linear map :math:`H_m = \gamma A_m H_m + B_m`, which contracts by :math:`\gamma` in the largest entry.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the states, over all heads.
        num_classes: Classes.
        heads: Heads; must divide the width.
        gamma: Contraction factor, strictly between 0 and 1.
        dropout: Dropout before the last layer, in training.
        tol: Tolerance on the relative residual; a tenth of it backward.
        max_evals: Limit of evaluations of each solve.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        heads: int = 4,
        gamma: float = 0.8,
        dropout: float = 0.5,
        tol: float = 1e-3,
        max_evals: int = 300,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes,
            heads=heads, gamma=gamma, dropout=dropout, tol=tol, max_evals=max_evals,
        )  # fmt: skip
        if not 0 < gamma < 1:
            raise InputError(f"gamma must lie strictly between 0 and 1, not {gamma}")
        if hidden_channels % heads:
            raise InputError(f"{heads} heads do not divide the width {hidden_channels}")
        self.heads, self.gamma = heads, gamma
        self.encoder = MLP(in_channels, hidden_channels, hidden_channels)
        self.source = nn.Linear(hidden_channels, hidden_channels)
        self.target = nn.Linear(hidden_channels, hidden_channels)
        self.score = nn.Linear(hidden_channels, heads)
        self.input = nn.Linear(hidden_channels, hidden_channels)
        self.norm = nn.BatchNorm1d(hidden_channels)
        self.readout = SumReadout(hidden_channels, num_classes, dropout)
        self.equilibrium = Equilibrium(tol, max_evals)

    def transition(self, x: Tensor, adjacent: SparseMatrix, edge_index: Tensor) -> SparseMatrix:
        """The transition matrices of all heads as one block-diagonal matrix, ``heads n x heads n``."""
        row, col = adjacent.row.long(), adjacent.col.long()
        pair = self.target(x).index_select(0, row) + self.source(x).index_select(0, col)
        weights = row_softmax(self.score(pair.relu()), row, x.shape[0])
        size, count = x.shape[0], self.heads

        def make() -> SparseMatrix:
            shift = torch.arange(count).repeat_interleave(row.numel()) * size
            ones = torch.ones(shift.numel(), dtype=x.dtype)
            places = (row.repeat(count) + shift, col.repeat(count) + shift)
            pattern = SparseMatrix.from_coo(*places, ones, (count * size, count * size))
            _ = pattern.transpose
            return pattern

        pattern = _patterns.get(edge_index, make, (size, count, x.dtype))
        return pattern.with_value(weights.T.flatten())

    def states(self, batch: Batch, graph: Tensor, num_graphs: int) -> Tensor:
        """The fixed point, ``n x hidden_channels``."""
        x = self.encoder(batch.x).relu()
        size, count = x.shape[0], self.heads
        matrix = self.transition(x, neighbours(batch.edge_index, size), batch.edge_index)
        # Heads are stacked below each other, so that one solve serves them all; each graph of each head
        # stops on its own.
        bias = self.input(x).view(size, count, -1).transpose(0, 1).reshape(count * size, -1)
        stacked = graph.repeat(count) + num_graphs * torch.arange(count).repeat_interleave(size)
        scaled = matrix.with_value(self.gamma * matrix.value)
        fixed = scaled.with_value(scaled.value.detach())
        sums = Adjacency(fixed, bias.new_zeros(0), stacked, count * num_graphs)
        f = LinearMap(sums, bias.detach(), fixed)

        def adjoint(_: Tensor) -> Callable[[Tensor], LinearMap]:
            return lambda grad: LinearMap(sums, grad, fixed.transpose)

        z = self.equilibrium(f, lambda h: scaled.matmul(h) + bias, adjoint)
        return z.view(count, size, -1).transpose(0, 1).reshape(size, -1)

    def forward(self, batch: Batch) -> Tensor:
        """The score of each class for each graph, ``num_graphs x num_classes``."""
        graph, num_graphs = check_batch(batch, self.in_channels)
        z = self.norm(self.states(batch, graph, num_graphs))
        scores: Tensor = self.readout(z, graph, num_graphs)
        return scores

    def evaluations(self) -> tuple[int, int]:
        """Evaluations in the last forward and backward solve."""
        return self.equilibrium.evals
