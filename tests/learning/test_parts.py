import pytest
import torch

import ignn_solver as ig
from ignn_solver.learning.parts import Part, Player, Recorder, grow_part
from ignn_solver.learning.sparsify import sparsified


@pytest.fixture
def nodes(f):
    return grow_part(f.adjacency, 60, torch.Generator().manual_seed(0))


def test_the_fixed_point_of_a_part_is_the_part_of_the_fixed_point(f, solution, nodes):
    assert len(nodes) == 60
    assert (nodes.diff() > 0).all()
    part = Part(f, nodes).at(solution)
    found = ig.solve(part, tol=1e-6).value
    torch.testing.assert_close(found, solution[nodes], rtol=1e-3, atol=1e-4)


def test_a_part_evaluates_as_the_whole_graph_does_at_any_moment(f, nodes):
    part, z = Part(f, nodes), torch.randn_like(f.bias)
    for _ in range(3):
        image = f(z)
        torch.testing.assert_close(part.at(z)(z[nodes]), image[nodes], rtol=1e-4, atol=1e-5)
        z = image


def test_a_part_grows_over_several_components(f):
    everything = grow_part(f.adjacency, f.adjacency.num_nodes, torch.Generator().manual_seed(0))
    assert torch.equal(everything, torch.arange(f.adjacency.num_nodes))
    torch.testing.assert_close(Part(f, everything).at(f.bias)(f.bias), f(f.bias))


def test_a_mixer_hears_in_a_part_what_it_would_hear_in_the_whole_graph(f, nodes):
    sparse = sparsified(f.adjacency, 0.5, "random")
    heard, states = Recorder(sparse, nodes), [torch.randn(len(f.bias), 3) for _ in range(2)]
    whole = [heard.matmul(x) for x in states]
    for _ in range(2):  # a part is trained on several times
        player = Player(heard)
        for x, image in zip(states, whole, strict=True):
            torch.testing.assert_close(player.matmul(x[nodes]), image[nodes])
