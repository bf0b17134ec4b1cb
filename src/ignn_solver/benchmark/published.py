"""The loop that implicit graph networks were published with, to compare with."""

from __future__ import annotations

from collections.abc import Callable

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

    def run(
        self,
        max_evals: int | None = None,
        observe: Callable[[int, Tensor], None] | None = None,
    ) -> tuple[Tensor, int]:
        """The states, ``n x d``, and the evaluations they took.

        Args:
            max_evals: Stop after exactly this many evaluations, instead of by the rule above.
            observe: Called after each evaluation with their number and the states, ``n x d``.
        """
        z = torch.zeros_like(self.bias)
        evals = 0
        while evals < (max_evals or MAX_EVALS):
            evals += 1
            product = torch.sparse.mm(self.adjacency, (self.weight @ z).T).T
            before, z = z, self.activation(product + self.bias)
            change = float((z - before).abs().max())
            if observe is not None:
                observe(evals, z.T)
            if max_evals is None and change < TOLERANCE:
                break
        return z.T.contiguous(), evals
