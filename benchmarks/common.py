"""Random problems of any size for the benchmarks."""

from __future__ import annotations

import torch

from ignn_solver import Adjacency, EquilibriumMap
from ignn_solver.datasets.blocks import blocks
from ignn_solver.nn.parametrize import parametrization


def random_map(
    nodes: int,
    degree: float,
    hidden: int,
    kappa: float = 0.9,
    seed: int = 0,
    like: str | None = None,
) -> EquilibriumMap:
    """An untrained equilibrium map on a random graph with power-law degrees.

    Args:
        nodes: Nodes.
        degree: Mean number of neighbours.
        hidden: Width of the states.
        kappa: Contraction factor.
        seed: Seed of everything random.
        like: Take nodes and edges from this preset of ``blocks`` instead.
    """
    data = blocks(like=like, nodes=nodes, average_degree=degree, features=1, seed=seed)
    torch.manual_seed(seed)
    weight = parametrization("cayley", hidden, kappa)
    adjacency = Adjacency.from_data(data)
    bias = torch.randn(adjacency.num_nodes, hidden) / hidden**0.5
    with torch.no_grad():
        return EquilibriumMap(adjacency, weight().detach(), bias, weight.contraction)
