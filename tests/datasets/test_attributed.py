"""CoraFull's npz layout."""

from pathlib import Path

import numpy as np
import pytest
import torch

from datasets.formats import attributed
from ignn_solver.datasets import load
from ignn_solver.errors import InputError


def test_graph_is_undirected_binary_and_without_self_loops(empty_home: Path) -> None:
    attributed(empty_home / "cora.npz")
    data = load("corafull", split="20")
    assert (data.num_nodes, data.num_features, data.num_classes) == (140, 70, 70)
    assert data.num_edges == 280
    assert data.is_undirected()
    assert not data.has_self_loops()
    assert torch.equal(data.x.to_dense(), torch.eye(70).repeat(2, 1))
    assert data.stand_in == ""


def test_split_trains_at_most_half_of_a_class(empty_home: Path) -> None:
    attributed(empty_home / "cora.npz", nodes=70 * 30)
    data = load("corafull")
    assert data.y[data.train_mask].bincount().tolist() == [15] * 70
    assert int(data.val_mask.sum()) == 500
    assert int(data.test_mask.sum()) == 70 * 15 - 500
    assert load("corafull", split="stratified").train_mask.sum() == 18 * 70


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.full(140, 70)}, "node 0 has label 70, but classes are 0 to 69"),
        ({"labels": np.zeros(3, int)}, r"labels have shape \(3,\) for 140 nodes"),
        ({"attr_shape": np.array([141, 70])}, "attr_shape do not make a matrix"),
        ({"adj_indices": np.full(280, 999)}, "adj_shape do not make a matrix"),
        ({"labels": np.array([{}] * 140, dtype=object)}, "labels.npy is not a plain array"),
    ],
)
def test_bad_arrays_are_refused(empty_home: Path, changes, message) -> None:
    attributed(empty_home / "cora.npz", **changes)
    with pytest.raises(InputError, match=message):
        load("corafull")


def test_unknown_split_is_said(empty_home: Path) -> None:
    attributed(empty_home / "cora.npz")
    with pytest.raises(InputError, match="no split '30': choose 20, 40, 60 or stratified"):
        load("corafull", split=30)
