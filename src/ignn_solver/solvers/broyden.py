"""Broyden's method with limited memory."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..adjacency import Adjacency
from ..equilibrium import FixedPointMap
from ..errors import InputError
from .half import Half, Stored, add_scaled_, check_history, row_dots


@dataclass
class LowRankInverse:
    r"""An estimate :math:`B = -I + \sum_i u_i v_i^\top` of the inverse Jacobian of ``g = f - id``."""

    adjacency: Adjacency
    left: list[Stored]
    right: list[Stored]
    point: Tensor | None = None
    residual: Tensor | None = None

    def dot(self, x: Stored, y: Tensor) -> Tensor:
        """Inner product for each graph, ready to multiply rows."""
        dots = self.adjacency.sum_per_graph(row_dots(x, y)).to(y.dtype)
        return self.adjacency.spread(dots).unsqueeze(-1)

    def apply(self, x: Tensor) -> Tensor:
        """``B x``."""
        return self._apply(x, self.left, self.right)

    def apply_transposed(self, x: Tensor) -> Tensor:
        r""":math:`B^\top x`."""
        return self._apply(x, self.right, self.left)

    def _apply(self, x: Tensor, outer: list[Stored], inner: list[Stored]) -> Tensor:
        result = -x
        for one, other in zip(outer, inner, strict=True):
            add_scaled_(result, self.dot(other, x), one)
        return result


@dataclass(frozen=True)
class Broyden:
    """Broyden's (good) method: a quasi-Newton step whose inverse Jacobian has limited rank.

    Attributes:
        memory: How many rank-one updates to keep; when they are full it starts afresh.
        safeguard: Let the loop replace steps that do not lower the residual enough.
        history: Keep the updates in ``"full"`` precision, or in ``"half"``: about half the memory.
    """

    memory: int = 12
    safeguard: bool = False
    history: str = "full"

    def __post_init__(self) -> None:
        if self.memory < 1:
            raise InputError(f"Broyden's memory must be at least 1, not {self.memory}")
        check_history(self.history)

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
            self._learn(z - state.point, residual - state.residual, state)
        # The loop reuses the memory of z.
        state.point, state.residual = z.clone(), residual
        change = state.apply(residual)
        return torch.sub(z, change, out=change), state

    def _learn(self, moved: Tensor, changed: Tensor, state: LowRankInverse) -> None:
        """Update the inverse Jacobian: the last step moved z so, and that changed the residual so."""
        state.point = state.residual = None
        if len(state.left) >= self.memory:
            state.left, state.right = [], []
        predicted = state.apply(changed)
        # Rounded before it is used: the update then agrees with the last step however it was rounded.
        right = self._kept(state.apply_transposed(moved))
        scale = state.dot(right, changed)
        # A graph that did not move teaches nothing: leave its estimate alone.
        usable = scale.abs() > torch.finfo(scale.dtype).tiny
        left = moved.sub_(predicted).div_(torch.where(usable, scale, 1)).masked_fill_(~usable, 0)
        state.left.append(self._kept(left))
        state.right.append(right)

    def _kept(self, x: Tensor) -> Stored:
        return Half(x) if self.history == "half" else x
