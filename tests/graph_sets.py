"""Small sets of labelled graphs for the tests of graph classification."""

import torch
from torch_geometric.data import Data, InMemoryDataset

from ignn_solver.datasets.tu import GraphDataset


def ring(size: int) -> torch.Tensor:
    """The edges of a cycle, both directions."""
    here = torch.arange(size)
    there = (here + 1) % size
    return torch.cat([torch.stack([here, there]), torch.stack([there, here])], 1)


def star(size: int) -> torch.Tensor:
    """The edges of a star with its centre at node 0, both directions."""
    leaf = torch.arange(1, size)
    centre = torch.zeros_like(leaf)
    return torch.cat([torch.stack([centre, leaf]), torch.stack([leaf, centre])], 1)


def rings_and_stars(count: int = 40, features: int = 4, seed: int = 0) -> GraphDataset:
    """Cycles (class 0) and stars (class 1) of 5 to 9 nodes with random one-hot node labels."""
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for number in range(count):
        size = int(torch.randint(5, 10, (), generator=generator))
        label = number % 2
        kinds = torch.randint(features, (size,), generator=generator)
        x = torch.nn.functional.one_hot(kinds, features).float()
        edges = star(size) if label else ring(size)
        graphs.append(Data(x=x, edge_index=edges, y=torch.tensor([label])))
    return as_dataset(graphs)


def as_dataset(graphs: list[Data]) -> GraphDataset:
    """A dataset of these graphs."""
    data, slices = InMemoryDataset.collate(graphs)
    return GraphDataset("handmade", data, slices)


def relabelled(graph: Data, order: torch.Tensor) -> Data:
    """The same graph with its nodes in another order."""
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    return Data(x=graph.x[order], edge_index=place[graph.edge_index], y=graph.y)
