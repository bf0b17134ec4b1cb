"""Which proposed steps to trust: a solver may be wrong, the solve still converges."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from .equilibrium import FixedPointMap


class Safeguard:
    """Replaces steps that do not lower the residual enough by plain steps, graph by graph.

    The residual is judged by its size, not relative to ``f(z)``: only the former is sure to fall along
    plain steps, and a huge point can have a small relative residual. A plain step is always trusted,
    so the solve never stands still, and it converges wherever plain iteration does.

    Args:
        f: The map.

    Attributes:
        bad: The graphs whose last point was rejected.
        rejected: How many points were rejected, per graph.
    """

    def __init__(self, f: FixedPointMap) -> None:
        self.adjacency = f.adjacency
        graphs = self.adjacency.num_graphs
        self.bad = np.zeros(graphs, dtype=bool)
        self.rejected = np.zeros(graphs, dtype=np.int64)
        self._plain = np.ones(graphs, dtype=bool)
        self._plain_steps = np.zeros(graphs, dtype=np.int64)
        self._least = np.full(graphs, np.inf)
        self._trusted: tuple[Tensor, Tensor] | None = None
        # A step must close part of the gap that plain iteration is sure to close.
        factor = f.contraction.factor
        self._enough_sq = ((1 + factor) / 2) ** 2 if factor < 1 else 1.0

    @property
    def trusted(self) -> tuple[Tensor, ...]:
        """The last trusted point and its image; empty before the first evaluation."""
        return self._trusted or ()

    @property
    def trusts(self) -> bool:
        """Whether the solver's next steps will be tried, for every graph."""
        return not self.bad.any() and not self._plain_steps.any()

    @property
    def enough(self) -> float:
        """How many times the lowest squared residual before it that of a proposed step may be."""
        return self._enough_sq

    def restricted(self, f: FixedPointMap, graphs: np.ndarray, nodes: Tensor) -> Safeguard:
        """What is known of some graphs of the batch, with their map, numbers and nodes."""
        part = Safeguard(f)
        for name in ("bad", "rejected", "_plain", "_plain_steps", "_least"):
            setattr(part, name, getattr(self, name)[graphs])
        if self._trusted is not None:
            z, fz = self._trusted
            part._trusted = z[nodes], fz[nodes]
        return part

    def judge(self, z: Tensor, fz: Tensor, residual_sq: np.ndarray, exempt: np.ndarray) -> None:
        """Compare the point with all that were trusted before it.

        Args:
            z: The point, ``n x d``.
            fz: Its image, ``n x d``.
            residual_sq: Squared norm of ``fz - z`` for each graph.
            exempt: The graphs that have stopped, or stop here.
        """
        enough = residual_sq <= self._enough_sq * self._least
        lower = residual_sq < self._least
        self.bad = ~(self._plain | enough | exempt)
        self.rejected += self.bad
        self._least = np.where(lower, residual_sq, self._least)
        moved = ~self.bad | lower
        if self._trusted is None or moved.all():
            self._trusted = z, fz
        elif moved.any():
            self._trusted = self._choose(moved, z, 0), self._choose(moved, fz, 1)

    def _choose(self, graphs: np.ndarray, rows: Tensor, which: int) -> Tensor:
        """``rows`` for these graphs, the trusted point (0) or image (1) for the others."""
        assert self._trusted is not None
        if graphs.size == 1:
            return rows if graphs.all() else self._trusted[which]
        chosen = self.adjacency.spread(torch.from_numpy(graphs).to(rows.device))
        return torch.where(chosen.unsqueeze(-1), rows, self._trusted[which])

    def repaired(self, z: Tensor, fz: Tensor) -> tuple[Tensor, Tensor]:
        """What the solver gets to see: a rejected point is replaced by the last trusted one."""
        if not self.bad.any():
            return z, fz
        return self._choose(~self.bad, z, 0), self._choose(~self.bad, fz, 1)

    def guarded(self, proposed: Tensor) -> Tensor:
        """The proposed point, or a plain step where the solver has lost its credit.

        After its c-th rejection a graph takes min(2^(c-1), 16) plain steps, so a solver that is
        always wrong costs little more than plain iteration.
        """
        penalty = 2 ** np.clip(self.rejected - 1, 0, 4)
        self._plain_steps = np.where(self.bad, penalty, self._plain_steps)
        self._plain = self._plain_steps > 0
        self._plain_steps = np.maximum(self._plain_steps - 1, 0)
        if not self._plain.any():
            return proposed
        return self._choose(~self._plain, proposed, 1)
