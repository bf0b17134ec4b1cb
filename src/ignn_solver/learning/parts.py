"""Parts of a graph on which a solver can be trained when the whole does not fit in memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse import csgraph
from torch import Tensor

from ..adjacency import Adjacency
from ..equilibrium import EquilibriumMap
from ..sparse import SparseMatrix


class Cut:
    """The edges between some of the nodes, and those that come in from the others.

    Args:
        adjacency: The whole graph.
        nodes: The nodes of the part, ascending.
    """

    def __init__(self, adjacency: Adjacency, nodes: Tensor) -> None:
        self.inside, outside = _cut(adjacency, nodes)
        self._senders = torch.from_numpy(np.unique(outside.indices)).long()
        self._outside = outside[:, self._senders.numpy()]

    def received(self, states: Callable[[Tensor], Tensor]) -> Tensor:
        """What comes in over the border, given the states of the nodes that are asked for."""
        return torch.from_numpy(np.ascontiguousarray(self._outside @ states(self._senders).numpy()))


class Part:
    """A part of a graph as problems of its own, one for each moment of what the other nodes do.

    What comes in over the border is added to b. With the other nodes at their equilibrium the fixed point
    of the part is exactly ``solution[nodes]``; with the others where a solve has them at some step, an
    evaluation of the part is exactly that step's evaluation of the whole graph.

    Args:
        f: The map on the whole graph.
        nodes: The nodes of the part, ascending.
    """

    def __init__(self, f: EquilibriumMap, nodes: Tensor) -> None:
        self.f, self.nodes = f, nodes
        self.cut = Cut(f.adjacency, nodes)

    def at(self, z: Tensor) -> EquilibriumMap:
        """The map of the part while the other nodes have the states ``z``, ``n x d`` of the whole graph."""
        f = self.f
        bias = f.bias[self.nodes] + self.cut.received(lambda rows: z[rows] @ f.weight)
        return EquilibriumMap(self.cut.inside, f.weight, bias, f.contraction, f.activation)


class Recorder:
    """The whole graph for a mixer, which remembers what each product brings over a border.

    Args:
        whole: The graph.
        nodes: The nodes within the border.
    """

    def __init__(self, whole: Adjacency, nodes: Tensor) -> None:
        self.whole, self.cut = whole, Cut(whole, nodes)
        self.received: list[Tensor] = []

    def matmul(self, x: Tensor) -> Tensor:
        """The product with the whole graph."""
        self.received.append(self.cut.received(x.__getitem__))
        return self.whole.matmul(x)


class Player:
    """The part for a mixer: the other nodes send what a :class:`Recorder` heard, product by product."""

    def __init__(self, recorder: Recorder) -> None:
        self._inside, self._received = recorder.cut.inside, iter(recorder.received)

    def matmul(self, x: Tensor) -> Tensor:
        """The rows of the part of the product with the whole graph."""
        return self._inside.matmul(x) + next(self._received)


def _cut(adjacency: Adjacency, nodes: Tensor) -> tuple[Adjacency, sp.csr_matrix]:
    """The adjacency between the nodes, and what their rows hold of all others' columns."""
    rowptr, col, value = adjacency.matrix.arrays
    chosen = nodes.numpy()
    rows = sp.csr_matrix((value, col, rowptr), shape=adjacency.matrix.shape)[chosen]
    inside = rows[:, chosen].tocsr()
    matrix = SparseMatrix(
        torch.from_numpy(inside.indptr),
        torch.from_numpy(inside.indices),
        torch.from_numpy(inside.data),
        (len(chosen), len(chosen)),
    )
    if adjacency.symmetric:
        matrix.__dict__["transpose"] = matrix
    part = Adjacency(matrix, adjacency.degree[nodes], symmetric=adjacency.symmetric)
    others = np.ones(adjacency.num_nodes, bool)
    others[chosen] = False
    rows.data = np.where(others[rows.indices], rows.data, 0)
    rows.eliminate_zeros()
    return part, rows


def grow_part(adjacency: Adjacency, size: int, generator: torch.Generator) -> Tensor:
    """About ``size`` nodes around random centres, in order of their distance; ascending ids."""
    rowptr, col, value = adjacency.matrix.arrays
    graph = sp.csr_matrix((value, col, rowptr), shape=adjacency.matrix.shape)
    taken = np.zeros(adjacency.num_nodes, dtype=bool)
    count = 0
    while count < size:
        centre = int(torch.randint(adjacency.num_nodes, (1,), generator=generator))
        order = csgraph.breadth_first_order(graph, centre, return_predecessors=False)
        fresh = order[~taken[order]][: size - count]
        if len(fresh) == 0:
            fresh = np.flatnonzero(~taken)[: size - count]
        taken[fresh] = True
        count += len(fresh)
    return torch.from_numpy(np.flatnonzero(taken))
