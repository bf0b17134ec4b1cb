"""The digits are scikit-learn's own, with a neighbour graph."""

import numpy as np
import torch
from sklearn.datasets import load_digits

from ignn_solver.datasets import load


def test_images_and_labels_are_the_originals():
    data = load("digits")
    images, labels = load_digits(return_X_y=True)
    np.testing.assert_allclose(data.x.numpy() * 16, images)
    np.testing.assert_array_equal(data.y.numpy(), labels)
    assert (data.num_nodes, data.num_features, data.num_classes) == (1797, 64, 10)
    assert data.stand_in == ""


def test_every_image_is_joined_to_its_ten_nearest():
    data = load("digits")
    distance = torch.cdist(data.x.double(), data.x.double()).fill_diagonal_(torch.inf)
    joined = torch.zeros(1797, 1797, dtype=torch.bool)
    joined[data.edge_index[0], data.edge_index[1]] = True
    tenth = distance.sort(dim=1).values[:, 9]
    near = distance < tenth[:, None] - 1e-9
    assert joined[near].all()
    far = distance > torch.maximum(tenth[:, None], tenth[None, :]) + 1e-9
    assert not joined[far].any()
    assert data.is_undirected()
    assert not data.has_self_loops()


def test_split_is_stratified_and_whole():
    data = load("digits", seed=3)
    assert data.y[data.train_mask].bincount().tolist() == [20] * 10
    assert int(data.val_mask.sum()) == 300
    total = data.train_mask.int() + data.val_mask.int() + data.test_mask.int()
    assert (total == 1).all()


def test_neighbours_is_an_option():
    assert load("digits", neighbours=3).num_edges < load("digits").num_edges
