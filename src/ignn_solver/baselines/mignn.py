"""MIGNN: Baker et al., "Implicit graph neural networks: a monotone operator viewpoint", ICML 2023."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..adjacency import Adjacency
from ..errors import InputError
from ..nn.base import NodeClassifier
from ..nn.features import FeatureLinear
from ..nn.parametrize import Cayley, Symmetric
from .graph import adjacency_of, features_of
from .splitting import SPLITTINGS, Splitting, monotone_equilibrium

if TYPE_CHECKING:
    from torch_geometric.data import Data

_NEGATIVE_SHARE = 0.2


class SignedCayley(nn.Module):
    r"""MIGNN's orthogonal weight: :math:`W = \kappa\, \text{sigmoid}(\mu)\, (I - S)(I + S)^{-1} D`.

    S is skew, :math:`\mu` is learnt, and D holds fixed signs, a fifth of them -1: the Cayley map alone
    has no eigenvalue -1.

    Args:
        width: ``d``.
        kappa: Upper limit of the norm of W, strictly between 0 and 1.
    """

    def __init__(self, width: int, kappa: float) -> None:
        super().__init__()
        self.orthogonal = Cayley(width, kappa)
        self.mu = nn.Parameter(torch.ones(()))
        signs = torch.ones(width)
        signs[: int(_NEGATIVE_SHARE * width)] = -1
        self.register_buffer("signs", signs[torch.randperm(width)])

    def forward(self) -> Tensor:
        """W, ``d x d``."""
        return torch.sigmoid(self.mu) * self.orthogonal() * self.signs

    def bounds(self, weight: Tensor) -> tuple[float, float]:
        """The norm of W, and how strongly ``I - A . W`` is monotone."""
        norm = self.orthogonal.kappa * float(torch.sigmoid(self.mu.detach()))
        return norm, 1 - norm


class SkewMonotone(nn.Module):
    r"""A weight that is only monotone: :math:`W = K + F - F^\top`, K symmetric of norm at most kappa.

    The skew part is free. As A is symmetric with spectrum in [-1, 1], the symmetric part of
    :math:`A \cdot W` is that of :math:`A \cdot K`, so :math:`I - A \cdot W` is strongly monotone by
    1 - kappa however large F is, and plain iteration may diverge where splitting converges.

    Args:
        width: ``d``.
        kappa: Limit of the symmetric part, strictly between 0 and 1.
    """

    def __init__(self, width: int, kappa: float) -> None:
        super().__init__()
        self.symmetric = Symmetric(width, kappa)
        self.skew = nn.Parameter(torch.empty(width, width))
        nn.init.uniform_(self.skew, -(width**-0.5) / 2, width**-0.5 / 2)

    def forward(self) -> Tensor:
        """W, ``d x d``."""
        return self.symmetric() + self.skew - self.skew.T

    def bounds(self, weight: Tensor) -> tuple[float, float]:
        """The norm of W, and how strongly ``I - A . W`` is monotone."""
        norm = float(torch.linalg.matrix_norm(weight.detach(), 2))
        return norm, 1 - self.symmetric.kappa


WEIGHTS: dict[str, type[SignedCayley] | type[SkewMonotone]] = {
    "cayley": SignedCayley,
    "skew": SkewMonotone,
}


class MonotoneLayer(nn.Module):
    r"""The layer :math:`Z^\star = \text{relu}(\hat A Z^\star W + \hat A X)`, solved by operator splitting.

    Args:
        width: Width of the node states.
        kappa: Limit of the norm of W (``"cayley"``) or of its symmetric part (``"skew"``).
        parametrization: ``"cayley"`` or ``"skew"``.
        splitting: ``"forward-backward"`` or ``"peaceman-rachford"``.
        tol: Tolerance on the relative change of a step; a tenth of it backward.
        max_evals: Limit of steps of each solve.
    """

    def __init__(
        self,
        width: int,
        kappa: float = 0.9,
        parametrization: str = "cayley",
        splitting: str = "forward-backward",
        tol: float = 1e-3,
        max_evals: int = 300,
    ) -> None:
        super().__init__()
        if parametrization not in WEIGHTS:
            choices = ", ".join(WEIGHTS)
            raise InputError(
                f"unknown parametrization {parametrization!r}: choose one of {choices}"
            )
        if splitting not in SPLITTINGS:
            choices = ", ".join(SPLITTINGS)
            raise InputError(f"unknown splitting {splitting!r}: choose one of {choices}")
        self.splitting, self.tol, self.max_evals = splitting, tol, max_evals
        self.weight = WEIGHTS[parametrization](width, kappa)
        self._last: Splitting | None = None

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """The node states, ``n x width``, for an input of the same shape."""
        weight = self.weight()
        norm, monotone = self.weight.bounds(weight)
        self._last = Splitting(self.splitting, norm, monotone, self.tol, self.max_evals)
        return monotone_equilibrium(weight, adjacency.matmul(x), adjacency, self._last)

    @property
    def products(self) -> tuple[int, int]:
        """Products with the adjacency in the last forward and backward solve."""
        return (0, 0) if self._last is None else self._last.products


class MIGNN(NodeClassifier):
    r"""The `monotone implicit network <https://proceedings.mlr.press/v202/baker23a.html>`_.

    :math:`Z^\star = \text{relu}(\hat A Z^\star W + \hat A X \Omega)` with W orthogonal or only monotone,
    solved by operator splitting, and a linear head. For the orthogonal W, which contracts,
    forward-backward takes full steps and costs one product a step; Peaceman-Rachford reaches the same point
    in fewer steps of many products each.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the node states.
        num_classes: Classes.
        dropout: Dropout on the features and before the head, in training.
        **options: Passed to :class:`MonotoneLayer`: ``kappa``, ``parametrization``, ``splitting``, ``tol``,
            ``max_evals``.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        dropout: float = 0.5,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, hidden_channels, num_classes, dropout=dropout, **options)
        self.dropout = dropout
        self.layer = MonotoneLayer(hidden_channels, **options)
        self.input = FeatureLinear(in_channels, hidden_channels, dropout=dropout)
        self.head = nn.Linear(hidden_channels, num_classes)

    def equilibrium(self, data: Data) -> Tensor:
        """The node states, ``n x hidden_channels``."""
        x = features_of(data, self.in_channels)
        states: Tensor = self.layer(self.input(x), adjacency_of(data, x.dtype))
        return states

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        states = F.dropout(self.equilibrium(data), self.dropout, self.training)
        scores: Tensor = self.head(states)
        return scores

    def evaluations(self) -> tuple[int, int]:
        """Products with the adjacency in the last forward and backward solve."""
        return self.layer.products
