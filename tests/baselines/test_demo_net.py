"""DEMO-Net: the hash functions, and the layer against its definition, node by node."""

import pytest
import torch
from torch.nn import functional as F

from ignn_solver.baselines.demo_net import DegreeConv, DEMONet
from ignn_solver.baselines.graph import neighbour_mean
from ignn_solver.baselines.hashing import SHARED, hash_columns, hashed_means, hashed_rows
from ignn_solver.sparse import SparseMatrix


def by_definition(x, mean, degree, dimension, salt):
    """Loop over nodes, neighbours and columns, as the paper writes it."""
    result = torch.zeros(len(x), dimension, dtype=x.dtype)
    for one in (None, *degree.unique().tolist()):
        key = torch.tensor([SHARED if one is None else one])
        place, sign = hash_columns(key, x.shape[1], dimension, salt)
        for node in range(len(x)):
            if one is None or degree[node] == one:
                averaged = mean[node] @ x
                for column in range(x.shape[1]):
                    result[node, place[0, column]] += sign[0, column] * averaged[column]
    return result


@pytest.fixture
def parts(graph):
    mean, degree = neighbour_mean(graph, torch.float64)
    full = torch.zeros(mean.shape, dtype=torch.float64)
    full[mean.row.long(), mean.col.long()] = mean.value
    return graph.x, mean, degree, full


def test_hashing_is_its_definition_dense_and_sparse(parts):
    x, mean, degree, full = parts
    expected = by_definition(x, full, degree, 4, salt=2)
    torch.testing.assert_close(hashed_rows(full @ x, degree, 4, 2), expected)
    sparse = SparseMatrix.from_torch(x.to_sparse_csr())
    torch.testing.assert_close(hashed_means(sparse, mean, degree, 4, 2), expected)


def test_hash_functions_spread_columns_and_signs_evenly_and_differ():
    place, sign = hash_columns(torch.arange(40), 4096, 256, salt=0)
    assert place.min() == 0
    assert place.max() == 255
    counts = torch.bincount(place.flatten(), minlength=256).double()
    expected = place.numel() / 256
    # Chi-squared with 255 degrees of freedom: mean 255, standard deviation 22.6.
    assert ((counts - expected) ** 2 / expected).sum() < 255 + 5 * 22.6
    assert abs(sign.double().mean()) < 5 / place.numel() ** 0.5
    # Two functions agree on a column's place by chance only: one in 256.
    agree = (place[:-1] == place[1:]).double().mean()
    assert abs(agree - 1 / 256) < 5 * (1 / 256 / (39 * 4096)) ** 0.5
    other, _ = hash_columns(torch.arange(40), 4096, 256, salt=1)
    assert (other == place).double().mean() < 0.01


def test_hashing_keeps_dot_products_on_average():
    torch.manual_seed(0)
    x, y = torch.randn(2, 50, dtype=torch.float64)
    products = []
    for salt in range(400):
        place, sign = hash_columns(torch.tensor([3]), 50, 64, salt)
        hashed = torch.zeros(2, 64, dtype=torch.float64)
        hashed.index_add_(1, place[0], torch.stack([x, y]) * sign[0])
        products.append(hashed[0] @ hashed[1])
    spread = torch.stack(products).std() / 20
    assert abs(torch.stack(products).mean() - x @ y) < 4 * spread


def test_nodes_of_one_degree_with_the_same_neighbourhood_get_the_same_scores():
    from torch_geometric.data import Data

    # Nodes 0 and 1 have the same features and the neighbours 2 and 3; node 4 has 2, 3 and 5.
    x = torch.randn(6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x[1] = x[0]
    edge_index = torch.tensor([[0, 0, 1, 1, 4, 4, 4], [2, 3, 2, 3, 2, 3, 5]])
    model = DEMONet(6, 5, 3).double().eval()
    scores = model(Data(x=x, edge_index=edge_index))
    torch.testing.assert_close(scores[0], scores[1])


def test_the_degree_matters_even_when_the_mean_does_not():
    from torch_geometric.data import Data

    # Every node has the same features, so means are the same; only degrees differ.
    x = torch.ones(4, 6, dtype=torch.float64)
    star = torch.tensor([[0, 0, 0], [1, 2, 3]])
    torch.manual_seed(0)
    scores = DEMONet(6, 5, 3).double().eval()(Data(x=x, edge_index=star))
    assert not torch.allclose(scores[0], scores[1])
    torch.testing.assert_close(scores[1:], scores[1].expand(3, -1))


def test_the_model_is_its_formula(graph, parts):
    torch.manual_seed(0)
    x, _, degree, full = parts
    model = DEMONet(6, 5, 3, num_layers=1, hash_dimension=8).double().eval()
    first, second = model.convs
    assert isinstance(first, DegreeConv)

    def layer(conv, states, salt):
        hashed = by_definition(states, full, degree, 8, salt)
        return states @ conv.own.weight + hashed @ conv.neighbours.weight + conv.bias

    expected = layer(second, F.elu(layer(first, x, 0)), 1)
    torch.testing.assert_close(model(graph), expected)
