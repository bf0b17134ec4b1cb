import torch

from ignn_solver.learning.parts import grow_part, part_map


def test_the_fixed_point_of_a_part_is_the_part_of_the_fixed_point(f, solution):
    nodes = grow_part(f.adjacency, 60, torch.Generator().manual_seed(0))
    assert len(nodes) == 60
    assert (nodes.diff() > 0).all()
    part, target = part_map(f, solution, nodes)
    torch.testing.assert_close(target, solution[nodes])
    torch.testing.assert_close(part(target), f(solution)[nodes], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(part.features, f.features[nodes])


def test_a_part_grows_over_several_components(f):
    everything = grow_part(f.adjacency, f.adjacency.num_nodes, torch.Generator().manual_seed(0))
    assert torch.equal(everything, torch.arange(f.adjacency.num_nodes))


def test_sparse_features_are_cut_as_dense_ones(f, solution):
    nodes = torch.tensor([1, 5, 8])
    sparse = type(f)(
        f.adjacency, f.weight, f.bias, f.contraction, f.activation, f.features.to_sparse_csr()
    )
    part, _ = part_map(sparse, solution, nodes)
    torch.testing.assert_close(part.features.to_dense(), f.features[nodes])
