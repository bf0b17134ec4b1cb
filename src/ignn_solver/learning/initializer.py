"""Initializers: the first guess of the equilibrium (the paper's h_phi, and one that sees the graph)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..equilibrium import EquilibriumMap
from ..errors import InputError
from ..nn.features import FeatureLinear, rows_of


class Initializer(nn.Module):
    """Guesses the equilibrium of a map before any evaluation.

    Attributes:
        evaluations: What a guess costs: passes over the edges with the full width.
    """

    evaluations = 0

    def forward(self, f: EquilibriumMap) -> Tensor:
        """The guess, ``n x d``."""
        return f.start()


class ZeroInitializer(Initializer):
    """No guess: the image of zero, ``f(0)``, which needs no pass over the edges."""


class MlpInitializer(Initializer):
    r"""The paper's initializer: a narrow perceptron on each node's own input.

    The guess is :math:`\sigma(b + \text{wide}(\text{relu}(\text{narrow}(\cdot))))`: untrained it is ``f(0)``
    but for chance, and it lies where equilibria lie.

    Args:
        width: Width d of the node states.
        source: ``"b"``, what the features inject and is at hand anyway; ``"x"``, the features; or
            ``"bx"``, both.
        in_channels: Features of a node, for ``"x"`` and ``"bx"``.
        middle: Width of the narrow middle; by default half that of the states, at least 32.
    """

    def __init__(
        self,
        width: int,
        source: str = "b",
        in_channels: int | None = None,
        middle: int | None = None,
    ) -> None:
        super().__init__()
        if source not in ("b", "x", "bx"):
            raise InputError(f'the initializer reads "b", "x" or "bx", not {source!r}')
        if "x" in source and in_channels is None:
            raise InputError('an initializer on "x" needs in_channels')
        middle = max(32, width // 2) if middle is None else middle
        self.narrow = FeatureLinear(width, middle) if "b" in source else None
        self.narrow_x = FeatureLinear(in_channels or 0, middle) if "x" in source else None
        self.wide = nn.Linear(middle, width)

    def forward(self, f: EquilibriumMap, rows: Tensor | None = None) -> Tensor:
        """The guess, ``n x d``, or that of some rows."""
        bias = f.bias if rows is None else f.bias[rows]
        middle = torch.zeros(()) if self.narrow is None else self.narrow(bias)
        if self.narrow_x is not None:
            if f.features is None:
                raise InputError("this map does not carry the features that the initializer reads")
            features = f.features if rows is None else rows_of(f.features, rows)
            middle = middle + self.narrow_x(features)
        guess: Tensor = getattr(torch, f.activation)(bias + self.wide(torch.relu(middle)))
        return guess


class GraphInitializer(Initializer):
    r"""Learned explicit layers :math:`z \leftarrow \sigma(A (z W_l) + b M_l)`, starting from ``f(0)``.

    Each layer costs as much as an evaluation and is charged as one.

    Args:
        width: Width d of the node states.
        layers: How many layers.
    """

    def __init__(self, width: int, layers: int = 1) -> None:
        super().__init__()
        self.evaluations = layers
        self.mixing = nn.ParameterList([nn.Parameter(torch.eye(width)) for _ in range(layers)])
        self.injection = nn.ParameterList([nn.Parameter(torch.eye(width)) for _ in range(layers)])

    def forward(self, f: EquilibriumMap) -> Tensor:
        """The guess, ``n x d``; untrained, it is that many plain steps."""
        z = f.start()
        activation = getattr(torch, f.activation)
        for mixing, injection in zip(self.mixing, self.injection, strict=True):
            z = activation(f.adjacency.matmul(z @ (f.weight @ mixing)) + f.bias @ injection)
        return z


def initializer(name: str, width: int, in_channels: int | None = None) -> Initializer:
    """The initializer called ``none``, ``mlp``, ``mlp-x``, ``mlp-bx`` or ``graph`` (``graph2`` for two layers)."""
    if name == "none":
        return ZeroInitializer()
    if name == "mlp":
        return MlpInitializer(width)
    if name in ("mlp-x", "mlp-bx"):
        return MlpInitializer(width, name[4:], in_channels)
    if name in ("graph", "graph2"):
        return GraphInitializer(width, 2 if name == "graph2" else 1)
    raise InputError(
        f"unknown initializer {name!r}: choose none, mlp, mlp-x, mlp-bx, graph or graph2"
    )
