"""The layer behaves as a layer of PyTorch Geometric does."""

import copy
import gc

import pytest
import torch

from ignn_solver.errors import InputError
from ignn_solver.nn.conv import IGNNConv, _adjacencies
from ignn_solver.nn.parametrize import PARAMETRIZATIONS
from ignn_solver.solvers import Anderson
from problems import ACTIVATIONS, DOUBLE, GRAPHS, Graph, iterated_answer

EDGES = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])


def tight(*channels: int, **options: object) -> IGNNConv:
    return IGNNConv(*channels, tol=1e-10, max_evals=1000, **options).to(DOUBLE)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("propagate", [False, True])
def test_the_output_is_the_dense_equilibrium(name, activation, propagate):
    graph = GRAPHS[name]
    conv = tight(
        4, 3, 0.8, activation=activation, propagate_input=propagate, undirected=graph.undirected
    )
    x = torch.randn(graph.num_nodes, 4, dtype=DOUBLE)
    dense = graph.dense()
    injected = x @ conv.input.weight + conv.input.bias
    bias = dense @ injected if propagate else injected
    expected = iterated_answer(dense, conv.weight(), bias, activation)
    with torch.no_grad():
        found = conv(x, graph.edge_index, graph.weight, graph.batch)
    torch.testing.assert_close(found, expected.detach(), rtol=1e-7, atol=1e-7)
    assert conv.last_solution.converged


@pytest.mark.parametrize("kind", PARAMETRIZATIONS)
def test_every_parametrization_trains_and_stays_within_its_factor(kind):
    conv = IGNNConv(4, 6, 0.7, parametrization=kind)
    optimizer = torch.optim.Adam(conv.parameters(), lr=0.3)
    x, target = torch.randn(4, 4), torch.rand(4, 6)
    losses = []
    for _ in range(15):
        optimizer.zero_grad()
        loss = (conv(x, EDGES) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    conv.eval()
    f = conv.equilibrium_map(x, conv.adjacency(EDGES, None, 4))
    order = {"2": 2, "inf": 1}[f.contraction.norm]  # the row norm's operator norm on z -> z W
    assert torch.linalg.matrix_norm(f.weight, order) <= 0.7 * (1 + 1e-5)


def test_weights_of_one_and_none_give_the_same():
    conv = IGNNConv(3, 5)
    x = torch.randn(4, 3)
    assert torch.equal(conv(x, EDGES), conv(x, EDGES, torch.ones(4)))


def test_the_undirected_flag_adds_the_reverse_edges():
    both = IGNNConv(3, 5, undirected=True)
    one_way = IGNNConv(3, 5, undirected=False)
    one_way.load_state_dict(both.state_dict())
    x = torch.randn(4, 3)
    doubled = torch.cat([EDGES, EDGES.flip(0)], 1)
    torch.testing.assert_close(both(x, EDGES), one_way(x, doubled))
    assert not torch.allclose(both(x, EDGES), one_way(x, EDGES))


def test_a_directed_edge_informs_its_target_only():
    conv = IGNNConv(1, 4, undirected=False, activation="tanh", bias=False)
    edges = torch.tensor([[0], [1]])
    alone = conv(torch.tensor([[0.0], [1.0]]), edges)
    informed = conv(torch.tensor([[5.0], [1.0]]), edges)
    assert not torch.allclose(alone[1], informed[1])
    other_way = conv(torch.tensor([[0.0], [5.0]]), edges)
    assert torch.equal(other_way[0], alone[0])


def test_the_adjacency_is_built_once_and_again_when_the_edges_change():
    conv = IGNNConv(3, 5)
    edges, x = EDGES.clone(), torch.randn(4, 3)
    first = conv.adjacency(edges, None, 4)
    assert conv.adjacency(edges, None, 4) is first
    assert IGNNConv(3, 5).adjacency(edges, None, 4) is first
    assert conv.adjacency(edges, None, 5) is not first
    assert conv.adjacency(edges, torch.ones(4), 4) is not first
    assert IGNNConv(3, 5, undirected=False).adjacency(edges, None, 4) is not first
    assert conv.double().adjacency(edges, None, 4).matrix.dtype == DOUBLE
    conv.float()
    before = conv(x, edges)
    edges[0, 0] = 2
    assert conv.adjacency(edges, None, 4) is not first
    assert not torch.allclose(conv(x, edges), before)
    torch.testing.assert_close(conv(x, edges), conv(x, edges.clone()))


def test_other_weights_are_not_mistaken_for_the_last_ones():
    conv = IGNNConv(3, 5)
    x, weight = torch.randn(4, 3), torch.rand(4)
    before = conv(x, EDGES, weight)
    weight.mul_(torch.arange(4))
    torch.testing.assert_close(conv(x, EDGES, weight), conv(x, EDGES, weight.clone()))
    assert not torch.allclose(conv(x, EDGES, weight), before)
    learnt = torch.rand(4, requires_grad=True)
    assert conv.adjacency(EDGES, learnt, 4) is not conv.adjacency(EDGES, learnt, 4)


def test_the_cache_forgets_edges_that_are_gone():
    gc.collect()
    before = len(_adjacencies._made)
    for _ in range(5):
        batch = torch.tensor([0, 0, 1, 1])
        IGNNConv(3, 5)(torch.randn(4, 3), torch.tensor([[0, 2], [1, 3]]), batch=batch)
    gc.collect()
    assert len(_adjacencies._made) == before


def test_gradients_reach_features_weights_and_every_parameter():
    conv = tight(3, 4, 0.6, activation="tanh")
    x = torch.randn(4, 3, dtype=DOUBLE, requires_grad=True)
    weight = torch.linspace(0.5, 2, 4, dtype=DOUBLE).requires_grad_()

    def output(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return conv(x, EDGES, weight)

    assert torch.autograd.gradcheck(output, (x, weight), atol=1e-5, eps=1e-6)
    conv(x, EDGES, weight).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in conv.parameters())
    assert conv.last_backward.solution.converged


def test_without_gradients_nothing_is_recorded():
    conv = IGNNConv(3, 5)
    x = torch.randn(4, 3)
    with torch.no_grad():
        assert not conv(x, EDGES).requires_grad
    with torch.inference_mode():
        inferred = conv(x.clone(), EDGES.clone(), torch.ones(4))
    torch.testing.assert_close(inferred.clone(), conv(x, EDGES).detach())


def test_a_batch_is_solved_graph_by_graph():
    graph = GRAPHS["batch"]
    conv = tight(2, 3)
    x = torch.randn(8, 2, dtype=DOUBLE)
    conv(x, graph.edge_index, batch=graph.batch)
    assert conv.last_solution.evals.shape == (3,)


def test_start_solver_and_tolerance_are_used():
    conv = IGNNConv(3, 5, tol=1e-5)
    x = torch.randn(4, 3)
    cold = conv(x, EDGES).detach()
    plain = conv.last_solution.num_evals
    conv(x, EDGES, start=cold)
    assert conv.last_solution.num_evals == 1
    fast = IGNNConv(3, 5, tol=1e-5, solver=Anderson())
    fast.load_state_dict(conv.state_dict())
    torch.testing.assert_close(fast(x, EDGES).detach(), cold, rtol=1e-2, atol=1e-3)
    assert fast.last_solution.num_evals < plain
    conv.max_evals = 2
    with pytest.warns(RuntimeWarning, match="after 2 evaluations, wanted 1.00e-05"):
        conv(x, EDGES)


def test_state_dict_and_deep_copies_carry_everything():
    one, other = IGNNConv(3, 5), IGNNConv(3, 5)
    x = torch.randn(4, 3)
    assert not torch.allclose(one(x, EDGES), other(x, EDGES))
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(x, EDGES), other(x, EDGES))
    assert set(one.state_dict()) == {"weight.raw", "input.weight", "input.bias"}
    one(x, EDGES).sum().backward()
    twin = copy.deepcopy(one)
    assert torch.equal(twin(x, EDGES), one(x, EDGES))
    with torch.no_grad():
        twin.input.weight.zero_()
    assert one.input.weight.abs().sum() > 0


def test_reset_parameters_and_repr():
    conv = IGNNConv(3, 5, kappa=0.8, dropout=0.1)
    before = {name: value.clone() for name, value in conv.state_dict().items()}
    conv.reset_parameters()
    changed = [
        name for name, value in conv.state_dict().items() if not torch.equal(value, before[name])
    ]
    assert {"weight.raw", "input.weight"} <= set(changed)
    text = repr(conv)
    assert text.startswith("IGNNConv(\n  3, 5, activation=relu")
    assert "Cayley(5, kappa=0.8)" in text
    assert set(dict(IGNNConv(3, 5, bias=False).named_parameters())) == {
        "weight.raw",
        "input.weight",
    }


def test_one_node_without_edges_works():
    conv = IGNNConv(2, 3)
    assert conv(torch.ones(1, 2), torch.empty(2, 0, dtype=torch.long)).shape == (1, 3)


def test_relabelling_nodes_relabels_the_output():
    conv = tight(3, 4, activation="tanh")
    x = torch.randn(4, 3, dtype=DOUBLE)
    order = torch.tensor([2, 0, 3, 1])
    moved = Graph(order.argsort()[EDGES], 4)
    torch.testing.assert_close(
        conv(x[order], moved.edge_index), conv(x, EDGES)[order], rtol=1e-7, atol=1e-8
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kappa": 1.0}, "kappa must lie strictly between 0 and 1, not 1.0"),
        ({"parametrization": "free"}, "unknown parametrization 'free'"),
    ],
)
def test_wrong_configurations_are_refused(options, sentence):
    with pytest.raises(InputError, match=sentence):
        IGNNConv(3, 5, **options)


def test_an_unknown_activation_is_refused_when_the_layer_is_made():
    with pytest.raises(InputError, match="unknown activation 'gelu': choose one of relu, tanh"):
        IGNNConv(3, 5, activation="gelu")


@pytest.mark.parametrize(
    ("x", "edges", "sentence"),
    [
        (torch.ones(3, 3), EDGES, "edge_index names node 3, but the graph has nodes 0 to 2"),
        (torch.ones(4, 2), EDGES, "2 columns, but the model was made for 3"),
        (torch.full((4, 3), torch.nan), EDGES, "NaN or infinity .first in row 0."),
        (torch.ones(0, 3), torch.empty(2, 0, dtype=torch.long), "the graph is empty"),
        (torch.ones(4, 3), EDGES.float(), "must be an integer tensor"),
    ],
)
def test_wrong_graphs_are_refused(x, edges, sentence):
    with pytest.raises(InputError, match=sentence):
        IGNNConv(3, 5)(x, edges)


def test_a_start_of_another_shape_is_refused():
    with pytest.raises(InputError, match=r"z0 has shape \(4, 3\), not \(4, 5\)"):
        IGNNConv(3, 5)(torch.ones(4, 3), EDGES, start=torch.zeros(4, 3))
