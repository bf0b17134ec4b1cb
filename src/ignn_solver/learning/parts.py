"""Parts of a graph on which a solver can be trained when the whole does not fit in memory."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse import csgraph
from torch import Tensor

from ..adjacency import Adjacency
from ..equilibrium import EquilibriumMap
from ..sparse import SparseMatrix


def part_map(f: EquilibriumMap, solution: Tensor, nodes: Tensor) -> tuple[EquilibriumMap, Tensor]:
    """The map on some of the nodes, with the others held at their equilibrium.

    What comes in over the border is added to b, so the part's fixed point is exactly
    ``solution[nodes]``.

    Args:
        f: The map on the whole graph.
        solution: Its fixed point, ``n x d``.
        nodes: The nodes of the part, ascending.

    Returns:
        The map of the part, and its fixed point.
    """
    rowptr, col, value = f.adjacency.matrix.arrays
    chosen = nodes.numpy()
    rows = sp.csr_matrix((value, col, rowptr), shape=f.adjacency.matrix.shape)[chosen]
    inside = rows[:, chosen].tocsr()
    projected = solution @ f.weight
    received = torch.from_numpy(np.ascontiguousarray(rows @ projected.numpy()))
    matrix = SparseMatrix(
        torch.from_numpy(inside.indptr),
        torch.from_numpy(inside.indices),
        torch.from_numpy(inside.data),
        (len(chosen), len(chosen)),
    )
    adjacency = Adjacency(matrix, f.adjacency.degree[nodes], symmetric=f.adjacency.symmetric)
    if f.adjacency.symmetric:
        matrix.__dict__["transpose"] = matrix
    border = received - adjacency.matmul(projected[nodes])
    bias = f.bias[nodes] + border
    features = None if f.features is None else _select(f.features, chosen)
    part = EquilibriumMap(adjacency, f.weight, bias, f.contraction, f.activation, features)
    return part, solution[nodes]


def _select(features: Tensor, chosen: np.ndarray) -> Tensor:
    if features.layout == torch.strided:
        return features[torch.from_numpy(chosen)]
    matrix = SparseMatrix.from_torch(features)
    rowptr, col, value = matrix.arrays
    part = sp.csr_matrix((value, col, rowptr), shape=matrix.shape)[chosen]
    return torch.sparse_csr_tensor(
        torch.from_numpy(part.indptr).long(),
        torch.from_numpy(part.indices).long(),
        torch.from_numpy(part.data),
        part.shape,
        check_invariants=False,
    )


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
