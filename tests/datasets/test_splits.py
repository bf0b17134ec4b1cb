"""Splits: disjoint, seeded, in proportion, and refused when they cannot be used."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignn_solver.datasets.splits import (
    Parts,
    check,
    draw,
    fold_order,
    masks,
    stratified,
    with_validation,
)
from ignn_solver.errors import InputError

labellings = st.lists(st.integers(-1, 4), min_size=1, max_size=200).map(np.array)
amounts = st.one_of(st.integers(0, 50), st.floats(0.0, 0.5))


@given(labellings, amounts, amounts, st.one_of(st.none(), amounts), st.integers(0, 5))
def test_stratified_parts_are_disjoint_labelled_and_repeatable(labels, train, val, test, seed):
    parts = stratified(labels, train, val, test, seed)
    whole = np.concatenate(parts)
    assert len(np.unique(whole)) == len(whole)
    assert (labels[whole] >= 0).all()
    again = stratified(labels, train, val, test, seed)
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))


@given(st.integers(1, 5), st.integers(1, 30), st.integers(0, 3))
def test_an_integer_is_training_nodes_a_class_and_nodes_in_all_elsewhere(classes, size, seed):
    labels = np.repeat(np.arange(classes), 2 * size + 10)
    parts = stratified(labels, size, 3, 4, seed)
    assert np.bincount(labels[parts.train]).tolist() == [size] * classes
    assert (len(parts.val), len(parts.test)) == (3, 4)


def test_fractions_hold_in_every_class():
    labels = np.repeat([0, 1, 2], [100, 50, 200])
    parts = stratified(labels, 0.6, 0.2, None, 0)
    assert np.bincount(labels[parts.train]).tolist() == [60, 30, 120]
    assert np.bincount(labels[parts.val]).tolist() == [20, 10, 40]
    assert np.bincount(labels[parts.test]).tolist() == [20, 10, 40]


def test_a_small_class_still_trains():
    labels = np.array([0] * 100 + [1, 1])
    assert 1 in labels[stratified(labels, 0.01, 0.2, None, 0).train]
    assert (labels[stratified(labels, 60, 10, None, 0).train] == 1).sum() == 1


def test_seeds_differ():
    labels = np.zeros(100, dtype=int)
    one, two = stratified(labels, 0.5, 0.2, None, 0), stratified(labels, 0.5, 0.2, None, 1)
    assert not np.array_equal(one.train, two.train)


def test_draw_has_the_sizes_asked_for():
    parts = draw(100, (10, 20, 30), 0)
    assert [len(p) for p in parts] == [10, 20, 30]
    assert len(np.unique(np.concatenate(parts))) == 60


def test_validation_is_drawn_from_the_labelled_rest():
    labels = np.array([0] * 900 + [-1] * 100)
    parts = with_validation(np.arange(10), np.arange(10, 300), labels, 0)
    assert len(parts.val) == 500
    assert parts.val.min() >= 300
    assert parts.val.max() < 900


def test_masks_say_the_same_as_the_parts():
    parts = Parts(np.array([0, 3]), np.array([1]), np.array([2]))
    chosen = masks(parts, 5)
    assert chosen["train_mask"].tolist() == [True, False, False, True, False]
    assert chosen["val_mask"].tolist() == [False, True, False, False, False]
    assert chosen["test_mask"].tolist() == [False, False, True, False, False]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([0, 1], [2], [9]), "the test part names node 9, but nodes are 0 to 3"),
        (([0, 1], [2], [1, 3]), r"1 nodes are in both the train and the test part .*node 1"),
        (([0, 1], [3], [3]), "in both the val and the test part"),
        (([0, 1], [1], [3]), "in both the train and the val part"),
        (([0, 2], [1], [3]), "class 1 has no training node"),
    ],
)
def test_splits_that_cannot_be_used_are_refused(parts, message):
    labels = np.array([0, 1, 0, 1])
    with pytest.raises(InputError, match=f"^here: .*{message}"):
        check(Parts(*map(np.array, parts)), labels, 2, "here")


def test_several_classes_a_node_are_checked_too():
    labels = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    everything = Parts(np.array([1, 2]), np.array([0]), np.array([], dtype=int))
    assert check(everything, labels, 3, "here") is everything
    with pytest.raises(InputError, match="class 2 has no training node"):
        check(Parts(np.array([0, 1]), np.array([2]), np.array([], dtype=int)), labels, 3, "here")


@given(st.lists(st.integers(0, 3), min_size=20, max_size=100).map(np.array), st.integers(2, 10))
def test_folds_are_even_in_size_and_in_every_class(labels, count):
    fold = fold_order(labels, count, 0)
    sizes = np.bincount(fold, minlength=count)
    assert sizes.max() - sizes.min() <= 1
    for value in np.unique(labels):
        sizes = np.bincount(fold[labels == value], minlength=count)
        assert sizes.max() - sizes.min() <= 1
