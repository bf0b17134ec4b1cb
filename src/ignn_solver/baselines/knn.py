"""The graph of nearest neighbours in feature space."""

from __future__ import annotations

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from ..adjacency import Adjacency
from ..cache import TensorCache
from ..errors import InputError

_graphs: TensorCache[Adjacency] = TensorCache()
_SIMILARITIES_AT_ONCE = 1 << 22


def nearest_neighbours(x: Tensor, count: int) -> Tensor:
    """For each node the ``count`` others with the most similar features, by cosine.

    A node whose features are all zero is similar to none and gets no neighbour. The features stay
    sparse; similarities are looked at a few rows at a time.

    Args:
        x: Features, ``n x columns``, dense or sparse CSR.
        count: Neighbours of each node.

    Returns:
        The edges, ``2 x edges``.
    """
    if count < 1:
        raise InputError(f"neighbours must be at least 1, not {count}")
    features = _scipy(x)
    size = np.sqrt(np.asarray(features.multiply(features).sum(1)).ravel())
    known = np.flatnonzero(size)
    unit = scipy.sparse.csr_array(scipy.sparse.diags_array(1 / size[known]) @ features[known])
    count = min(count, len(known) - 1)
    if count < 1:
        return torch.zeros(2, 0, dtype=torch.int64)
    transposed = unit.T.tocsr()
    rows_at_once = max(1, _SIMILARITIES_AT_ONCE // len(known))
    found = []
    for start in range(0, len(known), rows_at_once):
        similarity = (unit[start : start + rows_at_once] @ transposed).toarray()
        rows = np.arange(similarity.shape[0])
        similarity[rows, start + rows] = -np.inf
        best = np.argpartition(similarity, -count, axis=1)[:, -count:]
        found.append(known[best])
    edges = np.stack([np.concatenate(found).ravel(), np.repeat(known, count)])
    return torch.from_numpy(edges)


def neighbour_graph(x: Tensor, count: int) -> Adjacency:
    """The normalised adjacency that joins each node to its ``count`` nearest; made once."""

    def make() -> Adjacency:
        edges = nearest_neighbours(x, count)
        return Adjacency.from_edge_index(edges, None, x.shape[0], undirected=True, dtype=x.dtype)

    return _graphs.get(x, make, count)


def _scipy(x: Tensor) -> scipy.sparse.csr_array:
    x = x.detach().cpu()
    if x.layout == torch.strided:
        return scipy.sparse.csr_array(x.double().numpy())
    csr = x if x.layout == torch.sparse_csr else x.to_sparse_csr()
    parts = (csr.values().double().numpy(), csr.col_indices().numpy(), csr.crow_indices().numpy())
    return scipy.sparse.csr_array(parts, shape=tuple(csr.shape))
