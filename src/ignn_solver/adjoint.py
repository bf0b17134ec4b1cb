"""Gradients through a fixed point: by implicit differentiation, or by unrolling for checking."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .equilibrium import AdjointMap, EquilibriumMap
from .solving import Solution, Solver, solve
from .sparse import entry_dots


@dataclass
class BackwardSolve:
    """How to solve the backward fixed point, and what it reached.

    Attributes:
        solver: Its solver; plain iteration by default.
        tol: Its tolerance on the relative residual.
        max_evals: Its limit of evaluations.
        on_failure: ``"raise"``, ``"warn"`` or ``"return"``.
        start: Where to start, ``n x d``, for example the last epoch's solution.
        solution: Filled in by the backward pass.
    """

    solver: Solver | None = None
    tol: float = 1e-4
    max_evals: int = 1000
    on_failure: str = "warn"
    start: Tensor | None = None
    solution: Solution | None = field(default=None, repr=False)


def implicit(f: EquilibriumMap, z: Tensor, backward: BackwardSolve | None = None) -> Tensor:
    r"""Attach gradients to an equilibrium ``z`` of ``f``, found without them.

    With :math:`G` the loss gradient at z, the backward pass solves
    :math:`U = D \odot (A^\top U W^\top + G)` and gives :math:`\nabla_b = U`,
    :math:`\nabla_W = Z^\top A^\top U` and :math:`\nabla_{A_{ij}} = U_i \cdot (Z W)_j`. The cost in memory
    does not grow with the number of iterations.

    Args:
        f: The map; gradients flow to its weight, bias and edge weights.
        z: Its fixed point, ``n x d``.
        backward: How to solve the backward fixed point.

    Returns:
        ``z`` with gradients.
    """
    backward = BackwardSolve() if backward is None else backward
    value = f.adjacency.matrix.value
    result: Tensor = _Implicit.apply(f.weight, f.bias, value, z.detach(), f.detach(), backward)
    return result


class _Implicit(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        weight: Tensor,
        bias: Tensor,
        value: Tensor,
        z: Tensor,
        f: EquilibriumMap,
        backward: BackwardSolve,
    ) -> Tensor:
        ctx.f, ctx.backward_solve = f, backward
        ctx.save_for_backward(z)
        return z.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (z,) = ctx.saved_tensors
        f, options = ctx.f, ctx.backward_solve
        adjoint = AdjointMap(
            f.adjacency.transpose,
            f.weight.T,
            grad.contiguous(),
            f.derivative(z),
            f.contraction.dual,
        )
        solution = solve(
            adjoint,
            options.solver,
            options.start,
            tol=options.tol,
            max_evals=options.max_evals,
            on_failure=options.on_failure,
        )
        options.solution = solution
        u = solution.value
        need_weight, need_bias, need_value = ctx.needs_input_grad[:3]
        grad_weight = z.T @ f.adjacency.transpose.matmul(u) if need_weight else None
        grad_bias = u if need_bias else None
        grad_value = entry_dots(f.adjacency.matrix, u, z @ f.weight) if need_value else None
        return grad_weight, grad_bias, grad_value, None, None, None


def unrolled(f: EquilibriumMap, z0: Tensor, steps: int) -> Tensor:
    """Apply ``f`` ``steps`` times with gradients through every step: memory grows with ``steps``."""
    z = z0
    for _ in range(steps):
        z = f(z)
    return z
