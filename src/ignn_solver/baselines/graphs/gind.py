"""GIND: Chen et al., "Optimization-induced graph implicit nonlinear diffusion", ICML 2022."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ...cache import TensorCache
from ...nn.base import GraphClassifier
from ...nn.parametrize import Parametrization
from ...sparse import SparseMatrix
from .common import SumReadout, batch_adjacency, check_batch
from .deq import Equilibrium, FunctionMap

if TYPE_CHECKING:
    from torch_geometric.data import Batch

_incidences: TensorCache[SparseMatrix] = TensorCache()


def incidence(edge_index: Tensor, num_nodes: int) -> SparseMatrix:
    r"""The normalised incidence matrix G, ``edges x n``, one row for each undirected edge.

    The row of edge (i, j) has :math:`1/\sqrt{2 d_i}` at i and :math:`-1/\sqrt{2 d_j}` at j, so that
    :math:`G^\top G` is half the normalised Laplacian and the norm of G is at most 1.
    """

    def make() -> SparseMatrix:
        low, high = torch.minimum(*edge_index), torch.maximum(*edge_index)
        keys = torch.unique(low[low < high] * num_nodes + high[low < high])
        ends = torch.stack([keys // num_nodes, keys % num_nodes])
        degree = torch.bincount(ends.flatten(), minlength=num_nodes)
        scale = (2 * degree).clamp_min(1).float().rsqrt()
        rows = torch.arange(keys.numel()).repeat(2)
        value = torch.cat([scale[ends[0]], -scale[ends[1]]])
        return SparseMatrix.from_coo(rows, ends.flatten(), value, (keys.numel(), num_nodes))

    return _incidences.get(edge_index, make, num_nodes)


class SpectralBall(Parametrization):
    r"""Any matrix of spectral norm at most kappa: :math:`W = \kappa C / \max(1, \|C\|_2)`."""

    def forward(self) -> Tensor:
        """W, ``d x d``."""
        size = torch.linalg.matrix_norm(self.raw, 2)
        return self.kappa * self.raw / size.clamp_min(1.0)


class GraphGIND(GraphClassifier):
    r"""`Graph implicit nonlinear diffusion <https://arxiv.org/abs/2206.14418>`_.

    The equilibrium :math:`Z = -G^\top \tanh(G (Z + b) W) W^\top`, with G the normalised incidence matrix
    and b an embedding of the features, minimises a convex energy; the head reads :math:`b + Z`.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the node states.
        num_classes: Classes.
        kappa: Limit of the norm of W, strictly between 0 and 1; the map contracts by its square.
        layers: Equilibria, one after the other.
        dropout: Dropout before the last layer, in training.
        tol: Tolerance on the relative residual; a tenth of it backward.
        max_evals: Limit of evaluations of each solve.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        kappa: float = 0.95,
        layers: int = 3,
        dropout: float = 0.5,
        tol: float = 1e-3,
        max_evals: int = 300,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes,
            kappa=kappa, layers=layers, dropout=dropout, tol=tol, max_evals=max_evals,
        )  # fmt: skip
        widths = [in_channels] + [hidden_channels] * layers
        self.inputs = nn.ModuleList(nn.Linear(width, hidden_channels) for width in widths[:-1])
        self.weights = nn.ModuleList(SpectralBall(hidden_channels, kappa) for _ in range(layers))
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden_channels) for _ in range(layers))
        self.readout = SumReadout(hidden_channels, num_classes, dropout)
        self.equilibria = [Equilibrium(tol, max_evals) for _ in range(layers)]

    def diffuse(self, layer: int, bias: Tensor, batch: Batch) -> Tensor:
        """The states ``b + Z`` of one layer, ``n x hidden_channels``.

        They are what is solved for: Z itself is 0 on a graph whose nodes are all alike, where no residual
        is small beside it.
        """
        matrix = incidence(batch.edge_index, batch.num_nodes).to(bias.dtype)
        weight = self.weights[layer]()

        # The map is minus the gradient of a convex energy, so that its slopes lie between -kappa^2 and 0:
        # this step contracts by a third where plain iteration contracts by kappa^2.
        size = self.config["kappa"] ** 2
        step = 2 / (2 + size)

        def function(y: Tensor) -> Tensor:
            flux = torch.tanh(matrix.matmul(y @ weight))
            return (1 - step) * y + step * (bias - matrix.transpose.matmul(flux) @ weight.T)

        adjacency = batch_adjacency(batch, bias.dtype)

        def adjoint(y: Tensor) -> Callable[[Tensor], FunctionMap]:
            fixed = weight.detach()
            slope = 1 - torch.tanh(matrix.matmul(y @ fixed)).square()

            def product(u: Tensor) -> Tensor:
                flux = slope * matrix.matmul(u @ fixed)
                return (1 - step) * u - step * (matrix.transpose.matmul(flux) @ fixed.T)

            return lambda grad: FunctionMap(adjacency, grad, lambda u: product(u) + grad)

        f = FunctionMap(adjacency, bias.detach(), function)
        return self.equilibria[layer](f, function, adjoint)

    def forward(self, batch: Batch) -> Tensor:
        """The score of each class for each graph, ``num_graphs x num_classes``."""
        graph, num_graphs = check_batch(batch, self.in_channels)
        x = batch.x
        for layer, (embed, norm) in enumerate(zip(self.inputs, self.norms, strict=True)):
            x = norm(self.diffuse(layer, embed(x), batch)).relu()
        scores: Tensor = self.readout(x, graph, num_graphs)
        return scores

    def evaluations(self) -> tuple[int, int]:
        """Evaluations in the last forward and backward solves, over all layers."""
        forward, backward = zip(*(one.evals for one in self.equilibria), strict=True)
        return sum(forward), sum(backward)
