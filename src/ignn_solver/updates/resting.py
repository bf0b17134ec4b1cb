"""Let rows rest that have converged: sweep the whole graph while most rows matter, then the few that do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch

from ..equilibrium import EquilibriumMap, Evaluation
from ..solving import Solution, Solver, solve
from .local import LARGE, update

#: States whose squared size is less than this share of the largest on the way are taken to go to 0.
_SHRUNK = 0.01
_CALM = 0.25


@dataclass
class _FewMatter:
    """An observer that stops a solve when so few rows matter that they had better be evaluated alone.

    A row matters while its residual is above a quarter of its even share of the tolerance: a repair asks half of
    every row while others are far above theirs.
    """

    tol: float
    largest: float = 0.0
    reached: bool = False
    keeps_no_value = True

    def __call__(self, spent: int, best: Evaluation) -> bool:
        residual_sq, size = best.residual_sq, float(best.value_sq.sum())
        self.largest = max(self.largest, size)
        wanted = self.tol**2 * size
        # States that shrink towards 0 take their tolerance with them: no row has a share that it could keep.
        if float(residual_sq.sum()) <= wanted or size < _SHRUNK * self.largest:
            return False
        matter = residual_sq > _CALM**2 * wanted / len(residual_sq)
        self.reached = float(matter.double().mean()) <= LARGE
        return self.reached

    def turn(self, order: Any, f: EquilibriumMap) -> None:
        """In which order the rows come is all the same."""

    def turn_back(self) -> None:
        """See :meth:`turn`."""


def solve_resting(f: EquilibriumMap, solver: Solver, **options: Any) -> Solution:
    """Solve with ``solver`` until few rows matter, then repair these as after a change.

    Args:
        f: The map, on a single graph.
        solver: Who sweeps or iterates the whole.
        **options: Those of ``solve``, but for ``observer``.
    """
    few = _FewMatter(options["tol"])
    first = solve(f, solver, observer=few, **options)
    if not few.reached:
        return first
    kept = {name: options[name] for name in ("tol", "on_failure")}
    most = max(1, options["max_evals"] - first.num_evals)
    nobody = torch.empty(0, dtype=torch.long, device=f.bias.device)
    rest = update(first, f, nobody, in_place=True, max_evals=most, **kept)
    began = first.seconds[-1]
    return replace(
        rest,
        evals=first.evals + rest.evals,
        trace=torch.cat([first.trace, rest.trace]),
        seconds=first.seconds + [began + one for one in rest.seconds],
        rejected=first.rejected + rest.rejected,
        moved=None,
    )
