"""What holds for every model alike."""

import copy

import pytest
import torch
from torch.nn import functional as F
from torch_geometric.data import Data

from ignn_solver import models
from ignn_solver.errors import InputError
from ignn_solver.nn.base import NodeClassifier

BASELINES = sorted(name for name, place in models.MODELS.items() if ".baselines." in place)
VARIANTS = [
    *((name, {}) for name in BASELINES),
    ("gcn", {"num_layers": 3}),
    ("gtn", {"num_layers": 3, "channels": 1}),
    ("jknet", {"num_layers": 3, "mode": "max"}),
    ("acm-gcn", {"num_layers": 2}),
    ("eignn", {"exact_up_to": 1}),
    ("mignn", {"splitting": "peaceman-rachford"}),
    ("mignn", {"parametrization": "skew", "splitting": "peaceman-rachford"}),
]
TIGHT = {
    "ignn-original": {"tol": 1e-10, "max_evals": 3000},
    "eignn": {"tol": 1e-10, "max_evals": 3000},
    "mignn": {"tol": 1e-10, "max_evals": 3000},
}

every_variant = pytest.mark.parametrize(("name", "options"), VARIANTS)


def make(name, graph, **options) -> NodeClassifier:
    torch.manual_seed(3)
    options = {**TIGHT.get(name, {}), **options}
    config = {"in_channels": graph.num_features, "hidden_channels": 5, "num_classes": 3}
    return models.build(name, **config, **options).double().eval()


def test_every_model_is_there():
    assert {
        "gcn", "gat", "sgc", "appnp", "jknet", "am-gcn", "demo-net", "gcnii", "acm-gcn", "mlp",
        "gtn", "ignn-original", "eignn", "mignn",
    } == set(BASELINES)  # fmt: skip


@every_variant
def test_relabelling_the_nodes_relabels_the_scores(name, options, graph):
    model = make(name, graph, **options)
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(1))
    place = order.argsort()
    moved = Data(x=graph.x[order], edge_index=place[graph.edge_index])
    torch.testing.assert_close(model(moved), model(graph)[order], rtol=1e-7, atol=1e-7)


@every_variant
def test_an_edge_counts_the_same_listed_once_or_in_both_directions(name, options, graph):
    model = make(name, graph, **options)
    both = Data(x=graph.x, edge_index=torch.cat([graph.edge_index, graph.edge_index.flip(0)], 1))
    torch.testing.assert_close(model(both), model(graph), rtol=1e-7, atol=1e-7)


@every_variant
def test_sparse_features_give_the_same_scores_and_gradients_and_stay_sparse(
    name, options, graph, monkeypatch
):
    dense, sparse = (make(name, graph, **options) for _ in range(2))
    expected = dense(graph)
    expected.square().sum().backward()
    data = Data(x=graph.x.to_sparse_csr(), edge_index=graph.edge_index)

    def refuse(*_args, **_kwargs):
        raise AssertionError("the features were made dense")

    monkeypatch.setattr(torch.Tensor, "to_dense", refuse)
    scores = sparse(data)
    torch.testing.assert_close(scores, expected, rtol=1e-7, atol=1e-7)
    scores.square().sum().backward()
    for one, other in zip(dense.parameters(), sparse.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-6, atol=1e-7)


@every_variant
def test_every_parameter_is_trained_and_the_classes_are_learnt(name, options, classes):
    loose = {"tol": 1e-2} if name in TIGHT else {}
    model = make(name, classes, dropout=0.0, **loose, **options).train()
    start = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(30):
        optimizer.zero_grad()
        scores = model(classes)
        loss = F.cross_entropy(scores, classes.y)
        if hasattr(model, "auxiliary_loss"):
            loss = loss + model.auxiliary_loss()
        loss.backward()
        optimizer.step()
    assert (scores.argmax(1) == classes.y).double().mean() > 0.8
    for key, parameter in model.named_parameters():
        assert not torch.equal(parameter, start[key]), f"{key} never moved"


@every_variant
def test_a_model_is_made_again_from_its_config(name, options, graph):
    model = make(name, graph, **options)
    again = models.build(models.model_name(model), **model.config).double().eval()
    again.load_state_dict(model.state_dict())
    assert torch.equal(again(graph), model(graph))


@pytest.mark.parametrize("name", BASELINES)
def test_dropout_acts_in_training_only(name, graph):
    model = make(name, graph, dropout=0.5)
    assert torch.equal(model(graph), model(graph))
    model.train()
    assert not torch.equal(model(graph), model(graph))


@pytest.mark.parametrize("name", BASELINES)
def test_the_edges_may_change_between_calls(name, graph):
    model = make(name, graph)
    before = model(graph)
    other = Data(x=graph.x, edge_index=graph.edge_index[:, :8].clone())
    assert torch.equal(model(other), before) == (name == "mlp")
    assert torch.equal(model(graph), before)


@pytest.mark.parametrize("name", BASELINES)
def test_features_of_another_width_are_refused(name, graph):
    model = make(name, graph)
    with pytest.raises(InputError, match="the model was made for 6"):
        model(Data(x=graph.x[:, :4].clone(), edge_index=graph.edge_index))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("gcn", {"num_layers": 0}, "num_layers must be at least 1, not 0"),
        ("gat", {"heads": 0}, "heads must be at least 1"),
        ("gtn", {"channels": 0}, "channels must be at least 1"),
        ("sgc", {"power": 0}, "power must be at least 1"),
        ("appnp", {"alpha": 0.0}, "alpha is a probability"),
        ("jknet", {"mode": "sum"}, 'mode must be "cat" or "max"'),
        ("am-gcn", {"neighbours": 0}, "neighbours must be at least 1"),
        ("demo-net", {"hash_dimension": 0}, "hash_dimension must be at least 1"),
        ("ignn-original", {"kappa": 1.0}, "kappa must lie strictly between 0 and 1"),
        ("eignn", {"gamma": 1.0}, "gamma must lie strictly between 0 and 1"),
        ("mignn", {"splitting": "none"}, "unknown splitting 'none'"),
        ("mignn", {"parametrization": "free"}, "unknown parametrization 'free'"),
        ("gcn", {"colour": 1}, "the model 'gcn' cannot be made"),
    ],
)
def test_wrong_options_are_refused_with_a_sentence(name, options, message, graph):
    with pytest.raises(InputError, match=message):
        make(name, graph, **options)
