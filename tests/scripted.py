"""A map that counts, and a solver that does what a test tells it to."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ignn_solver.equilibrium import EquilibriumMap, Evaluation, FixedPointMap


class Counted:
    """A map that counts its evaluations and remembers where they were."""

    def __init__(self, f: EquilibriumMap) -> None:
        self.f, self.points = f, []
        self.adjacency, self.contraction, self.bias = f.adjacency, f.contraction, f.bias

    def start(self) -> Tensor:
        return self.f.start()

    def evaluate(self, z: Tensor, out: Tensor | None = None) -> Evaluation:
        self.points.append(z.clone())
        return self.f.evaluate(z, out)


@dataclass(frozen=True)
class Scripted:
    """A deliberately bad solver: it proposes what ``propose(z, fz)`` says, good or not."""

    propose: Any
    safeguard: bool = False
    cost: int = 0

    def initial(self, f: FixedPointMap) -> tuple[Tensor, int]:
        return f.start(), self.cost

    def init(self, f: FixedPointMap, z0: Tensor) -> None:
        return None

    def step(self, z: Tensor, fz: Tensor, state: None) -> tuple[Tensor, None]:
        return self.propose(z, fz), None
