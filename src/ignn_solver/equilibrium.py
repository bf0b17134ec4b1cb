"""Maps whose fixed points we solve for, and how strongly they contract."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from . import kernels
from .adjacency import Adjacency
from .errors import InputError
from .kernels import products
from .memory import POOL, Scratch

if TYPE_CHECKING:
    from .ordering import Order


#: Holds ``z @ W`` during one evaluation.
PROJECTED = Scratch()


@dataclass(frozen=True)
class Contraction:
    r"""How strongly a map contracts, node by node.

    :math:`\|f(Z)_i - f(Y)_i\| \le \text{factor} \sum_j A_{ij} \|Z_j - Y_j\|` for every node i, in the
    row norm ``norm``. As the spectral norm of A is at most 1, a factor below 1 makes the fixed point
    unique and plain iteration converge to it.

    Attributes:
        factor: The factor, or infinity where none is known.
        norm: The norm of a node's row in which it holds: ``"2"``, ``"inf"`` or ``"1"``.
    """

    factor: float
    norm: str = "2"

    @property
    def dual(self) -> Contraction:
        """How strongly the transposed map contracts: by the same factor, in the dual norm."""
        return Contraction(self.factor, {"2": "2", "inf": "1", "1": "inf"}[self.norm])


class Evaluation(NamedTuple):
    """One evaluation of a map at z, with what the loop needs to judge it.

    Attributes:
        value: ``f(z)``, ``n x d``.
        residual_sq: Squared norm of each row of ``f(z) - z``, ``n``.
        value_sq: Squared norm of each row of ``f(z)``, ``n``.
    """

    value: Tensor
    residual_sq: Tensor
    value_sq: Tensor


class FixedPointMap(Protocol):
    """What a solver may ask of a map: evaluate it, and sum over its graph."""

    @property
    def adjacency(self) -> Adjacency:
        """The graph; every sum over nodes goes through it."""

    @property
    def contraction(self) -> Contraction:
        """How strongly the map contracts."""

    @property
    def bias(self) -> Tensor:
        """The part that does not depend on z, ``n x d``: gives shape, type and device."""

    def start(self) -> Tensor:
        """A starting point that costs no pass over the edges, ``n x d``."""

    def evaluate(self, z: Tensor, out: Tensor | None = None) -> Evaluation:
        """Evaluate the map at ``z``."""


@runtime_checkable
class FeatureMap(FixedPointMap, Protocol):
    """A map that mixes the features by one matrix, as learned solvers need it."""

    @property
    def weight(self) -> Tensor:
        """What mixes the features, ``d x d``."""

    def mean_slope(self, z: Tensor) -> Tensor:
        """The mean derivative of the activation for each feature, ``d``."""

    @property
    def value_range(self) -> tuple[float, float]:
        """The least and the largest number that a state can hold."""


_RANGES = {
    "relu": (0.0, math.inf),
    "tanh": (-1.0, 1.0),
    "sigmoid": (0.0, 1.0),
}
_DERIVATIVES = {
    "relu": lambda y: (y > 0).to(y.dtype),
    "tanh": lambda y: 1 - y * y,
    "sigmoid": lambda y: y * (1 - y),
}


def check_activation(name: str) -> None:
    """Raise an ``InputError`` unless there is an activation called ``name``."""
    if name not in kernels.ACTIVATIONS:
        choices = ", ".join(kernels.ACTIVATIONS)
        raise InputError(f"unknown activation {name!r}: choose one of {choices}")


@dataclass(frozen=True)
class EquilibriumMap:
    r"""The map :math:`f(Z) = \sigma(A (Z W) + b)` of an implicit graph network.

    Attributes:
        adjacency: ``A``, ``n x n``.
        weight: ``W``, ``d x d``.
        bias: ``b``, ``n x d``: what the node features inject.
        contraction: How strongly the parametrization of ``W`` makes the map contract.
        activation: ``"relu"``, ``"tanh"`` or ``"sigmoid"``: all non-expansive.
        features: The node features ``b`` was made from, for learned initializers that read them.
    """

    adjacency: Adjacency
    weight: Tensor
    bias: Tensor
    contraction: Contraction
    activation: str = "relu"
    features: Tensor | None = None

    def __post_init__(self) -> None:
        check_activation(self.activation)
        width = self.weight.shape[0]
        if self.weight.shape != (width, width):
            raise InputError(f"W must be square, not {tuple(self.weight.shape)}")
        expected = (self.adjacency.num_nodes, width)
        if self.bias.shape != expected:
            raise InputError(f"b must have shape {expected}, not {tuple(self.bias.shape)}")

    def __call__(self, z: Tensor) -> Tensor:
        """``f(z)``, differentiable in ``z``, ``W``, ``b`` and the edge weights."""
        return getattr(torch, self.activation)(self.adjacency.matmul(z @ self.weight) + self.bias)

    def start(self) -> Tensor:
        """``f(0)``: it needs no pass over the edges."""
        result = POOL.like(self.bias).copy_(self.bias.detach())
        getattr(torch, f"{self.activation}_")(result)
        return result

    def evaluate(self, z: Tensor, out: Tensor | None = None) -> Evaluation:
        """``f(z)`` and the squared row norms of ``f(z) - z`` and ``f(z)``, without gradients."""
        with torch.no_grad():
            return _evaluated(self, z, self.activation, None, out)

    def derivative(self, value: Tensor) -> Tensor:
        r""":math:`\sigma'` at the point where :math:`\sigma` gave ``value``, entry by entry."""
        return _DERIVATIVES[self.activation](value)

    def mean_slope(self, z: Tensor) -> Tensor:
        """The mean slope of the activation for each feature, ``d``, at a value ``z`` of the map."""
        return self.derivative(z).mean(0)

    @property
    def value_range(self) -> tuple[float, float]:
        """What the activation can give: to clamp to it never leads away from the fixed point."""
        return _RANGES[self.activation]

    def reordered(self, order: Order) -> EquilibriumMap:
        """The same map with its nodes in another order; without the features it was made from."""
        bias = self.bias.detach()[order.nodes]
        weight = self.weight.detach()
        return EquilibriumMap(order.adjacency, weight, bias, self.contraction, self.activation)

    def restricted(self, adjacency: Adjacency, nodes: Tensor) -> EquilibriumMap:
        """The same map on some graphs of a batch, with their adjacency and nodes."""
        bias, weight = self.bias.detach()[nodes], self.weight.detach()
        return EquilibriumMap(adjacency, weight, bias, self.contraction, self.activation)

    def detach(self) -> EquilibriumMap:
        """The same map, cut off from every gradient."""
        return EquilibriumMap(
            self.adjacency,
            self.weight.detach(),
            self.bias.detach(),
            self.contraction,
            self.activation,
            self.features,
        )


@dataclass(frozen=True)
class AdjointMap:
    r"""The backward fixed point :math:`U = D \odot (A^T U W^T + G)` of implicit differentiation.

    ``G`` is the loss gradient at the equilibrium and ``D`` the derivative of the activation there.
    It contracts by the same factor as the forward map, in the dual norm.

    Attributes:
        adjacency: The transposed adjacency of the forward map.
        weight: The transposed weight of the forward map.
        bias: ``G``, ``n x d``.
        scale: ``D``, ``n x d``.
        contraction: How strongly it contracts.
    """

    adjacency: Adjacency
    weight: Tensor
    bias: Tensor
    scale: Tensor
    contraction: Contraction

    def reordered(self, order: Order) -> AdjointMap:
        """The same map with its nodes in another order."""
        bias, scale = self.bias[order.nodes], self.scale[order.nodes]
        return AdjointMap(order.adjacency, self.weight, bias, scale, self.contraction)

    def restricted(self, adjacency: Adjacency, nodes: Tensor) -> AdjointMap:
        """The same map on some graphs of a batch, with their adjacency and nodes."""
        bias, scale = self.bias[nodes], self.scale[nodes]
        return AdjointMap(adjacency, self.weight, bias, scale, self.contraction)

    def start(self) -> Tensor:
        """The map at zero."""
        return self.scale * self.bias

    def mean_slope(self, z: Tensor) -> Tensor:
        """The mean of ``D`` for each feature, ``d``; the map is linear, so ``z`` does not matter."""
        return self.scale.mean(0)

    @property
    def value_range(self) -> tuple[float, float]:
        """Every number."""
        return products.ANY

    def evaluate(self, z: Tensor, out: Tensor | None = None) -> Evaluation:
        """The map at ``z`` and the squared row norms of its residual and its value."""
        return _evaluated(self, z, None, self.scale, out)


def _evaluated(
    f: FeatureMap, z: Tensor, activation: str | None, scale: Tensor | None, out: Tensor | None
) -> Evaluation:
    """An evaluation with an activation, or with factors in its place."""
    matrix, blocks, weight = f.adjacency.matrix, f.adjacency.blocks, f.weight.detach()
    if blocks is not None:
        return Evaluation(
            *kernels.evaluate_blocks(matrix, blocks, weight, f.bias, z, activation, scale, out)
        )
    projected = products.product(z, products.prepare(weight), PROJECTED.like(z))
    return Evaluation(*kernels.evaluate(matrix, projected, f.bias, z, activation, scale, out))
