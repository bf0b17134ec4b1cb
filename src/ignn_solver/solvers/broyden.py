"""Broyden's method with limited memory."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..adjacency import Adjacency
from ..equilibrium import FixedPointMap
from ..errors import InputError


@dataclass
class LowRankInverse:
    r"""An estimate :math:`B = -I + \sum_i u_i v_i^\top` of the inverse Jacobian of ``g = f - id``."""

    adjacency: Adjacency
    left: list[Tensor]
    right: list[Tensor]
    point: Tensor | None = None
    residual: Tensor | None = None

    def dot(self, x: Tensor, y: Tensor) -> Tensor:
        """Inner product for each graph, ready to multiply rows."""
        dots = self.adjacency.sum_per_graph(torch.linalg.vecdot(x, y)).to(x.dtype)
        return self.adjacency.spread(dots).unsqueeze(-1)

    def apply(self, x: Tensor) -> Tensor:
        """``B x``."""
        return self._apply(x, self.left, self.right)

    def apply_transposed(self, x: Tensor) -> Tensor:
        r""":math:`B^\top x`."""
        return self._apply(x, self.right, self.left)

    def _apply(self, x: Tensor, outer: list[Tensor], inner: list[Tensor]) -> Tensor:
        result = -x
        for one, other in zip(outer, inner, strict=True):
            result.addcmul_(one, self.dot(other, x).expand_as(one))
        return result


@dataclass(frozen=True)
class Broyden:
    """Broyden's (good) method: a quasi-Newton step whose inverse Jacobian has limited rank.

    Attributes:
        memory: How many rank-one updates to keep; when they are full it starts afresh.
        safeguard: Let the loop replace steps that do not lower the residual enough.
    """

    memory: int = 12
    safeguard: bool = False

    def __post_init__(self) -> None:
        if self.memory < 1:
            raise InputError(f"Broyden's memory must be at least 1, not {self.memory}")

    def initial(self, f: FixedPointMap) -> tuple[Tensor, int]:
        """Start where the map can be evaluated without touching an edge."""
        return f.start(), 0

    def init(self, f: FixedPointMap, z0: Tensor) -> LowRankInverse:
        """The first inverse Jacobian is minus the identity: the first step is plain."""
        return LowRankInverse(f.adjacency, [], [])

    def step(self, z: Tensor, fz: Tensor, state: LowRankInverse) -> tuple[Tensor, LowRankInverse]:
        """Update the inverse Jacobian by the last step, then take a quasi-Newton step."""
        residual = fz - z
        if state.point is not None and state.residual is not None:
            if len(state.left) >= self.memory:
                state.left, state.right = [], []
            moved, changed = z - state.point, residual - state.residual
            predicted = state.apply(changed)
            right = state.apply_transposed(moved)
            scale = state.dot(right, changed)
            # A graph that did not move teaches nothing: leave its estimate alone.
            usable = scale.abs() > torch.finfo(z.dtype).tiny
            left = torch.where(
                usable, (moved - predicted) / torch.where(usable, scale, torch.ones_like(scale)), 0
            )
            state.left.append(left)
            state.right.append(right)
        # The loop reuses the memory of z.
        state.point, state.residual = z.clone(), residual
        return z - state.apply(residual), state
