"""The bound on a graph's pooled representation, from the bounds on its nodes."""

from __future__ import annotations

import torch
from torch import Tensor

from ..adjacency import Adjacency
from ..errors import InputError
from .certify import Certificate
from .rounding import gamma, row_norms


@torch.no_grad()
def pooled_bound(
    certificate: Certificate, value: Tensor, adjacency: Adjacency, pooling: str = "sum"
) -> Tensor:
    r"""How far each graph's pooled states can be from those of the exact equilibrium.

    For a sum the bounds of the graph's nodes add up, for a mean they are averaged, and a maximum moves by
    no more than the root of the sum of their squares. What rounding does to the pooling itself
    (:math:`\gamma_{n_g + 2} \sum_i \|z_i\|` for a sum of :math:`n_g` rows) is included.

    Args:
        certificate: The certificate of the nodes.
        value: The states that it certifies, ``n x d``.
        adjacency: Says which node belongs to which graph.
        pooling: ``"sum"``, ``"mean"`` or ``"max"``.

    Returns:
        The bounds, ``num_graphs``, float64, in the norm of the certificate.
    """
    sizes, bound = adjacency.graph_sizes, certificate.bound
    inflate = 1 + 1e-12 + 4e-16 * sizes
    if pooling == "max" and certificate.norm == "inf":
        return adjacency.max_per_graph(bound)
    if pooling == "max":
        return adjacency.sum_per_graph(bound.square()).sqrt() * inflate
    if pooling not in ("sum", "mean"):
        raise InputError(f"unknown pooling {pooling!r}: choose one of sum, mean, max")
    total = adjacency.sum_per_graph(bound)
    total += gamma(sizes + 2, value.dtype) * adjacency.sum_per_graph(row_norms(value))
    return total * inflate / sizes if pooling == "mean" else total * inflate
