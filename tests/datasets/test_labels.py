"""Class numbers from a 0/1 matrix."""

import numpy as np
import scipy.sparse
import torch

from ignn_solver.datasets.labels import class_numbers


def test_one_class_a_node_becomes_its_number() -> None:
    matrix = scipy.sparse.csr_matrix(np.array([[0, 1.0], [1, 0], [0, 0]]))
    assert class_numbers(matrix).tolist() == [1, 0, -1]


def test_several_classes_stay_a_matrix() -> None:
    matrix = scipy.sparse.csr_matrix(np.array([[1, 1.0], [0, 0]]))
    labels = class_numbers(matrix)
    assert labels.dtype == torch.float32
    assert labels.tolist() == [[1, 1], [0, 0]]


def test_stored_zeros_are_no_class() -> None:
    matrix = scipy.sparse.csr_matrix(([0.0, 1.0], ([0, 0], [0, 1])), shape=(1, 2))
    assert class_numbers(matrix).tolist() == [1]
