import torch

from ignn_solver.experiments.layout import spring_layout


def test_two_cliques_joined_by_an_edge_are_drawn_apart():
    clique = torch.combinations(torch.arange(8)).T
    edges = torch.cat([clique, clique + 8, torch.tensor([[0], [8]])], 1)
    places = spring_layout(edges, 16)
    assert places.shape == (16, 2)
    assert places.min() >= 0
    assert places.max() <= 1
    distances = torch.cdist(places, places)
    within = distances[:8, :8].mean() + distances[8:, 8:].mean()
    assert distances[:8, 8:].mean() > within
    assert torch.equal(places, spring_layout(edges, 16))


def test_graphs_without_edges_or_with_one_node():
    nothing = torch.zeros(2, 0, dtype=torch.long)
    assert spring_layout(nothing, 5, steps=20).isfinite().all()
    assert spring_layout(nothing, 1).tolist() == [[0.5, 0.5]]
