"""The one shape in which a node-classification graph leaves this package."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch_geometric.data import Data

SPARSE_BELOW = 0.1
"""Feature matrices less dense than this stay sparse (CSR): nothing downstream densifies them."""


class NodeData(Data):
    """A PyG ``Data`` for node classification that also survives ``deepcopy`` with sparse features.

    Attributes:
        x: Features, ``[nodes, features]``, dense or ``torch.sparse_csr``, float32.
        y: Class of each node, int64, -1 where unknown; float32 ``[nodes, classes]`` of 0 and 1
            when nodes have several classes.
        edge_index: ``[2, entries]``: both directions of each undirected edge, as in the source.
        train_mask: True for nodes to train on; likewise ``val_mask`` and ``test_mask``.
        num_classes: Number of classes.
        name: Name in the registry.
        stand_in: Empty for real data, else why figures on it must not pass for the real dataset's.
    """

    def __deepcopy__(self, memo: dict[int, Any]) -> NodeData:
        # torch cannot deepcopy a sparse CSR tensor; putting its clone in the memo spares it that.
        for value in self.to_dict().values():
            if isinstance(value, Tensor) and value.layout != torch.strided:
                memo[id(value)] = value.clone()
        return super().__deepcopy__(memo)


def csr_tensor(rows: Tensor, columns: Tensor, values: Tensor, size: tuple[int, int]) -> Tensor:
    """Build a CSR tensor from row pointers, column ids and values, without torch's beta notice."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning)
        return torch.sparse_csr_tensor(rows, columns, values, size=size, check_invariants=True)


def feature_tensor(matrix: Any) -> Tensor:
    """Turn a feature matrix into float32 ``x``.

    A scipy sparse matrix less than a tenth full becomes CSR; anything else a dense tensor.
    """
    if not scipy.sparse.issparse(matrix):
        return torch.from_numpy(np.ascontiguousarray(matrix, dtype=np.float32))
    rows, columns = matrix.shape
    if matrix.nnz >= SPARSE_BELOW * rows * columns:
        return torch.from_numpy(np.asarray(matrix.todense(), dtype=np.float32))
    matrix = matrix.tocsr()
    matrix.sum_duplicates()
    return csr_tensor(
        torch.from_numpy(matrix.indptr.astype(np.int64)),
        torch.from_numpy(matrix.indices.astype(np.int64)),
        torch.from_numpy(matrix.data.astype(np.float32)),
        (rows, columns),
    )


def node_data(
    name: str,
    *,
    x: Tensor,
    y: Tensor,
    edge_index: Tensor,
    num_classes: int,
    masks: Mapping[str, Tensor],
    stand_in: str = "",
    **extra: Any,
) -> NodeData:
    """Assemble a ``NodeData``; ``masks`` holds ``train_mask``, ``val_mask`` and ``test_mask``."""
    data = NodeData(x=x, y=y, edge_index=edge_index, **masks)
    data.num_classes = num_classes
    data.name = name
    data.stand_in = stand_in
    for key, value in extra.items():
        data[key] = value
    return data
