"""The solvers of torchdeq, given our fast map: the whole graph is one problem."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from torch import Tensor

from ..equilibrium import EquilibriumMap

NAMES = ("fixed_point_iter", "anderson", "broyden")
_MAX_ITER = 300
#: torchdeq's own default; its Broyden allocates two whole states for each.
_BROYDEN_ITER = 50
_BROYDEN_BYTES = 8 * 2**30


def available() -> bool:
    """Whether torchdeq is installed."""
    return find_spec("torchdeq") is not None


def run(
    f: EquilibriumMap,
    name: str,
    tol: float,
    max_evals: int | None = None,
    observe: Callable[[int, Tensor], None] | None = None,
) -> tuple[Tensor, int]:
    """Solve with torchdeq's solver called ``name``, with its defaults.

    Args:
        f: The map.
        name: One of ``NAMES``.
        tol: Relative residual to reach.
        max_evals: Instead of stopping at the tolerance, spend this many evaluations of f.
        observe: Called with the number and the value of each evaluation.

    Returns:
        The states, ``n x d``, and the evaluations of f they took.
    """
    from torchdeq.solver import get_solver

    shape = f.bias.shape
    evals = 0

    def evaluate(flat: Tensor) -> Tensor:
        nonlocal evals
        evals += 1
        value = f.evaluate(flat.view(shape)).value
        if observe is not None:
            observe(evals, value)
        return value.view(1, -1)

    # Its Broyden evaluates once before it counts.
    extra = 1 if name == "broyden" else 0
    limit = _MAX_ITER if max_evals is None else max_evals - extra
    options: dict[str, Any] = {"max_iter": limit}
    if name == "broyden":
        fits = _BROYDEN_BYTES // (2 * f.bias.numel() * f.bias.element_size())
        options["max_iter"] = min(limit, _BROYDEN_ITER, max(2, fits))
    solver = get_solver(name)
    goal = tol if max_evals is None else 0.0
    value, _, _ = solver(evaluate, f.start().view(1, -1), tol=goal, stop_mode="rel", **options)
    return value.view(shape), evals
