"""AM-GCN: its neighbour graph, its attention and its two losses, against dense definitions."""

import pytest
import torch
from torch.nn import functional as F

from ignn_solver.baselines.am_gcn import AMGCN, consistency, disparity
from ignn_solver.baselines.graph import adjacency_of
from ignn_solver.baselines.knn import nearest_neighbours, neighbour_graph
from ignn_solver.errors import InputError


@pytest.fixture
def pair():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 9, 4, dtype=torch.float64, generator=generator)


def test_neighbours_are_the_most_similar_by_cosine(graph):
    unit = F.normalize(graph.x, dim=1)
    similarity = (unit @ unit.T).fill_diagonal_(-torch.inf)
    expected = similarity.topk(3).indices.sort().values
    source, target = nearest_neighbours(graph.x, 3)
    assert torch.equal(target, torch.arange(14).repeat_interleave(3))
    assert torch.equal(source.view(14, 3).sort().values, expected)
    assert torch.equal(
        nearest_neighbours(graph.x.to_sparse_csr(), 3), torch.stack([source, target])
    )


def test_many_rows_are_looked_at_a_few_at_a_time(graph, monkeypatch):
    expected = nearest_neighbours(graph.x, 3)
    monkeypatch.setattr("ignn_solver.baselines.knn._SIMILARITIES_AT_ONCE", 30)
    assert torch.equal(nearest_neighbours(graph.x, 3), expected)


def test_a_node_without_features_has_no_neighbours(graph):
    x = graph.x.clone()
    x[4] = 0
    source, target = nearest_neighbours(x, 3)
    assert not ((source == 4) | (target == 4)).any()
    assert neighbour_graph(x, 3).degree[4] == 1
    assert nearest_neighbours(torch.zeros(5, 2), 3).shape == (2, 0)


def test_more_neighbours_than_nodes_joins_all(graph):
    assert nearest_neighbours(graph.x[:4], 10).shape == (2, 4 * 3)
    with pytest.raises(InputError, match="neighbours must be at least 1"):
        nearest_neighbours(graph.x, 0)


def test_consistency_is_the_mean_square_between_similarity_matrices(pair):
    similarities = []
    for z in pair:
        unit = F.normalize(z - z.mean(0), dim=1)
        similarities.append(unit @ unit.T)
    expected = (similarities[0] - similarities[1]).square().mean()
    torch.testing.assert_close(consistency(*pair), expected)
    assert consistency(pair[0], 3 * pair[0] + 1) < 1e-12


def test_disparity_is_the_trace_of_centred_kernels(pair):
    centring = torch.eye(9, dtype=torch.float64) - 1 / 9
    kernels = [z @ z.T for z in pair]
    expected = torch.trace(centring @ kernels[0] @ centring @ kernels[1])
    torch.testing.assert_close(disparity(*pair), expected)
    assert disparity(pair[0], torch.ones_like(pair[1])) < 1e-20


def test_attention_is_its_closed_form(graph):
    torch.manual_seed(0)
    model = AMGCN(6, 5, 3).double().eval()
    own, common, common_features, features = model.embed(graph)
    inner, _, outer = model.attention
    embeddings = [own, features, (common + common_features) / 2]
    exps = [
        (torch.tanh(z @ inner.weight.T + inner.bias) @ outer.weight.T).exp() for z in embeddings
    ]
    total = exps[0] + exps[1] + exps[2]
    mixed = sum(one / total * z for one, z in zip(exps, embeddings, strict=True))
    torch.testing.assert_close(model(graph), model.head(mixed))


def test_embeddings_see_their_own_graph(graph, dense):
    torch.manual_seed(0)
    model = AMGCN(6, 5, 3, neighbours=3).double().eval()
    nearest = torch.eye(14, dtype=torch.float64)
    source, target = nearest_neighbours(graph.x, 3)
    nearest[source, target] = nearest[target, source] = 1
    scale = nearest.sum(1).rsqrt()
    nearest = scale[:, None] * nearest * scale

    def branch(one, matrix):
        hidden = F.relu(matrix @ graph.x @ one.first.linear.weight + one.first.bias)
        return matrix @ hidden @ one.second.linear.weight + one.second.bias

    expected = (
        branch(model.graph, dense),
        branch(model.common, dense),
        branch(model.common, nearest),
        branch(model.features, nearest),
    )
    for found, wanted in zip(model.embed(graph), expected, strict=True):
        torch.testing.assert_close(found, wanted)
    assert adjacency_of(graph, torch.float64).num_nodes == 14


def test_the_auxiliary_loss_belongs_to_one_training_pass(graph):
    torch.manual_seed(0)
    model = AMGCN(6, 5, 3, consistency_weight=2.0, disparity_weight=0.5, dropout=0.0).double()
    model(graph)
    own, common, common_features, features = model.embed(graph)
    apart = (disparity(own, common) + disparity(features, common_features)) / 2
    expected = 2.0 * consistency(common, common_features) + 0.5 * apart
    torch.testing.assert_close(model.auxiliary_loss(), expected)
    with pytest.raises(InputError, match="call the model in training mode"):
        model.auxiliary_loss()
    model.eval()
    model(graph)
    with pytest.raises(InputError, match="call the model in training mode"):
        model.auxiliary_loss()
