"""The chains task: the class is written only at one end."""

import pytest
import torch

from ignn_solver.datasets import load
from ignn_solver.errors import InputError


@pytest.mark.parametrize("length", [2, 3, 10, 50])
def test_only_first_nodes_carry_features_and_they_tell_the_class(length: int) -> None:
    data = load(f"chains:{length}")
    first = data.x.sum(dim=1) > 0
    assert first.nonzero().flatten().tolist() == list(range(0, data.num_nodes, length))
    assert torch.equal(data.x[first].argmax(dim=1), data.y[first])
    assert torch.equal(data.y, data.y[first].repeat_interleave(length))


@pytest.mark.parametrize("length", [2, 10, 50])
def test_edges_join_neighbours_in_a_chain_both_ways(length: int) -> None:
    data = load(f"chains:{length}")
    row, column = data.edge_index
    assert ((row - column).abs() == 1).all()
    assert (row // length == column // length).all()
    assert data.num_edges == 2 * (data.num_nodes // length) * (length - 1)
    assert data.is_undirected()


def test_split_sizes_are_the_papers() -> None:
    data = load("chains:4")
    sizes = [int(data[m].sum()) for m in ("train_mask", "val_mask", "test_mask")]
    assert sizes == [20, 100, 200]
    assert int((data.train_mask | data.val_mask | data.test_mask).sum()) == 320


def test_seed_moves_only_the_split() -> None:
    one, two = load("chains:10", seed=1), load("chains:10", seed=2)
    assert torch.equal(one.x, two.x)
    assert not torch.equal(one.train_mask, two.train_mask)
    assert torch.equal(one.train_mask, load("chains:10", seed=1).train_mask)


def test_length_one_is_refused() -> None:
    with pytest.raises(InputError, match="length of at least 2"):
        load("chains:1")


def test_a_word_is_not_a_length() -> None:
    with pytest.raises(InputError, match="chains:LENGTH"):
        load("chains:long")
