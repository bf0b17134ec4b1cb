r"""Repair an equilibrium after a change: work only where the residual rose, spreading along edges.

Every node has a level: a proven upper bound on the norm of its row of ``f(z) - z``. When the states of
some nodes move by :math:`\delta_j`, the levels of their neighbours rise by at most
:math:`\|W\| A_{ij} \|\delta_j\|`; nothing else changes. So a node need only be evaluated again when its
level exceeds what it is allowed, and what a change costs is set by how far it spreads.
"""

from __future__ import annotations

import math
import time

import torch
from torch import Tensor

from ..cache import LastMade
from ..certificate.factor import operator_norm
from ..equilibrium import EquilibriumMap
from ..errors import InputError
from ..kernels.rows import Rule, Worklist, settle_rows, take_rows
from ..solving import Solution, Status, solve

_norms: LastMade[float] = LastMade()
#: Room in the levels for their own rounding.
_SLACK = 1 + 1e-3
#: Nodes are evaluated in rounds, those first whose level is at least this share of the largest.
_ROUND = 0.1
#: A row that moved less than this share of what it is allowed stays: moving it would cost its neighbours.
_STAY = 0.5
#: By how much a level may rise before its node has to be evaluated, if it is large already.
_ROOM = 1.2
#: A queue that long is better solved whole.
LARGE = 0.2


@torch.no_grad()
def update(
    solution: Solution,
    f: EquilibriumMap,
    changed: Tensor,
    *,
    tol: float = 1e-3,
    in_place: bool = False,
    max_evals: int = 1000,
    on_failure: str = "warn",
) -> Solution:
    r"""The equilibrium of a map that differs in a few rows from the one that was solved.

    The result has ``||f(z) - z|| <= tol * ||z||`` on each graph, as a full solve has. Beyond that, each
    node that the change reached has a residual of at most :math:`\text{tol} \|z\| / \sqrt n`, its even share
    of the tolerance, or what it had: on a large graph the sum alone would hide a few nodes that are wrong.

    Args:
        solution: A solution of the map before the change.
        f: The map after the change. It may have more nodes: these come last.
        changed: Ids of the nodes whose row of b or of A is not what it was; new nodes may be left out.
        tol: Tolerance on the relative residual.
        in_place: Overwrite ``solution.value`` instead of copying it; for a large graph the copy takes
            longer than the update.
        max_evals: Limit of evaluations if the change reaches so far that the whole graph is solved.
        on_failure: ``"raise"``, ``"warn"`` or ``"return"``, for that solve.

    Returns:
        A solution whose ``value`` is the repaired state, with the residuals of ``value`` itself;
        ``evals`` counts evaluated rows, as a share of all rows, rounded up.

    Raises:
        InputError: For a ``tol`` that is not above 0, or nodes that are not there.
    """
    if not tol > 0:
        raise InputError(f"tol must be above 0, not {tol}")
    if not bool(torch.isfinite(solution.residuals).all()):
        return solve(f, tol=tol, max_evals=max_evals, on_failure=on_failure)
    work = _Repair(solution, f, _check_changed(changed, f), tol, in_place)
    while work.pending():
        if work.queue.numel() > LARGE * f.adjacency.num_nodes or work.spent > max_evals:
            return solve(f, z0=work.z, tol=tol, max_evals=max_evals, on_failure=on_failure)
        work.round()
    return work.solution()


class _Repair:
    """The states, their levels, and the nodes whose level is above what they are allowed."""

    def __init__(
        self, solution: Solution, f: EquilibriumMap, changed: Tensor, tol: float, in_place: bool
    ) -> None:
        self.f, self.tol, self.started = f, tol, time.perf_counter()
        self.adjacency = f.adjacency
        # A bound on how far a row moves for each unit that its neighbours move.
        norm = _norms.get((f.weight,), lambda: operator_norm(f.weight, "2"), "2")
        self.factor = norm * _SLACK
        old, nodes = solution.value.shape[0], f.adjacency.num_nodes
        here = in_place and old == nodes and solution.value.is_contiguous()
        self.z = solution.value if here else _grown(solution.value, f)
        self.bias = f.bias.contiguous()
        residual = solution.node_residual.to(f.bias.dtype)
        self.size_sq = _size_sq(solution, f, residual)
        changed = torch.cat([changed, torch.arange(old, nodes, device=changed.device)]).unique()
        self.before = self._levels(solution, residual)
        self.before[changed] = 0
        allowed, level = self._allowances(), self.before.clone()
        level[changed] = torch.inf
        queued = torch.empty(nodes, dtype=torch.bool, device=level.device)
        self.work = Worklist(level, allowed, queued, self.adjacency.graph, self.size_sq)
        self.rule = Rule(_STAY, _SLACK, self.factor)
        self.queue, self.strict, self.rows = self._above(), False, 0
        self.moved = [changed[:0]]

    def _levels(self, solution: Solution, residual: Tensor) -> Tensor:
        """An upper bound on the residual of each node's state, had nothing changed."""
        new = self.adjacency.num_nodes - residual.shape[0]
        if new:
            residual = torch.cat([residual, residual.new_zeros(new)])
        if solution.at_value:
            return residual.clone()
        # The value is f(z), so its residual is at most one contraction of that of z.
        return self.adjacency.matmul(residual).mul_(self.factor)

    def _allowances(self) -> Tensor:
        r"""What each node may keep as long as few nodes need it; ``sure`` is what it may keep in any case.

        With :math:`\max(r_i, \tau)`, :math:`n \tau^2 = \text{tol}^2 \|z\|^2 - \sum_i r_i^2`, for every node the
        sum of squares is within the tolerance, however many nodes the change reaches. Few nodes may have
        their even share of the tolerance, or a little more than what they had. Where the others leave
        hardly anything to share, they have to come down as well.
        """
        adjacency = self.adjacency
        whole = self.tol**2 * self.size_sq
        left = whole - adjacency.sum_per_graph(self.before.square())
        share = (left.clamp_min(0) / adjacency.graph_sizes).sqrt()
        even = (whole / adjacency.graph_sizes).sqrt()
        scarce = share < even / 8
        self._kept = (~scarce).to(self.before.dtype)
        self._share = torch.where(scarce, even / 2, share).to(self.before.dtype)
        most = torch.maximum(
            _ROOM * self._share, torch.where(scarce, even / 2, even).to(self._share.dtype)
        )
        return torch.maximum(
            adjacency.spread(_ROOM * self._kept) * self.before, adjacency.spread(most)
        )

    def _sure(self) -> Tensor:
        """See :meth:`_allowances`."""
        spread = self.adjacency.spread
        return torch.maximum(spread(self._kept) * self.before, spread(self._share))

    def pending(self) -> bool:
        """Whether rows are waiting; when none is and the sum is too large, all come down a little."""
        if not self.queue.numel() and not self.strict:
            total = self.adjacency.sum_per_graph(self.work.level.square())
            if not bool((total <= self.tol**2 * self.work.size_sq).all()):
                self.strict = True
                self.work = self.work._replace(allowed=self._sure())
                self.queue = self._above()
        return bool(self.queue.numel())

    def _above(self) -> Tensor:
        """The nodes whose level is above what they are allowed: they are queued."""
        torch.gt(self.work.level, self.work.allowed, out=self.work.queued)
        return self.work.queued.nonzero().squeeze(1)

    @property
    def spent(self) -> float:
        """Evaluated rows, in evaluations of the whole map."""
        return self.rows / self.adjacency.num_nodes

    def round(self) -> None:
        """Evaluate the rows with the largest levels, move them, and pass on how far they moved."""
        f, matrix = self.f, self.adjacency.matrix
        rows, rest, sums = take_rows(matrix, self.queue, self.work, _ROUND, self.z)
        self.rows += rows.numel()
        moved, found = settle_rows(
            matrix.transpose, rows, sums.mm(f.weight), self.bias, self.z, f.activation, self.work, self.rule
        )  # fmt: skip
        self.moved.append(moved)
        self.queue = torch.cat([rest, found])

    def solution(self) -> Solution:
        level, size_sq = self.work.level, self.work.size_sq
        total = self.adjacency.sum_per_graph(level.square())
        relative = torch.where(total == 0, 0.0, (total / size_sq).sqrt())
        graphs = self.adjacency.num_graphs
        evals = torch.full((graphs,), math.ceil(self.spent), device=relative.device)
        return Solution(
            value=self.z,
            statuses=(Status.CONVERGED,) * graphs,
            residuals=relative,
            evals=evals,
            trace=relative.unsqueeze(0),
            seconds=[time.perf_counter() - self.started],
            node_residual=level,
            rejected=torch.zeros_like(evals),
            at_value=True,
            moved=torch.cat(self.moved).unique(),
        )


def _grown(value: Tensor, f: EquilibriumMap) -> Tensor:
    """A copy of the states with a row of zeros for each new node."""
    z = f.bias.new_zeros(f.bias.shape)
    z[: value.shape[0]] = value
    return z


def _size_sq(solution: Solution, f: EquilibriumMap, residual: Tensor) -> Tensor:
    """Squared norm of the states of each graph, from what the solution knows where possible."""
    if bool((solution.residuals > 0).all()):
        return f.adjacency.sum_per_graph(residual.square()) / solution.residuals.square()
    return f.adjacency.sum_per_graph(torch.linalg.vecdot(solution.value, solution.value))


def _check_changed(changed: Tensor, f: EquilibriumMap) -> Tensor:
    changed = torch.as_tensor(changed, device=f.bias.device)
    if changed.dtype == torch.bool:
        changed = changed.nonzero().squeeze(1)
    changed = changed.long().flatten()
    nodes = f.adjacency.num_nodes
    if changed.numel() and not 0 <= int(changed.min()) <= int(changed.max()) < nodes:
        raise InputError(
            f"changed names a node that is not there: the graph has nodes 0 to {nodes - 1}"
        )
    return changed
