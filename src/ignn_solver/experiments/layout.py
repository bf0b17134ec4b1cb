"""Where to draw the nodes of a graph: springs along the edges, repulsion between all nodes."""

from __future__ import annotations

import torch
from torch import Tensor


def spring_layout(edges: Tensor, nodes: int, *, steps: int = 150, seed: int = 0) -> Tensor:
    """Places of the nodes in the unit square, ``nodes x 2``.

    Fruchterman and Reingold's forces with all pairs: O(nodes^2) a step, for a few thousand nodes. A weak
    pull to the middle keeps parts that no edge joins from drifting apart.

    Args:
        edges: Pairs of nodes, ``2 x edges``.
        nodes: How many nodes.
        steps: How often every node moves.
        seed: Draws the first places.
    """
    generator = torch.Generator().manual_seed(seed)
    places = torch.randn(nodes, 2, generator=generator)
    if nodes < 2:
        return torch.full((nodes, 2), 0.5)
    source, target = edges
    natural = 1.0 / nodes**0.5
    for step in range(steps):
        square = torch.cdist(places, places).square_().clamp_(min=1e-6)
        # sum_j (p_i - p_j) / d_ij^2, without the n x n x 2 differences.
        inverse = square.reciprocal_().fill_diagonal_(0.0)
        forces = natural**2 * (places * inverse.sum(1, keepdim=True) - inverse @ places)
        along = places[source] - places[target]
        pull = along * along.norm(dim=1, keepdim=True) / natural
        forces.index_add_(0, source, -pull).index_add_(0, target, pull)
        forces -= 0.1 * places
        length = forces.norm(dim=1, keepdim=True).clamp_min(1e-9)
        warmth = 0.2 * (1 - step / steps) ** 1.5 + 1e-3
        places += forces / length * length.clamp_max(warmth)
    return _unit_square(places)


def _unit_square(places: Tensor) -> Tensor:
    # A few far nodes must not press the rest together: far beyond these quantiles they stand at the rim.
    low, high = places.quantile(0.01, dim=0), places.quantile(0.99, dim=0)
    room = 0.15 * (high - low)
    low = torch.maximum(low - room, places.amin(0))
    high = torch.minimum(high + room, places.amax(0))
    return ((places - low) / (high - low).clamp_min(1e-9)).clamp(0, 1)
