"""Bookkeeping of a solve: the best iterate of each graph, and when each stops."""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import Tensor

from .equilibrium import AdjointMap, EquilibriumMap, Evaluation, FixedPointMap
from .kernels.rows import put_graphs
from .memory import POOL, empty
from .rough import Base, Landing, base_at
from .safeguard import Safeguard
from .sweeping import SweepMap

#: Squared size, relative to the first value, below which an iterate counts as zero.
SIZE_FLOOR = 1e-12
#: Graphs that stopped are left behind once no more than this share of the nodes still matters, where the states
#: hold so many numbers that making a smaller batch costs less than it saves.
_FEW, _LARGE = 0.6, 2**20


class Loop:
    """Evaluates, counts, keeps what is best, and knows which graphs are done.

    What is known of each graph is a number or a truth value, kept in numpy: a tensor operation costs
    several times as much, and on a small graph as much as a part of an evaluation.

    Args:
        f: The map.
        tol: Relative residual at which a graph is done.
        guard: Watches the proposed steps, or ``None``.
        sweeps: The map to step with instead of f, or ``None``. Then f itself is evaluated for the graphs for
            which that is expected to be the last evaluation; a graph is done only by a residual of f.
        leaps: Whether the solver leaps from points that are evaluated (:mod:`ignn_solver.rough`).
        kept: Whether somebody may keep the values on the way, or views of them.

    Attributes:
        residuals: Lowest relative residual of each graph so far.
        evals: Evaluations until each graph stopped.
        active: The graphs that are not done.
        finite: The graphs without a non-finite value.
        base: What to leap from, or ``None``.
        trace: Relative residuals at every evaluation.
        seconds: Time since the start at every evaluation.
    """

    def __init__(
        self,
        f: FixedPointMap,
        tol: float,
        guard: Safeguard | None,
        sweeps: SweepMap | None = None,
        leaps: bool = False,
        kept: bool = False,
    ) -> None:
        self.f, self.tol, self.guard, self.sweeps, self.leaps = f, tol, guard, sweeps, leaps
        self.adjacency = f.adjacency
        graphs = self.adjacency.num_graphs
        self.residuals = np.full(graphs, np.inf)
        self.evals = np.zeros(graphs, dtype=np.int64)
        self.active = np.ones(graphs, dtype=bool)
        self.finite = self.active.copy()
        self.trace: list[np.ndarray] = []
        self.seconds: list[float] = []
        self._started = time.perf_counter()
        self._kept: Evaluation | None = None
        self._kept_of_f = np.zeros(graphs, dtype=bool)
        self._own = False
        self._floor: np.ndarray | None = None
        self.kept = kept
        self._buffers: list[Tensor] = []
        self.base: Base | None = None
        self._arrives = False

    @property
    def done(self) -> bool:
        """Whether every graph has stopped."""
        return not self.active.any()

    @property
    def best(self) -> Evaluation:
        """What the solve would return now."""
        assert self._kept is not None
        return self._kept

    def evaluate(self, z: Tensor, spent: int, last: bool) -> Tensor:
        """Evaluate at ``z``, keep what is best, and stop the graphs that are done.

        Args:
            z: The point.
            spent: Evaluations spent, this one included.
            last: Whether no other will follow.

        Returns:
            The image of z.
        """
        of_f = self._ending(last)
        evaluation = self._evaluated(z, of_f, last)
        total = self._per_graph(evaluation.residual_sq)
        size = self._per_graph(evaluation.value_sq)
        if self._floor is None:
            self._floor = SIZE_FLOOR * size
        finite = np.isfinite(total) & np.isfinite(size)
        # Zero over zero is the fixed point 0, reached exactly; near it the first value sets the scale.
        with np.errstate(all="ignore"):
            relative = np.sqrt(total / np.maximum(size, self._floor))
        relative = np.where(finite, np.where(total == 0, 0.0, relative), np.inf)
        self.trace.append(relative)
        self.seconds.append(time.perf_counter() - self._started)
        reached = (relative <= self.tol) & of_f
        lower = self._improves(evaluation, relative, of_f)
        self.evals[self.active] = spent
        self.residuals = np.where(lower, relative, self.residuals)
        if self.guard is not None:
            self.guard.judge(z, evaluation.value, total, reached | ~self.active)
            finite = finite | self.guard.bad
        self.finite = np.where(self.active, finite, self.finite)
        self.active = self.active & ~reached & finite
        return evaluation.value

    @property
    def few(self) -> bool:
        """Whether so few nodes still matter that it pays to leave the graphs that stopped behind."""
        if self.adjacency.num_graphs == 1 or self.sweeps is not None:
            return False
        # Of a map that somebody else wrote we cannot make a smaller one.
        if self.f.bias.numel() < _LARGE or type(self.f) not in (EquilibriumMap, AdjointMap):
            return False
        nodes = self.adjacency.graph_sizes.cpu().numpy()[self.active].sum()
        return bool(nodes <= _FEW * self.adjacency.num_nodes)

    def restricted(self) -> tuple[Loop, Tensor]:
        """A loop for the graphs that have not stopped, which knows what this one knows, and their nodes."""
        assert isinstance(self.f, EquilibriumMap | AdjointMap)
        assert self._floor is not None
        adjacency, nodes = self.adjacency.of_graphs(self.tensor(self.active))
        f = self.f.restricted(adjacency, nodes)
        graphs = np.flatnonzero(self.active)
        guard = None if self.guard is None else self.guard.restricted(f, graphs, nodes)
        part = Loop(f, self.tol, guard)
        part._floor, part._started = self._floor[graphs], self._started
        return part, nodes

    def absorb(self, part: Loop, nodes: Tensor) -> None:
        """Take over what a restricted loop has found since."""
        graphs = np.flatnonzero(self.active)
        better = part.residuals < self.residuals[graphs]
        chosen = part.adjacency.spread(part.tensor(better)).expand(nodes.shape)
        for mine, found in zip(self.best, part.best, strict=True):
            mine.index_copy_(0, nodes[chosen], found[chosen])
        self.residuals[graphs] = np.where(better, part.residuals, self.residuals[graphs])
        self.evals[graphs], self.finite[graphs] = part.evals, part.finite
        if self.guard is not None and part.guard is not None:
            self.guard.rejected[graphs] = part.guard.rejected
        for relative in part.trace:
            whole = self.trace[-1].copy()
            whole[graphs] = relative
            self.trace.append(whole)
        self.seconds += part.seconds

    def accept_all(self) -> None:
        """Stop every graph as converged."""
        self.active = np.zeros_like(self.active)
        self.tol = np.inf

    def tensor(self, numbers: np.ndarray) -> Tensor:
        """Numbers of each graph as a tensor where the states are."""
        return torch.from_numpy(numbers).to(self.f.bias.device)

    def _evaluated(self, z: Tensor, of_f: np.ndarray, last: bool) -> Evaluation:
        """Evaluate f for the graphs in ``of_f``, and sweep the others; who stopped goes with the rest."""
        spare = self._spare(z)
        if self.sweeps is None:
            return self._plain(z, spare, last)
        wanted = of_f[self.active]
        if wanted.all():
            return self.sweeps.measure(z, spare)
        if not wanted.any():
            return self.sweeps.evaluate(z, spare)
        # Both are needed: what one graph gets must not depend on when its batch-mates end.
        return self._chosen(of_f, self.sweeps.measure(z), self.sweeps.evaluate(z, spare))

    def _plain(self, z: Tensor, spare: Tensor, last: bool) -> Evaluation:
        """Evaluate f, and keep what a leap needs if one may follow."""
        self.base, arrives, self._arrives = None, self._arrives, False
        if not self.leaps or last or arrives:
            return self.f.evaluate(z, spare)
        assert isinstance(self.f, EquilibriumMap)
        self.base = base_at(self.f, z, spare)
        return self.base.evaluation

    def leapt(self, landing: Landing) -> None:
        """Note where a leap has led."""
        began, now = self.seconds[-1], time.perf_counter() - self._started
        count = len(landing.residuals)
        self._arrives = landing.expected <= self.tol
        self.trace += [np.array([one]) for one in landing.residuals]
        # A leap is one call: the evaluations on its way share its time.
        self.seconds += [began + (now - began) * (k + 1) / count for k in range(count)]

    def _chosen(self, graphs: np.ndarray, first: Evaluation, second: Evaluation) -> Evaluation:
        """``first`` for these graphs, ``second`` for the others."""
        chosen = self.adjacency.spread(self.tensor(graphs))
        return Evaluation(
            torch.where(chosen.unsqueeze(-1), first.value, second.value),
            torch.where(chosen, first.residual_sq, second.residual_sq),
            torch.where(chosen, first.value_sq, second.value_sq),
        )

    def _ending(self, last: bool) -> np.ndarray:
        """The graphs whose next residual is one of f: those that meet the tolerance if it falls as it did last."""
        if last or self.sweeps is None:
            return np.ones_like(self.active)
        if len(self.trace) < 2:
            return np.zeros_like(self.active)
        before, now = self.trace[-2:]
        with np.errstate(invalid="ignore"):
            expected: np.ndarray = now * np.minimum(now, before) <= self.tol * before
        return expected

    def _per_graph(self, per_node: Tensor) -> np.ndarray:
        return self.adjacency.sum_per_graph(per_node).cpu().numpy()

    def _improves(
        self, evaluation: Evaluation, relative: np.ndarray, of_f: np.ndarray
    ) -> np.ndarray:
        """Keep the evaluation for the graphs whose best it is; which graphs these are."""
        # What f itself gave is never given up for a sweep, and takes the place of any.
        lower = np.where(of_f == self._kept_of_f, relative < self.residuals, of_f) & self.active
        self._kept_of_f = self._kept_of_f | of_f
        if self._kept is None or lower.all():
            self._kept, self._own = evaluation, False
        elif lower.any():
            self._keep(evaluation, lower)
        return lower

    def _keep(self, evaluation: Evaluation, graphs: np.ndarray) -> None:
        """Keep the evaluation for some of the graphs alone."""
        assert self._kept is not None
        begins = self.adjacency.first_nodes
        if self.kept or begins is None or not all(one.is_contiguous() for one in evaluation):
            self._kept = self._chosen(graphs, evaluation, self._kept)
            return
        if not self._own:
            # What was kept is also an image that a solver or the safeguard may hold.
            mine = Evaluation(POOL.like(evaluation.value), *map(torch.empty_like, evaluation[1:]))
            put_graphs(~graphs, begins, self._kept, mine)
            self._kept, self._own = mine, True
        put_graphs(graphs, begins, evaluation, self._kept)

    def _spare(self, z: Tensor) -> Tensor:
        """A buffer that nobody reads any more: fresh memory costs a page fault every 4 KiB."""
        trusted = () if self.guard is None else self.guard.trusted
        kept = () if self._kept is None else (self._kept.value,)
        # Compared by memory: a solver may hand back a view.
        in_use = {one.untyped_storage().data_ptr() for one in (z, *kept, *trusted)}
        for buffer in self._buffers:
            if buffer.untyped_storage().data_ptr() not in in_use:
                return buffer
        like = self.f.bias
        shape = tuple(like.shape)
        buffer = empty(shape, like.dtype, like.device) if self.kept else POOL.like(like)
        self._buffers.append(buffer)
        return buffer
