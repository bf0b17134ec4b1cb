"""Operator splitting for monotone equilibria: forward-backward and Peaceman-Rachford, as maps to iterate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .. import kernels
from ..adjacency import Adjacency
from ..equilibrium import Contraction, Evaluation
from ..errors import InputError
from ..solving import Solver, solve

SPLITTINGS = ("forward-backward", "peaceman-rachford")


@dataclass(frozen=True)
class SplittingMap:
    r"""The map whose iteration splits :math:`Z = \text{prox}(A Z W + b)` into monotone parts.

    Forward-backward iterates on Z: :math:`\text{prox}((1 - \alpha) Z + \alpha (A Z W + b))`.
    Peaceman-Rachford iterates on U with :math:`Z = \text{prox}(U)`: with R the resolvent
    :math:`(I + \alpha (I - A \cdot W))^{-1}` it takes
    :math:`V = 2 Z - U` to :math:`2 R(V + \alpha b) - V`. R is a Neumann series of ``terms`` products.

    Attributes:
        adjacency: A, ``n x n``.
        weight: W, ``d x d``.
        bias: b, ``n x d``.
        active: The 0-1 mask of the active entries, ``n x d``, whose product is prox in the backward pass;
            ``None`` in the forward pass, where prox is relu.
        alpha: The step.
        terms: Products of the Neumann series; 0 chooses forward-backward.
    """

    adjacency: Adjacency
    weight: Tensor
    bias: Tensor
    active: Tensor | None
    alpha: float
    terms: int = 0

    @property
    def contraction(self) -> Contraction:
        """Nothing is known node by node."""
        return Contraction(math.inf)

    def start(self) -> Tensor:
        """A point that needs no pass over the edges."""
        return self.prox(self.alpha * self.bias)

    def prox(self, z: Tensor) -> Tensor:
        """relu, or the mask."""
        return torch.relu(z) if self.active is None else self.active * z

    def product(self, z: Tensor) -> Tensor:
        """``A z W``, the unit of work."""
        return self.adjacency.matmul(z @ self.weight)

    def resolvent(self, right: Tensor) -> Tensor:
        r"""Solve :math:`(1 + \alpha) Z - \alpha A Z W = \text{right}` by its Neumann series."""
        share = self.alpha / (1 + self.alpha)
        term = right / (1 + self.alpha)
        total = term.clone()
        for _ in range(self.terms):
            term = share * self.product(term)
            total += term
        return total

    def apply(self, z: Tensor) -> Tensor:
        """One step from ``z``."""
        if self.terms == 0:
            return self.prox((1 - self.alpha) * z + self.alpha * (self.product(z) + self.bias))
        reflected = 2 * self.prox(z) - z
        return 2 * self.resolvent(reflected + self.alpha * self.bias) - reflected

    def evaluate(self, z: Tensor, out: Tensor | None = None) -> Evaluation:
        """One step from ``z``, and the squared row norms of what it changed and of where it led."""
        if self.terms == 0 and self.alpha == 1:
            # A full forward-backward step is what the fused kernel evaluates.
            activation = "relu" if self.active is None else None
            matrix, projected = self.adjacency.matrix, z @ self.weight
            return Evaluation(
                *kernels.evaluate(matrix, projected, self.bias, z, activation, self.active, out)
            )
        value = self.apply(z)
        if out is not None:
            value = out.copy_(value)
        return Evaluation(value, (value - z).square().sum(-1), value.square().sum(-1))


@dataclass
class Splitting:
    """How to solve a monotone equilibrium and its gradient, and what that took.

    Attributes:
        method: ``"forward-backward"`` or ``"peaceman-rachford"``.
        norm: The spectral norm of W.
        monotone: How strongly ``I - A . W`` is monotone, above 0.
        tol: Tolerance on the relative change of a step; a tenth of it backward.
        max_evals: Limit of steps of each solve.
        solver: How steps follow each other; one after the other by default.
        products: Products ``A z W`` in the last forward and backward solve.
    """

    method: str
    norm: float
    monotone: float
    tol: float = 1e-3
    max_evals: int = 300
    solver: Solver | None = None
    products: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if self.method not in SPLITTINGS:
            raise InputError(
                f"unknown splitting {self.method!r}: choose one of {', '.join(SPLITTINGS)}"
            )

    @property
    def alpha(self) -> float:
        """A step for which the iteration is sure to converge."""
        lipschitz = 1 + self.norm
        if self.method == "peaceman-rachford":
            return 1 / lipschitz
        return 1.0 if self.norm < 1 else self.monotone / lipschitz**2

    def terms(self, tol: float) -> int:
        """Products that make the Neumann series ten times as accurate as ``tol``."""
        if self.method == "forward-backward":
            return 0
        ratio = max(self.alpha * self.norm / (1 + self.alpha), 1e-3)
        return max(1, math.ceil(math.log(tol / 10) / math.log(ratio)))

    def fixed_point(
        self,
        adjacency: Adjacency,
        weight: Tensor,
        bias: Tensor,
        active: Tensor | None,
        tol: float,
    ) -> tuple[Tensor, int]:
        """The Z that solves ``Z = prox(A Z W + b)``, and the products it took."""
        terms = self.terms(tol)
        step = SplittingMap(adjacency, weight, bias, active, self.alpha, terms)
        # A short step changes little even far from the end.
        wanted = tol * min(1.0, self.alpha)
        solution = solve(step, self.solver, tol=wanted, max_evals=self.max_evals)
        return step.prox(solution.value), solution.num_evals * max(1, terms)


class _MonotoneEquilibrium(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, weight: Tensor, bias: Tensor, adjacency: Adjacency, splitting: Splitting
    ) -> Tensor:
        z, products = splitting.fixed_point(adjacency, weight, bias, None, splitting.tol)
        splitting.products = (products, 0)
        ctx.adjacency, ctx.splitting = adjacency, splitting
        ctx.save_for_backward(weight, z)
        return z.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weight, z = ctx.saved_tensors
        splitting, transposed = ctx.splitting, ctx.adjacency.transpose
        active = (z > 0).to(z.dtype)
        u, products = splitting.fixed_point(
            transposed, weight.T, grad.contiguous(), active, splitting.tol / 10
        )
        splitting.products = (splitting.products[0], products)
        return z.T @ transposed.matmul(u), u, None, None


def monotone_equilibrium(
    weight: Tensor, bias: Tensor, adjacency: Adjacency, splitting: Splitting
) -> Tensor:
    r"""The fixed point of :math:`Z = \text{relu}(A Z W + b)`, with gradients by implicit differentiation.

    W need not make the map contract: it is enough that :math:`I - A \cdot W` is strongly monotone.

    Args:
        weight: W, ``d x d``.
        bias: b, ``n x d``.
        adjacency: A, ``n x n``.
        splitting: How to solve; ``products`` says afterwards what it took.
    """
    z: Tensor = _MonotoneEquilibrium.apply(weight, bias, adjacency, splitting)
    return z
