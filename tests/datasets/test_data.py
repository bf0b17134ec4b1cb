"""A graph with sparse features lives through everything PyG does to a Data."""

import copy

import numpy as np
import pytest
import scipy.sparse
import torch

from ignn_solver.datasets.data import NodeData, feature_tensor, node_data


@pytest.fixture
def graph() -> NodeData:
    x = feature_tensor(scipy.sparse.csr_matrix(np.eye(20)))
    mask = torch.ones(20, dtype=torch.bool)
    return node_data(
        "test",
        x=x,
        y=torch.arange(20) % 3,
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        num_classes=3,
        masks={"train_mask": mask, "val_mask": ~mask, "test_mask": ~mask},
        stand_in="made up",
        node_ids=np.arange(20),
    )


@pytest.mark.parametrize(
    "operation",
    [copy.copy, copy.deepcopy, lambda d: d.clone(), lambda d: d.to("cpu")],
    ids=["copy", "deepcopy", "clone", "to"],
)
def test_copies_keep_everything(graph, operation):
    if operation is not copy.copy:
        graph = copy.copy(graph)
    other = operation(graph)
    assert isinstance(other, NodeData)
    assert other.x.layout == torch.sparse_csr
    assert torch.equal(other.x.to_dense(), torch.eye(20))
    assert (other.num_features, other.num_classes, other.num_nodes) == (20, 3, 20)
    assert (other.name, other.stand_in) == ("test", "made up")
    assert other.node_ids.tolist() == list(range(20))


def test_deep_copies_share_nothing(graph):
    other = copy.deepcopy(graph)
    other.x.values()[:] = 7.0
    other.y[0] = 2
    assert torch.equal(graph.x.to_dense(), torch.eye(20))
    assert graph.y[0] == 0


@pytest.mark.parametrize(("columns", "layout"), [(11, torch.sparse_csr), (10, torch.strided)])
def test_only_sparse_features_stay_sparse(columns, layout):
    matrix = scipy.sparse.csr_matrix(np.eye(columns))
    x = feature_tensor(matrix)
    assert x.layout == layout
    assert x.dtype == torch.float32
    assert torch.equal(x.to_dense(), torch.eye(columns))


def test_dense_features_stay_dense():
    x = feature_tensor(np.zeros((5, 30)))
    assert x.layout == torch.strided
    assert x.shape == (5, 30)
