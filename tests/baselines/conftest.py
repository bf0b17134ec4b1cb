"""A small graph that has it all: a hub, a self-loop, a doubled edge, a node without edges."""

import pytest
import torch
from torch_geometric.data import Data

NODES, FEATURES = 14, 6


def make_graph(dtype=torch.float64):
    generator = torch.Generator().manual_seed(7)
    edges = torch.randint(NODES - 1, (2, 22), generator=generator)
    hub = torch.stack([torch.zeros(6, dtype=torch.long), torch.arange(1, 7)])
    special = torch.tensor([[3, 2, 2], [3, 5, 5]])
    edge_index = torch.cat([edges, hub, special], 1)
    x = torch.randn(NODES, FEATURES, generator=generator, dtype=dtype)
    x = x * (torch.rand(NODES, FEATURES, generator=generator) < 0.7)
    return Data(x=x, edge_index=edge_index)


@pytest.fixture
def graph():
    return make_graph()


@pytest.fixture
def classes():
    """Three rings of six nodes, a class each: noisy features that neighbours share."""
    y = torch.arange(3).repeat_interleave(6)
    noise = torch.randn(18, FEATURES, generator=torch.Generator().manual_seed(7))
    x = torch.eye(3, FEATURES)[y] + 0.3 * noise
    node = torch.arange(18)
    ring = node - node % 6 + (node + 1) % 6
    return Data(x=x.double(), edge_index=torch.stack([node, ring]), y=y)


@pytest.fixture
def edges(graph):
    """Every edge once in each direction, without self-loops: what PyG's layers want."""
    from torch_geometric.utils import coalesce, remove_self_loops, to_undirected

    return coalesce(to_undirected(remove_self_loops(graph.edge_index)[0], num_nodes=NODES))


@pytest.fixture
def dense(graph):
    """The normalised adjacency with self-loops, from its definition."""
    full = torch.eye(NODES, dtype=torch.float64)
    source, target = graph.edge_index
    full[source, target] = 1
    full[target, source] = 1
    scale = full.sum(1).rsqrt()
    return scale[:, None] * full * scale
