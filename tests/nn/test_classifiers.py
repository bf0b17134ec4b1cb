"""The implicit node classifier."""

import pytest
import torch
from torch_geometric.data import Data

from ignn_solver.errors import InputError
from ignn_solver.nn.base import NodeClassifier
from ignn_solver.nn.classifiers import IGNN, WarmStart
from problems import SOLVERS

EDGES = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])


def graph() -> Data:
    return Data(x=torch.randn(5, 4), edge_index=EDGES)


def test_scores_are_the_head_on_the_equilibrium():
    model, data = IGNN(4, 6, 3, tol=1e-6).eval(), graph()
    scores = model(data)
    assert scores.shape == (5, 3)
    states = model.conv(data.x, data.edge_index)
    torch.testing.assert_close(scores, model.head(states))
    f = model.equilibrium_map(data)
    torch.testing.assert_close(f(states), states, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_predicts_the_same(solver):
    model, data = IGNN(4, 6, 3), graph()
    expected = model.predict(data, tol=1e-6)
    found = model.predict(data, solver=SOLVERS[solver], tol=1e-6)
    assert torch.equal(found.classes, expected.classes)
    torch.testing.assert_close(found.probabilities, expected.probabilities, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(found.probabilities.sum(1), torch.ones(5))
    assert torch.equal(found.probabilities.argmax(1), found.classes)
    assert found.solution.converged


def test_prediction_uses_no_dropout_and_leaves_the_mode_alone():
    model, data = IGNN(4, 6, 3, dropout=0.9), graph()
    model.train()
    one, other = model.predict(data), model.predict(data)
    assert model.training
    assert torch.equal(one.probabilities, other.probabilities)
    assert not torch.equal(model(data), model(data))
    with pytest.raises(InputError, match="no features"):
        model.predict(Data(edge_index=EDGES))
    assert model.training


def test_warm_starts_save_evaluations():
    model, data = IGNN(4, 6, 3, dropout=0.0, tol=1e-5), graph()
    model.warm_start = WarmStart()
    model(data).sum().backward()
    model.remember_backward()
    cold = model.evaluations()
    model(data).sum().backward()
    assert model.evaluations() == (1, 1)
    assert min(cold) > 3
    model(
        Data(x=torch.randn(6, 4), edge_index=EDGES)
    ).sum().backward()  # another graph: no warm start
    assert min(model.evaluations()) > 3


def test_configuration_rebuilds_the_model():
    model = IGNN(4, 6, 3, kappa=0.7, dropout=0.1, parametrization="symmetric", activation="tanh")
    twin = IGNN(**model.config)
    twin.load_state_dict(model.state_dict())
    data = graph()
    assert torch.equal(twin.predict(data).probabilities, model.predict(data).probabilities)
    assert twin.num_parameters == model.num_parameters == 6 * 6 + 4 * 6 + 6 + 6 * 3 + 3


def test_reset_draws_anew():
    model = IGNN(4, 6, 3)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model.reset_parameters()
    after = model.state_dict()
    assert not torch.equal(after["head.weight"], before["head.weight"])
    assert not torch.equal(after["conv.weight.raw"], before["conv.weight.raw"])


def test_evaluations_are_zero_before_the_first_pass_and_for_explicit_models():
    assert IGNN(4, 6, 3).evaluations() == (0, 0)
    assert NodeClassifier(4, 6, 3).evaluations() == (0, 0)
    with pytest.raises(TypeError, match="NodeClassifier does not define forward"):
        NodeClassifier(4, 6, 3)(graph())


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (Data(edge_index=EDGES, num_nodes=4), "no features: set data.x"),
        (Data(x=torch.ones(4, 4)), "no edge_index: give the edges"),
        (Data(x=torch.ones(0, 4), edge_index=EDGES[:, :0]), "the graph is empty"),
        (Data(x=torch.ones(4, 3), edge_index=EDGES), "3 columns, but the model was made for 4"),
        (Data(x=torch.full((4, 4), torch.inf), edge_index=EDGES), "NaN or infinity"),
        (Data(x=torch.ones(3, 4), edge_index=EDGES), "names node 3"),
    ],
)
def test_bad_graphs_are_refused(data, sentence):
    model = IGNN(4, 6, 3)
    with pytest.raises(InputError, match=sentence):
        model(data)
    with pytest.raises(InputError, match=sentence):
        model.predict(data)


@pytest.mark.parametrize("channels", [(0, 6, 3), (4, 0, 3), (4, 6, 0)])
def test_a_model_of_nothing_is_refused(channels):
    with pytest.raises(InputError, match="at least one feature, hidden channel and class"):
        IGNN(*channels)
