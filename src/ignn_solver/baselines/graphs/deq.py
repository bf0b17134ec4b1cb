"""Equilibria of maps of node states other than ours, with gradients by implicit differentiation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ...adjacency import Adjacency
from ...equilibrium import Contraction, Evaluation
from ...solving import solve

Step = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class FunctionMap:
    """A map given as a function, for :func:`ignn_solver.solve`.

    Attributes:
        function: From ``n x d`` to ``n x d``.
        adjacency: Which graph each row belongs to: each stops on its own.
        bias: A tensor of the shape, type and device of the states; the starting point.
    """

    function: Step
    adjacency: Adjacency
    bias: Tensor

    @property
    def contraction(self) -> Contraction:
        """Nothing is known node by node."""
        return Contraction(math.inf)

    def start(self) -> Tensor:
        """Where to start."""
        return self.bias

    def evaluate(self, z: Tensor, out: Tensor | None = None) -> Evaluation:
        """The map at ``z`` and the squared row norms of its residual and its value."""
        value = self.function(z)
        if out is not None:
            value = out.copy_(value)
        return Evaluation(value, (value - z).square().sum(-1), value.square().sum(-1))


@dataclass
class Equilibrium:
    """How to find an equilibrium, and what that took.

    Attributes:
        tol: Tolerance on the relative residual; a tenth of it backward.
        max_evals: Limit of evaluations of each solve.
        evals: Evaluations of the last forward and backward solve.
    """

    tol: float = 1e-3
    max_evals: int = 300
    evals: tuple[int, int] = (0, 0)

    def __call__(
        self,
        function: Step,
        adjoint: Callable[[Tensor], Step],
        adjacency: Adjacency,
        start: Tensor,
    ) -> Tensor:
        r"""The fixed point of ``function``, with gradients to everything it was made from.

        With G the loss gradient and J the Jacobian at the fixed point, the backward pass solves
        :math:`U = J^\top U + G`.

        Args:
            function: From ``n x d`` to ``n x d``, differentiable in what it was made from.
            adjoint: From the fixed point to the product with the transposed Jacobian there.
            adjacency: Which graph each row belongs to.
            start: Where to start, ``n x d``.
        """
        with torch.no_grad():
            f = FunctionMap(function, adjacency, start.detach())
            solution = solve(f, tol=self.tol, max_evals=self.max_evals)
        self.evals = (solution.num_evals, 0)
        if not torch.is_grad_enabled():
            return solution.value
        product = adjoint(solution.value)

        def hook(grad: Tensor) -> Tensor:
            g = FunctionMap(lambda u: product(u) + grad, adjacency, grad.detach())
            back = solve(g, tol=self.tol / 10, max_evals=self.max_evals)
            self.evals = (self.evals[0], back.num_evals)
            return back.value

        result = function(solution.value.detach())
        result.register_hook(hook)
        return result
