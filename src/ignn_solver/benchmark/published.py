"""The loop that implicit graph networks were published with, to compare with."""

from __future__ import annotations

import torch
from torch import Tensor

from ..equilibrium import EquilibriumMap

TOLERANCE = 1e-4
MAX_EVALS = 300


class PublishedLoop:
    """Plain iteration as in Gu et al. (NeurIPS 2020): states ``d x n``, a COO adjacency.

    It starts from zero and stops when no entry of the states changes by more than 1e-4, or after 300
    evaluations.

    Args:
        f: The map.
    """

    def __init__(self, f: EquilibriumMap) -> None:
        self.adjacency = f.adjacency.matrix.as_torch().to_sparse_coo().coalesce()
        self.weight = f.weight.T.contiguous()
        self.bias = f.bias.T.contiguous()
        self.activation = getattr(torch, f.activation)

    def run(self) -> tuple[Tensor, int]:
        """The states, ``n x d``, and the evaluations they took."""
        z = torch.zeros_like(self.bias)
        evals = 0
        while evals < MAX_EVALS:
            evals += 1
            product = torch.sparse.mm(self.adjacency, (self.weight @ z).T).T
            before, z = z, self.activation(product + self.bias)
            if float((z - before).abs().max()) < TOLERANCE:
                break
        return z.T.contiguous(), evals
