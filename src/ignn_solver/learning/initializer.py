"""Initializers: the first guess of the equilibrium (the paper's h_phi, and one that sees the graph)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..equilibrium import EquilibriumMap
from ..errors import InputError
from ..nn.features import FeatureLinear


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
    """The paper's initializer: a narrow perceptron on each node's own input.

    Args:
        width: Width d of the node states.
        source: ``"b"``, what the features inject and is at hand anyway, or ``"x"``, the features.
        in_channels: Features of a node, for ``"x"``.
        middle: Width of the narrow middle.
    """

    def __init__(
        self, width: int, source: str = "b", in_channels: int | None = None, middle: int = 32
    ) -> None:
        super().__init__()
        if source not in ("b", "x"):
            raise InputError(f'the initializer reads "b" or "x", not {source!r}')
        self.source = source
        size = width if source == "b" else in_channels
        if size is None:
            raise InputError('an initializer on "x" needs in_channels')
        self.narrow = FeatureLinear(size, middle)
        self.wide = nn.Linear(middle, width)

    def forward(self, f: EquilibriumMap) -> Tensor:
        """The guess, ``n x d``: a correction to ``f(0)``, so that an untrained one does no harm."""
        source = f.bias if self.source == "b" else f.features
        if source is None:
            raise InputError("this map does not carry the features that the initializer reads")
        return f.start() + self.wide(torch.relu(self.narrow(source)))


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
    """The initializer called ``none``, ``mlp``, ``mlp-x`` or ``graph`` (``graph2`` for two layers)."""
    if name == "none":
        return ZeroInitializer()
    if name == "mlp":
        return MlpInitializer(width)
    if name == "mlp-x":
        return MlpInitializer(width, "x", in_channels)
    if name in ("graph", "graph2"):
        return GraphInitializer(width, 2 if name == "graph2" else 1)
    raise InputError(f"unknown initializer {name!r}: choose none, mlp, mlp-x, graph or graph2")
