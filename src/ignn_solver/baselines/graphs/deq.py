"""Equilibria of maps of node states other than ours, with gradients by implicit differentiation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ... import kernels
from ...adjacency import Adjacency
from ...equilibrium import Contraction, Evaluation, FixedPointMap
from ...solving import solve
from ...sparse import SparseMatrix

Step = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class StateMap:
    """A map of node states of which no contraction factor is known, for :func:`ignn_solver.solve`.

    Attributes:
        adjacency: Which graph each row belongs to: each stops on its own.
        bias: A tensor of the shape, type and device of the states; the starting point.
    """

    adjacency: Adjacency
    bias: Tensor

    @property
    def contraction(self) -> Contraction:
        """Nothing is known node by node."""
        return Contraction(math.inf)

    def start(self) -> Tensor:
        """Where to start."""
        return self.bias


@dataclass(frozen=True)
class FunctionMap(StateMap):
    """A map given as a function.

    Attributes:
        function: From ``n x d`` to ``n x d``.
    """

    function: Step

    def evaluate(self, z: Tensor, out: Tensor | None = None) -> Evaluation:
        """The map at ``z`` and the squared row norms of its residual and its value."""
        value = self.function(z)
        if out is not None:
            value = out.copy_(value)
        return Evaluation(value, (value - z).square().sum(-1), value.square().sum(-1))


@dataclass(frozen=True)
class LinearMap(StateMap):
    """The map ``z -> M z + b``, b the bias, evaluated and measured in one pass over the entries of M.

    Attributes:
        matrix: M, sparse ``n x n``.
    """

    matrix: SparseMatrix

    @cached_property
    def _ones(self) -> Tensor:
        return torch.ones_like(self.bias)

    def evaluate(self, z: Tensor, out: Tensor | None = None) -> Evaluation:
        """The map at ``z`` and the squared row norms of its residual and its value."""
        return Evaluation(
            *kernels.evaluate(self.matrix, z, self.bias, z, scale=self._ones, out=out)
        )


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
        f: FixedPointMap,
        function: Callable[[Tensor], Tensor],
        adjoint: Callable[[Tensor], Callable[[Tensor], FixedPointMap]],
    ) -> Tensor:
        r"""The fixed point of a map, with gradients to everything the map was made from.

        With G the loss gradient and J the Jacobian at the fixed point, the backward pass solves
        :math:`U = J^\top U + G`.

        Args:
            f: The map, without gradients.
            function: The same map from ``n x d`` to ``n x d``, differentiable in what it was made from.
            adjoint: From the fixed point to what gives, for G, the map :math:`U \mapsto J^\top U + G`.
        """
        solution = solve(f, tol=self.tol, max_evals=self.max_evals)
        self.evals = (solution.num_evals, 0)
        if not torch.is_grad_enabled():
            return solution.value
        backward = adjoint(solution.value)

        def hook(grad: Tensor) -> Tensor:
            g = backward(grad.detach().contiguous())
            back = solve(g, tol=self.tol / 10, max_evals=self.max_evals)
            self.evals = (self.evals[0], back.num_evals)
            return back.value

        result = function(solution.value.detach())
        result.register_hook(hook)
        return result
