"""What may change, and what may not."""

import pytest
import torch
from torch_geometric.data import Data

from ignn_solver import InputError
from ignn_solver.updates import GraphChange


@pytest.fixture
def data():
    return Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 2], [1, 0, 3]]))


def edges(data):
    return sorted(map(tuple, data.edge_index.T.tolist()))


def test_features_edges_and_nodes_change_and_the_old_graph_does_not(data):
    change = GraphChange(
        nodes=torch.tensor([1]),
        features=torch.full((1, 4), 5.0),
        added_edges=torch.tensor([[4], [2]]),
        removed_edges=torch.tensor([[0], [1]]),
        new_features=torch.full((1, 4), 7.0),
    )
    after = change.apply(data)
    assert edges(after) == [(2, 3), (4, 2)]
    assert after.num_nodes == 5
    assert after.x[1].tolist() == [5.0] * 4
    assert after.x[4].tolist() == [7.0] * 4
    assert edges(data) == [(0, 1), (1, 0), (2, 3)]
    assert torch.equal(data.x, torch.eye(4))


def test_on_a_directed_graph_one_direction_is_removed(data):
    change = GraphChange(removed_edges=torch.tensor([[0], [1]]))
    assert edges(change.apply(data, undirected=False)) == [(1, 0), (2, 3)]


def test_an_added_edge_replaces_the_weight_of_one_that_is_there(data):
    data.edge_weight = torch.tensor([2.0, 2.0, 3.0])
    change = GraphChange(added_edges=torch.tensor([[1], [0]]), added_weights=torch.tensor([9.0]))
    after = change.apply(data)
    assert edges(after) == [(1, 0), (2, 3)]
    assert sorted(after.edge_weight.tolist()) == [3.0, 9.0]


def test_a_weight_makes_the_graph_weighted(data):
    change = GraphChange(added_edges=torch.tensor([[0], [3]]), added_weights=torch.tensor([9.0]))
    assert sorted(change.apply(data).edge_weight.tolist()) == [1.0, 1.0, 1.0, 9.0]


def test_sparse_features_stay_sparse(data):
    data.x = data.x.to_sparse_csr()
    change = GraphChange(
        nodes=torch.tensor([2]), features=torch.ones(1, 4), new_features=torch.ones(1, 4)
    )
    after = change.apply(data)
    assert after.x.layout == torch.sparse_csr
    expected = torch.eye(5, 4)
    expected[2:5:2] = 1
    assert torch.equal(after.x.to_dense(), expected)


two = torch.tensor([[0], [1]])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"nodes": torch.tensor([0])}, "nodes and features belong together"),
        ({"nodes": torch.tensor([0]), "features": torch.ones(2, 4)}, "for 1 nodes"),
        ({"nodes": torch.tensor([0, 0]), "features": torch.ones(2, 4)}, "names a node twice"),
        ({"added_edges": torch.tensor([0, 1])}, "give a 2 x edges tensor"),
        ({"removed_edges": torch.tensor([[1], [1]])}, "self-loop"),
        ({"added_edges": two, "added_weights": torch.ones(2)}, "one weight for each"),
        ({"added_edges": two, "added_weights": torch.zeros(1)}, "must be positive"),
        ({"new_features": torch.full((1, 4), torch.nan)}, "new_features holds NaN"),
    ],
)
def test_changes_that_make_no_sense_are_refused(options, match):
    with pytest.raises(InputError, match=match):
        GraphChange(**options)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"nodes": torch.tensor([4]), "features": torch.ones(1, 4)}, "the last one is 3"),
        ({"added_edges": torch.tensor([[0], [4]])}, "added_edges names a node"),
        ({"removed_edges": torch.tensor([[-1], [0]])}, "removed_edges names a node"),
        ({"new_features": torch.ones(1, 3)}, "but a node has 4"),
    ],
)
def test_changes_that_do_not_fit_the_graph_are_refused(data, options, match):
    with pytest.raises(InputError, match=match):
        GraphChange(**options).apply(data)
