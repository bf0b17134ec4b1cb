"""Training a model and its solver in turn (the paper's appendix B)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..solvers.following import Following
from ..solving import solve
from .following import fit_following

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..nn.classifiers import IGNN

#: How closely the equilibrium to learn from is solved: well below what the training asks for.
_TOLERANCE = 1e-4


class Alternating:
    """Gives a model in training a learned solver, and fits it anew as the weights move.

    The warm-up uses plain iteration. Then the solver is frozen for ``every`` epochs of the model
    (Algorithm 3), and fitted to the model's current weights between them (Algorithm 2), without labels. It
    steps the forward and the backward fixed point.

    Args:
        model: The model in training.
        data: Its graph.
        warm_up: Epochs of plain iteration first.
        every: Epochs between two fits; each waits twice as long as the last.
        steps: Corrections with numbers of their own.
    """

    def __init__(
        self, model: IGNN, data: Data, warm_up: int = 3, every: float = 4, steps: int = 6
    ) -> None:
        self.model, self.data, self.steps = model, data, steps
        self.next_fit, self.wait = warm_up, float(every)
        self.solver: Following | None = None
        self.seconds = 0.0

    def before(self, epoch: int) -> None:
        """Fit the solver if it is due before this epoch."""
        if epoch < self.next_fit:
            return
        started = time.perf_counter()
        self._use(self._fitted())
        self.next_fit, self.wait = epoch + round(self.wait), self.wait * 2
        self.seconds += time.perf_counter() - started

    @torch.no_grad()
    def _fitted(self) -> Following:
        """A solver for the map as training sees it, dropout included, from where its solves start."""
        model = self.model
        model.train()
        # The training draws the same dropout as it would without a solver.
        with torch.random.fork_rng(devices=[]):
            f = model.equilibrium_map(self.data).detach()
        warm = model.warm_start
        start = None if warm is None else warm.get("train_forward", f.bias.shape[0])
        start = f.start() if start is None else start
        solution = solve(f, self.solver, start, tol=_TOLERANCE).value
        return fit_following(f, start, solution, self.steps)

    def kept(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What ``restore`` needs to go on as if nothing had happened: tensors, and the rest."""
        rest = {"next_fit": self.next_fit, "wait": self.wait, "seconds": self.seconds}
        return {} if self.solver is None else self.solver.tensors(), rest

    def restore(self, tensors: dict[str, Tensor], rest: dict[str, Any]) -> None:
        """Take up what ``kept`` gave."""
        self.next_fit, self.wait, self.seconds = rest["next_fit"], rest["wait"], rest["seconds"]
        if tensors:
            self._use(Following(**tensors))

    def _use(self, solver: Following) -> None:
        self.solver = self.model.conv.solver = self.model.conv.backward_solver = solver
