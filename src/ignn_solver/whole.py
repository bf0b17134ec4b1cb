"""Small graphs solved whole: from start to end in the cache, before the ordinary loop looks at what is left."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from . import kernels
from .equilibrium import EquilibriumMap, FixedPointMap
from .kernels.products import Prepared
from .loop import SIZE_FLOOR
from .memory import empty

if kernels.compiled is not None:
    from .kernels import compiled_whole

#: Evaluations until a graph is left to the ordinary loop: solvers that are worth it need far fewer.
MOST = 24
#: Graphs of more nodes than this are no longer small.
_MOST_NODES = 2048


def fits(f: FixedPointMap, max_evals: int) -> bool:
    """Whether ``f`` is a batch of small graphs, and the limit leaves room for a second attempt."""
    if type(f) is not EquilibriumMap or max_evals < 4 * MOST or not kernels.use_compiled(f.bias):
        return False
    adjacency = f.adjacency
    if adjacency.graph is None or adjacency.first_nodes is None:
        return False
    return int(adjacency.graph_sizes.max()) <= _MOST_NODES


@dataclass(frozen=True)
class Attempt:
    """What became of every graph.

    Attributes:
        value: ``f(z)`` at the last point of each graph, ``n x d``.
        residual_sq: The squared distance of each row from that point, ``n``.
        trace: Relative residuals at every evaluation, ``evaluations x num_graphs``; the last one of a graph stays.
        evals: Evaluations of f spent on each graph.
        rejected: Proposed steps of each graph that were replaced by plain ones.
        done: The graphs that reached the tolerance.
        seconds: Time of every evaluation since the start, shared out evenly.
    """

    value: Tensor
    residual_sq: Tensor
    trace: np.ndarray
    evals: np.ndarray
    rejected: np.ndarray
    done: np.ndarray
    seconds: list[float]


def attempt(
    f: EquilibriumMap,
    z: Tensor,
    start: tuple[Prepared, Prepared] | None,
    mixing: list[tuple[Prepared, Prepared, Prepared]],
    mixed: range,
    tol: float,
    enough: float,
) -> Attempt:
    """Step until each graph reaches the tolerance on its own, safeguarded as in the ordinary loop.

    A graph that takes too long, or is not finite, is left as it is, not done.

    Args:
        f: The map, of a batch of small graphs.
        z: Where to start, ``n x d``; it is written over.
        start: What to start from instead, prepared: the factors S and T of ``act(b + act(b) @ S + b @ T)``.
        mixing: The factors of each step, prepared: the left ones for the residual and for the momentum, and the
            right one, of no rows where those are whole. The last step is repeated.
        mixed: Which steps are taken so; the others are plain.
        tol: The relative residual to reach.
        enough: How many times the lowest squared residual before it that after a step may be, to trust the step.
    """
    began, begins = time.perf_counter(), f.adjacency.first_nodes
    assert begins is not None
    out = empty(tuple(z.shape), z.dtype, z.device)
    found = compiled_whole.solve_whole(
        f.adjacency.matrix, begins, z, start, f.weight.detach(), f.bias.contiguous(), f.activation,
        mixing, mixed, f.value_range, tol, SIZE_FLOOR, enough, MOST, out,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    count = len(found.trace)
    return Attempt(*found, [seconds * (k + 1) / count for k in range(count)])
