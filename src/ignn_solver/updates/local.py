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
from ..kernels.rows import gather_rows, move_rows, push
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
    work = _Worklist(solution, f, _check_changed(changed, f), tol, in_place)
    while work.pending():
        if work.queue.numel() > LARGE * f.adjacency.num_nodes or work.spent > max_evals:
            return solve(f, z0=work.z, tol=tol, max_evals=max_evals, on_failure=on_failure)
        work.round()
    return work.solution()


class _Worklist:
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
        residual = solution.node_residual.double()
        self.size_sq = _size_sq(solution, f, residual)
        fresh = torch.arange(old, nodes, device=changed.device)
        self.level = residual.new_full((nodes,), 0.0)
        self.level[:old] = residual
        if not solution.at_value:
            # The value is f(z), so its residual is at most one contraction of that of z.
            self.level = self.adjacency.matmul(self.level.to(f.bias.dtype)).double() * self.factor
        self.queue = torch.cat([changed, fresh]).unique()
        self.level[self.queue] = 0
        self.sure, self.allowed = self._allowances()
        self.queued = torch.zeros(nodes, dtype=torch.bool, device=changed.device)
        above = (self.level > self.allowed).nonzero().squeeze(1)
        self.level[self.queue] = torch.inf
        self.queue = torch.cat([self.queue, above])
        self.queued[self.queue] = True
        self.rows = 0
        self.moved = [self.queue[:0]]

    def _allowances(self) -> tuple[Tensor, Tensor]:
        r"""What each node may keep: surely, and as long as few nodes need it.

        With :math:`\max(r_i, \tau)`, :math:`n \tau^2 = \text{tol}^2 \|z\|^2 - \sum_i r_i^2`, for every node the
        sum of squares is within the tolerance, however many nodes the change reaches. Few nodes may have
        their even share of the tolerance, or a little more than what they had. Where the others leave
        hardly anything to share, they have to come down as well.
        """
        adjacency = self.adjacency
        whole = self.tol**2 * self.size_sq
        left = whole - adjacency.sum_per_graph(self.level.square())
        share = (left.clamp_min(0) / adjacency.graph_sizes).sqrt()
        even = (whole / adjacency.graph_sizes).sqrt()
        scarce = share < even / 8
        sure = torch.maximum(self.level, adjacency.spread(share))
        sure = torch.where(adjacency.spread(scarce), adjacency.spread(even) / 2, sure)
        most = torch.where(scarce, even / 2, even)
        return sure, torch.maximum(_ROOM * sure, adjacency.spread(most))

    def pending(self) -> bool:
        """Whether rows are waiting; when none is and the sum is too large, all come down a little."""
        if not self.queue.numel() and self.allowed is not self.sure:
            total = self.adjacency.sum_per_graph(self.level.square())
            if not bool((total <= self.tol**2 * self.size_sq).all()):
                self.allowed = self.sure
                self.queue = (self.level > self.allowed).nonzero().squeeze(1)
                self.queued[self.queue] = True
        return bool(self.queue.numel())

    @property
    def spent(self) -> float:
        """Evaluated rows, in evaluations of the whole map."""
        return self.rows / self.adjacency.num_nodes

    def round(self) -> None:
        """Evaluate the rows with the largest levels, move them, and pass on how far they moved."""
        excess = self.level[self.queue] / self.allowed[self.queue]
        now = excess >= _ROUND * excess.max()
        rows, self.queue = self.queue[now], self.queue[~now]
        self.queued[rows] = False
        self.rows += rows.numel()
        f, matrix = self.f, self.adjacency.matrix
        projected = gather_rows(matrix, rows, self.z).mm(f.weight)
        keep = _STAY * self.allowed[rows]
        moved, gained = move_rows(rows, projected, self.bias, self.z, f.activation, keep)
        stays = moved <= keep
        level = moved * _SLACK
        self.level[rows] = torch.where(stays, level, 0.0)
        self._count_size(rows, gained)
        self.moved.append(rows[~stays])
        amount = torch.where(stays, 0.0, level * self.factor)
        found = push(matrix.transpose, rows, amount, self.level, self.allowed, self.queued)
        self.queue = torch.cat([self.queue, found])

    def _count_size(self, rows: Tensor, gained: Tensor) -> None:
        graph = self.adjacency.graph
        if graph is None:
            self.size_sq += gained.sum()
        else:
            self.size_sq.index_add_(0, graph[rows], gained)

    def solution(self) -> Solution:
        total = self.adjacency.sum_per_graph(self.level.square())
        relative = torch.where(total == 0, 0.0, (total / self.size_sq).sqrt())
        graphs = self.adjacency.num_graphs
        evals = torch.full((graphs,), math.ceil(self.spent), device=relative.device)
        return Solution(
            value=self.z,
            statuses=(Status.CONVERGED,) * graphs,
            residuals=relative,
            evals=evals,
            trace=relative.unsqueeze(0),
            seconds=[time.perf_counter() - self.started],
            node_residual=self.level,
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
