"""The order in which a solve keeps the nodes: neighbours side by side are fetched from memory once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

from . import kernels
from .adjacency import Adjacency
from .errors import InputError
from .sparse import SparseMatrix

#: States below this size stay in the cache, whatever the order.
_CACHED_BYTES = 2**25
#: A part of METIS holds as many rows of the states as a core keeps close.
_PART_BYTES = 2**19
#: An order must save the time of two copies of the states, b and the answer, in so many products with A.
_PRODUCTS = 8
_ROUNDS = 3
_MOST_FOR_METIS = 2**24


@dataclass(frozen=True)
class Order:
    """The nodes of a graph in another order.

    Attributes:
        name: How they were ordered.
        nodes: The node at each place, ``n``.
        places: The place of each node, ``n``.
        adjacency: The adjacency in this order.
    """

    name: str
    nodes: Tensor
    places: Tensor
    adjacency: Adjacency


def cuthill_mckee(graph: sp.csr_matrix, width: int) -> np.ndarray:
    """Reverse Cuthill-McKee: neighbours get close numbers."""
    return np.asarray(reverse_cuthill_mckee(graph, symmetric_mode=True))


def by_degree(graph: sp.csr_matrix, width: int) -> np.ndarray:
    """The nodes that are fetched most often first."""
    return np.argsort(-np.diff(graph.indptr), kind="stable")


def metis_parts(graph: sp.csr_matrix, width: int) -> np.ndarray:
    """Part after part of METIS, each small enough for the cache of a core."""
    if find_spec("pymetis") is None:
        raise InputError(
            "METIS parts need pymetis, which is not installed: pip install 'ignn-solver[metis]'"
        )
    import pymetis

    parts = max(2, graph.shape[0] * width * 4 // _PART_BYTES)
    neighbours = pymetis.CSRAdjacency(graph.indptr, graph.indices)
    _, part = pymetis.part_graph(parts, adjacency=neighbours)
    return np.argsort(np.asarray(part), kind="stable")


ORDERS: dict[str, Callable[[sp.csr_matrix, int], np.ndarray]] = {
    "rcm": cuthill_mckee,
    "degree": by_degree,
    "metis": metis_parts,
}


def ordered(adjacency: Adjacency, name: str, width: int = 128) -> Order:
    """The nodes of an undirected graph in the order called ``name``.

    Args:
        adjacency: The graph.
        name: One of ``ORDERS``.
        width: Width of the states that will be multiplied.
    """
    if name not in ORDERS:
        raise InputError(f"unknown order {name!r}: choose one of {', '.join(ORDERS)}")
    rowptr, col, value = adjacency.matrix.arrays
    graph = sp.csr_matrix((value, col, rowptr), shape=adjacency.matrix.shape)
    nodes = ORDERS[name](graph, width).astype(np.int64)
    places = np.empty_like(nodes)
    places[nodes] = np.arange(len(nodes))
    turned = graph[nodes]
    turned.indices = places[turned.indices].astype(turned.indices.dtype)
    turned.sort_indices()
    matrix = SparseMatrix(
        torch.from_numpy(turned.indptr),
        torch.from_numpy(turned.indices),
        torch.from_numpy(turned.data),
        adjacency.matrix.shape,
        adjacency.symmetric,
    )
    chosen = torch.from_numpy(nodes)
    result = Adjacency(matrix, adjacency.degree[chosen], symmetric=adjacency.symmetric)
    return Order(name, chosen, torch.from_numpy(places), result)


def settle_order(adjacency: Adjacency, width: int) -> Order | None:
    """Choose the order in which solves on this graph keep the nodes, by timing the product with A.

    The choice is kept on ``adjacency``, and ``solve`` applies it inside. Small graphs, batches, directed graphs
    and graphs with trainable edge weights keep the order they have.

    Args:
        adjacency: The graph.
        width: Width of the states.

    Returns:
        The order, or ``None`` where the given one is as good.
    """
    if adjacency.order_settled:
        return adjacency.order
    adjacency.order_settled = True
    matrix = adjacency.matrix
    large = adjacency.num_nodes * width * matrix.value.element_size() > _CACHED_BYTES
    plain = adjacency.num_graphs == 1 and adjacency.symmetric and not matrix.value.requires_grad
    if not (large and plain and matrix.device.type == "cpu"):
        return None
    x = torch.ones(adjacency.num_nodes, width, dtype=matrix.dtype)
    best, limit = None, _product_seconds(adjacency, x)
    for name in _affordable(adjacency):
        order = ordered(adjacency, name, width)
        seconds = _product_seconds(order.adjacency, x) + 2 / _PRODUCTS * _copy_seconds(order, x)
        if seconds < limit:
            best, limit = order, seconds
    adjacency.order = best
    return best


def _affordable(adjacency: Adjacency) -> list[str]:
    """The orders to try: METIS takes a second for a million entries, and may not be there."""
    parts = find_spec("pymetis") is not None and adjacency.num_entries <= _MOST_FOR_METIS
    return ["rcm", "degree", *(["metis"] if parts else [])]


def _product_seconds(adjacency: Adjacency, x: Tensor) -> float:
    """What A takes in an evaluation, which writes into memory that is there."""
    out = torch.empty_like(x)
    return _seconds(lambda: kernels.evaluate(adjacency.matrix, x, x, x, "relu", None, out)[0])


def _copy_seconds(order: Order, x: Tensor) -> float:
    return _seconds(lambda: x[order.nodes])


def _seconds(work: Callable[[], Tensor]) -> float:
    found = []
    work()
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)
