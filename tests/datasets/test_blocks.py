"""Block models have exactly the sizes asked for and the structure planted."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ignn_solver.datasets import blocks as module
from ignn_solver.datasets import load
from ignn_solver.datasets.blocks import blocks
from ignn_solver.errors import InputError


def undirected_keys(data):
    row, column = data.edge_index
    return torch.minimum(row, column) * data.num_nodes + torch.maximum(row, column)


@given(
    st.integers(40, 300),
    st.floats(0.5, 5.0),
    st.integers(1, 4),
    st.floats(0.0, 1.0),
    st.integers(0, 100),
)
@settings(max_examples=40, deadline=None)
def test_edges_are_exact_distinct_and_in_both_directions(nodes, degree, classes, homophily, seed):
    data = blocks(
        nodes=nodes, average_degree=degree, classes=classes, homophily=homophily, seed=seed
    )
    edges = round(nodes * degree / 2)
    assert data.edge_index.shape == (2, 2 * edges)
    assert len(undirected_keys(data).unique()) == edges
    assert not data.has_self_loops()
    assert data.is_undirected()
    assert data.x.shape == (nodes, 32)
    assert int(data.y.max()) < classes
    total = data.train_mask.int() + data.val_mask.int() + data.test_mask.int()
    assert (total == 1).all()


def test_pieces_do_not_change_what_is_promised(monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 1000)
    data = load("blocks", nodes=3000, average_degree=8)
    assert data.num_edges == 24_000
    assert len(undirected_keys(data).unique()) == 12_000
    # In small pieces features are drawn the same way: class means of length 1 under unit noise.
    assert abs(float(data.x.std()) - 1.0) < 0.05


def test_same_seed_same_graph_other_seed_other_graph():
    one, again, other = load("blocks", seed=1), load("blocks", seed=1), load("blocks", seed=2)
    for key in ("x", "y", "edge_index", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(one[key], again[key])
        assert not torch.equal(one[key], other[key])


def test_homophily_is_what_was_planted():
    for homophily in (0.0, 0.5, 0.9):
        data = blocks(nodes=20_000, classes=5, homophily=homophily)
        same = (data.y[data.edge_index[0]] == data.y[data.edge_index[1]]).float().mean()
        # Edges placed anywhere fall inside a class one time in five.
        assert abs(float(same) - (homophily + (1 - homophily) / 5)) < 0.02


def test_degrees_follow_a_power_law():
    data = blocks(nodes=50_000, exponent=2.5)
    degrees = np.sort(torch.bincount(data.edge_index[0]).numpy())[::-1]
    top = degrees[:500]
    # Hill's estimator: the tail of a Pareto with density exponent e has index e - 1.
    index = 1.0 / np.mean(np.log(top[:-1] / top[-1]))
    assert 1.2 < index < 1.9


def test_features_tell_the_class_only_in_part():
    data = blocks(nodes=20_000, classes=4, features=16, signal=2.0)
    means = torch.stack([data.x[data.y == c].mean(dim=0) for c in range(4)])
    nearest = torch.cdist(data.x, means).argmin(dim=1)
    accuracy = float((nearest == data.y).float().mean())
    assert 0.5 < accuracy < 0.99
    silent = blocks(nodes=20_000, classes=4, features=16, signal=0.0)
    means = torch.stack([silent.x[silent.y == c].mean(dim=0) for c in range(4)])
    assert float(means.abs().max()) < 0.1


def test_ids_do_not_betray_the_class():
    data = blocks(nodes=5000, classes=2)
    assert abs(int(data.y[:2500].sum()) - 1250) < 150


def test_arxiv_has_the_papers_sizes():
    data = load("blocks:arxiv")
    assert (data.num_nodes, data.num_features, data.num_classes) == (169_343, 128, 40)
    assert data.num_edges == 2 * 1_166_243
    sizes = [int(data[m].sum()) for m in ("train_mask", "val_mask", "test_mask")]
    assert sizes == [90_941, 29_799, 48_603]
    assert "not arxiv itself" in data.stand_in


def test_plain_blocks_stand_for_nothing():
    data = load("blocks:3000", classes=3)
    assert (data.num_nodes, data.num_classes, data.stand_in) == (3000, 3, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"homophily": 1.5}, "homophily is a probability"),
        ({"exponent": 2.0}, "exponent must be above 2"),
        ({"average_degree": 0}, "average degree must be positive"),
        ({"average_degree": 300.0}, "at most an eighth of the nodes"),
        ({"nodes": 20}, "10 nodes a class"),
        ({"like": "nothing"}, "choose among reddit, arxiv, products"),
    ],
)
def test_impossible_graphs_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        blocks(**options)


def test_a_graph_too_dense_for_its_classes_is_refused():
    with pytest.raises(InputError, match="too dense"):
        blocks(nodes=200, average_degree=25.0, classes=20, homophily=1.0)
