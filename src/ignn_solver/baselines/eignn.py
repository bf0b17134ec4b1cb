"""EIGNN: Liu et al., "EIGNN: efficient infinite-depth graph neural networks", NeurIPS 2021."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from ..adjacency import Adjacency
from ..cache import TensorCache
from ..equilibrium import AdjointMap, Contraction
from ..errors import InputError
from ..nn.base import NodeClassifier
from ..nn.features import FeatureLinear
from ..solving import solve
from .graph import adjacency_of, features_of

if TYPE_CHECKING:
    from torch_geometric.data import Data

_spectra: TensorCache[tuple[Tensor, Tensor]] = TensorCache()
_TINY = 1e-12

LinearSolve = Callable[[Tensor], Tensor]


def spectrum(adjacency: Adjacency) -> tuple[Tensor, Tensor]:
    """Eigenvalues ``n`` and eigenvectors ``n x n`` of a symmetric adjacency; made once."""

    def make() -> tuple[Tensor, Tensor]:
        matrix = adjacency.matrix
        dense = matrix.value.new_zeros(matrix.shape)
        dense[matrix.row.long(), matrix.col.long()] = matrix.value
        values, vectors = torch.linalg.eigh(dense.double())
        return values.to(dense.dtype), vectors.to(dense.dtype)

    return _spectra.get(adjacency.matrix.value, make)


def solve_exactly(adjacency: Adjacency, weight: Tensor, injected: Tensor) -> Tensor:
    r"""Solve :math:`Z = S Z W + B` for symmetric S and W by their eigendecompositions.

    With :math:`S = Q_S \Lambda_S Q_S^\top` and :math:`W = Q_W \Lambda_W Q_W^\top`, the entries of
    :math:`Q_S^\top B Q_W` are divided by :math:`1 - \lambda_i(S) \lambda_j(W)`.

    Args:
        adjacency: S, ``n x n``; costs n^3 time and n^2 memory once.
        weight: W, ``d x d``.
        injected: B, ``n x d``.
    """
    graph_values, graph_vectors = spectrum(adjacency)
    values, vectors = torch.linalg.eigh(weight)
    rotated = graph_vectors.T @ injected @ vectors
    scaled = rotated / (1 - torch.outer(graph_values, values))
    return graph_vectors @ scaled @ vectors.T


class _SymmetricEquilibrium(torch.autograd.Function):
    """``Z = S Z W + B`` for symmetric S and W: the backward pass is the same linear problem."""

    @staticmethod
    def forward(
        ctx: Any,
        weight: Tensor,
        injected: Tensor,
        adjacency: Adjacency,
        solve_forward: LinearSolve,
        solve_backward: LinearSolve,
    ) -> Tensor:
        z = solve_forward(injected)
        ctx.adjacency, ctx.solve_backward = adjacency, solve_backward
        ctx.save_for_backward(z)
        return z.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (z,) = ctx.saved_tensors
        u = ctx.solve_backward(grad.contiguous())
        return z.T @ ctx.adjacency.matmul(u), u, None, None, None


class EIGNN(NodeClassifier):
    r"""The `infinitely deep linear network <https://arxiv.org/abs/2202.10720>`_.

    :math:`Z^\star = \gamma \hat A Z^\star g(F) + X \Omega` with
    :math:`g(F) = F^\top F / (\|F^\top F\|_F + \epsilon)`, and a linear head on :math:`Z^\star`. The equation
    is linear: small graphs are solved exactly by the eigendecomposition of the adjacency, large ones by
    iteration. EIGNN's own code puts X itself in the place of :math:`X \Omega`; here, as in the paper's
    comparison, every model has the same hidden width.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the node states.
        num_classes: Classes.
        gamma: Contraction factor, strictly between 0 and 1.
        exact_up_to: Graphs with at most this many nodes are solved exactly.
        dropout: Dropout on the features and before the head, in training.
        tol: Tolerance of the iteration on the relative residual; a tenth of it backward.
        max_evals: Limit of evaluations of each solve.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        gamma: float = 0.8,
        exact_up_to: int = 2000,
        dropout: float = 0.5,
        tol: float = 1e-3,
        max_evals: int = 300,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes, gamma=gamma, exact_up_to=exact_up_to,
            dropout=dropout, tol=tol, max_evals=max_evals,
        )  # fmt: skip
        if not 0 < gamma < 1:
            raise InputError(
                f"gamma must lie strictly between 0 and 1, not {gamma}: the equilibrium is only "
                "guaranteed to exist for a contraction"
            )
        self.gamma, self.exact_up_to, self.dropout = gamma, exact_up_to, dropout
        self.tol, self.max_evals = tol, max_evals
        self.input = FeatureLinear(in_channels, hidden_channels, dropout=dropout)
        self.factor = nn.Parameter(torch.empty(hidden_channels, hidden_channels))
        self.head = nn.Linear(hidden_channels, num_classes)
        nn.init.xavier_uniform_(self.factor)
        self._evaluations = [0, 0]

    def weight(self) -> Tensor:
        r""":math:`\gamma g(F)`: symmetric, positive, of norm at most gamma, ``d x d``."""
        square = self.factor.T @ self.factor
        return self.gamma * square / (torch.linalg.matrix_norm(square) + _TINY)

    def equilibrium(self, data: Data) -> Tensor:
        """The node states, ``n x hidden_channels``."""
        x = features_of(data, self.in_channels)
        adjacency = adjacency_of(data, x.dtype)
        weight, injected = self.weight(), self.input(x)
        self._evaluations = [0, 0]
        way = (adjacency, weight.detach())
        states: Tensor = _SymmetricEquilibrium.apply(
            weight, injected, adjacency, self._solver(*way, 0), self._solver(*way, 1)
        )
        return states

    def _solver(self, adjacency: Adjacency, weight: Tensor, backward: int) -> LinearSolve:
        def exactly(right: Tensor) -> Tensor:
            return solve_exactly(adjacency, weight, right)

        def by_iteration(right: Tensor) -> Tensor:
            # The adjoint map with unit scale is the linear map of the forward pass too.
            linear = AdjointMap(
                adjacency, weight, right, torch.ones_like(right), Contraction(self.gamma)
            )
            tol = self.tol / 10 if backward else self.tol
            solution = solve(linear, tol=tol, max_evals=self.max_evals)
            self._evaluations[backward] = solution.num_evals
            return solution.value

        return exactly if adjacency.num_nodes <= self.exact_up_to else by_iteration

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        states = F.dropout(self.equilibrium(data), self.dropout, self.training)
        scores: Tensor = self.head(states)
        return scores

    def evaluations(self) -> tuple[int, int]:
        """Evaluations in the last forward and backward solve; 0 where it was exact."""
        forward, backward = self._evaluations
        return forward, backward
