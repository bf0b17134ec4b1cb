"""Plain iteration."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ..equilibrium import FixedPointMap


@dataclass(frozen=True)
class Picard:
    """Plain iteration: the next iterate is f of this one.

    It converges for every contraction, by the contraction factor a step, and keeps no history.
    """

    safeguard = False

    def initial(self, f: FixedPointMap) -> tuple[Tensor, int]:
        """Start where the map can be evaluated without touching an edge."""
        return f.start(), 0

    def init(self, f: FixedPointMap, z0: Tensor) -> None:
        """No state is kept."""

    def restricted(self, state: None, f: FixedPointMap, nodes: Tensor, z: Tensor) -> None:
        """No state is kept."""

    def step(self, z: Tensor, fz: Tensor, state: None) -> tuple[Tensor, None]:
        """The next iterate is f of this one."""
        return fz, state
