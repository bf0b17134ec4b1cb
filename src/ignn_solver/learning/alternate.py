"""Training a model and its solver in turn (the paper's appendix B)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .fit import LearnedSolver, fit_solver

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
        self.solver: LearnedSolver | None = None
        self.seconds = 0.0

    def before(self, epoch: int) -> None:
        """Fit the solver if it is due before this epoch."""
        if epoch < self.next_fit:
            return
        started = time.perf_counter()
        self.solver = fit_solver(self.model, self.data, steps=self.steps, rank=8)
        self.model.conv.solver = self.model.conv.backward_solver = self.solver
        self.next_fit = epoch + round(self.wait)
        self.wait *= 1.5
        self.seconds += time.perf_counter() - started
