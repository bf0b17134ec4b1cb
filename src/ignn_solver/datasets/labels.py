"""Classes of nodes, whether each has one or several."""

from __future__ import annotations

import numpy as np
import scipy.sparse
import torch
from torch import Tensor


def class_numbers(indicator: scipy.sparse.csr_matrix) -> Tensor:
    """Labels from a 0/1 matrix ``[nodes, classes]``.

    Returns:
        One class number a node (-1 where a row is empty), int64; or, when some node has several
        classes, the matrix itself, dense float32.
    """
    indicator.eliminate_zeros()
    counts = np.diff(indicator.indptr)
    if counts.max(initial=0) > 1:
        return torch.from_numpy((indicator.toarray() != 0).astype(np.float32))
    labels = np.full(indicator.shape[0], -1, dtype=np.int64)
    labels[counts == 1] = indicator.indices
    return torch.from_numpy(labels)
