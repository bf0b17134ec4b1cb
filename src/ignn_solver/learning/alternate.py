"""Training a model and its solver in turn (the paper's appendix B)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from torch import Tensor

from ..solvers.learned import Learned
from .fit import fit_solver

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..nn.classifiers import IGNN


class Alternating:
    """Gives a model in training a learned solver, and fits it anew as the weights move.

    The warm-up uses plain iteration. Then the solver is frozen for ``every`` epochs of the model
    (Algorithm 3), and fitted to the model's current weights between them (Algorithm 2). It steps the
    forward and the backward fixed point.

    Args:
        model: The model in training.
        data: Its graph.
        warm_up: Epochs of plain iteration first.
        every: Epochs between two fits; each waits half as long again as the last.
        steps: Steps with parameters of their own.
    """

    def __init__(
        self, model: IGNN, data: Data, warm_up: int = 5, every: int = 10, steps: int = 8
    ) -> None:
        self.model, self.data, self.steps = model, data, steps
        self.next_fit, self.wait = warm_up, float(every)
        self.solver: Learned | None = None
        self.seconds = 0.0

    def before(self, epoch: int) -> None:
        """Fit the solver if it is due before this epoch."""
        if epoch < self.next_fit:
            return
        started = time.perf_counter()
        fitted = fit_solver(self.model, self.data, steps=self.steps, rank=8)
        assert isinstance(fitted, Learned)
        self._use(fitted)
        self.next_fit, self.wait = epoch + round(self.wait), self.wait * 1.5
        self.seconds += time.perf_counter() - started

    def kept(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What ``restore`` needs to go on as if nothing had happened: tensors, and the rest."""
        solver = self.solver
        rest = {"next_fit": self.next_fit, "wait": self.wait, "seconds": self.seconds}
        return (
            {} if solver is None else solver.tensors(),
            rest | {"details": None if solver is None else solver.details},
        )

    def restore(self, tensors: dict[str, Tensor], rest: dict[str, Any]) -> None:
        """Take up what ``kept`` gave."""
        self.next_fit, self.wait, self.seconds = rest["next_fit"], rest["wait"], rest["seconds"]
        if rest["details"] is not None:
            self._use(Learned(**tensors, details=rest["details"]))

    def _use(self, solver: Learned) -> None:
        self.solver = self.model.conv.solver = self.model.conv.backward_solver = solver
