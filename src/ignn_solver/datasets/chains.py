"""The long-range task of IGNN (Gu et al., NeurIPS 2020): the class stands at a chain's end."""

from __future__ import annotations

import torch

from ..errors import InputError
from .data import NodeData, node_data
from .splits import draw, masks

_SIZES = (20, 100, 200)


def chains(*, length: int = 10, seed: int = 0, classes: int = 2, features: int = 100) -> NodeData:
    """Make chains of ``length`` nodes whose class is written only in their first node's features.

    Every node of a chain has the chain's class; features are zero but for a one in column ``c``
    of the first node of a chain of class ``c``. A model must carry that bit along the chain. There
    are 20 chains a class, or as many as it takes for 20 training, 100 validation and 200 test
    nodes, drawn among all nodes.
    """
    if length < 2:
        raise InputError(f"chains need a length of at least 2, not {length}; say chains:10")
    if not 2 <= classes <= features:
        raise InputError(f"chains need 2 to features={features} classes, not {classes}")
    per_class = max(20, -(-sum(_SIZES) // (classes * length)))
    number = classes * per_class
    nodes = number * length
    chain_class = torch.arange(number) // per_class
    first = torch.arange(number) * length
    x = torch.zeros(nodes, features)
    x[first, chain_class] = 1.0
    start = (first[:, None] + torch.arange(length - 1)).flatten()
    forward = torch.stack([start, start + 1])
    return node_data(
        f"chains:{length}",
        x=x,
        y=chain_class.repeat_interleave(length),
        edge_index=torch.cat([forward, forward.flip(0)], dim=1),
        num_classes=classes,
        masks=masks(draw(nodes, _SIZES, seed), nodes),
    )
