"""Write a solver of your own: damped iteration. The loop counts, checks and safeguards it."""

from dataclasses import dataclass

import torch
from torch import Tensor

import ignn_solver as ig


@dataclass(frozen=True)
class Damped:
    """Go only part of the way to f(z)."""

    share: float = 0.9
    safeguard: bool = False

    def initial(self, f) -> tuple[Tensor, int]:
        """Start where the map needs no pass over the edges; it costs no evaluation."""
        return f.start(), 0

    def init(self, f, z0: Tensor) -> None:
        """Nothing to remember."""

    def step(self, z: Tensor, fz: Tensor, state: None) -> tuple[Tensor, None]:
        """Between the point and its image."""
        return torch.lerp(z, fz, self.share), state


torch.manual_seed(0)
data = ig.datasets.load("blocks", nodes=1000)
model = ig.IGNN(data.num_features, 32, data.num_classes)
for solver in (Damped(), ig.Picard(), ig.Anderson()):
    solution = model.predict(data, solver=solver, tol=1e-4).solution
    print(f"{type(solver).__name__:9} {solution.num_evals} evaluations: {solution.status.value}")
