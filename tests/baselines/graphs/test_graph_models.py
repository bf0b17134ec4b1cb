"""What holds for every graph-level model, and each one against something independent."""

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GCNConv, GINConv
from torch_geometric.nn.aggr import SortAggregation

from graph_sets import relabelled, ring, rings_and_stars, star
from ignn_solver import InputError
from ignn_solver.baselines.graphs.cgs import GraphCGS, row_softmax
from ignn_solver.baselines.graphs.dcnn import GraphDCNN
from ignn_solver.baselines.graphs.dgcnn import GraphDGCNN, sort_pooling
from ignn_solver.baselines.graphs.gcn import GraphGCN
from ignn_solver.baselines.graphs.gin import GraphGIN
from ignn_solver.baselines.graphs.gind import GraphGIND, incidence
from ignn_solver.baselines.graphs.ignn import GraphIGNNOriginal
from ignn_solver.baselines.graphs.mignn import GraphMIGNN
from ignn_solver.nn.explicit import neighbours

MODELS = [
    GraphGIN, GraphGCN, GraphDCNN, GraphDGCNN, GraphIGNNOriginal, GraphCGS, GraphGIND, GraphMIGNN,
]  # fmt: skip
IMPLICIT = (GraphIGNNOriginal, GraphCGS, GraphGIND, GraphMIGNN)


def members(count=6):
    dataset = rings_and_stars(count)
    dataset._data.x = dataset._data.x.double()
    return [dataset[i] for i in range(count)]


def made(kind):
    options = {"tol": 1e-6} if kind in IMPLICIT else {}
    if kind is GraphDGCNN:
        options["k"] = 10
    torch.manual_seed(0)
    model = kind(4, 8, 3, **options).double()
    batch = Batch.from_data_list(members())
    for _ in range(2):
        model(batch)
    return model.eval()


@pytest.mark.parametrize("kind", MODELS)
@torch.no_grad()
def test_neither_batch_mates_nor_the_order_of_nodes_matter(kind):
    model = made(kind)
    graphs = members()
    together = model(Batch.from_data_list(graphs))
    assert together.shape == (6, 3)
    alone = torch.cat([model(Batch.from_data_list([graph])) for graph in graphs])
    torch.testing.assert_close(alone, together, atol=1e-4, rtol=1e-4)
    shuffled = [relabelled(graph, torch.randperm(graph.num_nodes)) for graph in graphs]
    torch.testing.assert_close(
        model(Batch.from_data_list(shuffled)), together, atol=1e-4, rtol=1e-4
    )


@pytest.mark.parametrize("kind", MODELS)
def test_every_parameter_learns_and_the_model_can_be_made_again(kind):
    model = made(kind)
    batch = Batch.from_data_list(members())
    model.train()
    model(batch).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert bool(torch.isfinite(parameter.grad).all()), name
    again = kind(**model.config)
    assert {k: v.shape for k, v in again.state_dict().items()} == {
        k: v.shape for k, v in model.state_dict().items()
    }
    assert all(n > 0 for n in model.evaluations()) == (kind in IMPLICIT)


@torch.no_grad()
def test_gin_hops_are_pygs():
    model = made(GraphGIN)
    batch = Batch.from_data_list(members())
    x = batch.x
    for hop in model.layers:
        expected = hop.norm(GINConv(hop.mlp)(x, batch.edge_index)).relu()
        x = hop(x, neighbours(batch.edge_index, batch.num_nodes))
        torch.testing.assert_close(x, expected)


@torch.no_grad()
def test_gcn_convolutions_are_pygs():
    model = made(GraphGCN)
    graph = members(1)[0]
    states = [graph.x]
    for layer in model.layers:
        conv, norm = layer.conv, layer.norm
        pyg = GCNConv(conv.linear.weight.shape[0], 8).double()
        pyg.lin.weight.copy_(conv.linear.weight.T)
        pyg.bias.copy_(conv.bias)
        states.append(norm(pyg(states[-1], graph.edge_index)).relu())
    heads = zip(model.readout.heads, states, strict=True)
    expected = sum(head(state.mean(0)) for head, state in heads)
    torch.testing.assert_close(model(graph)[0], expected)


def test_diffusion_is_the_dense_powers_of_the_transition_matrix():
    graphs = members(3)
    found = GraphDCNN(4, 8, 2, hops=3).diffusion(Batch.from_data_list(graphs))
    for graph, rows in zip(graphs, found, strict=True):
        dense = torch.zeros(graph.num_nodes, graph.num_nodes).double()
        dense[graph.edge_index[0], graph.edge_index[1]] = 1
        transition = dense / dense.sum(1, keepdim=True)
        for power, row in enumerate(rows):
            expected = (torch.linalg.matrix_power(transition, power) @ graph.x).mean(0)
            torch.testing.assert_close(row, expected)


def test_sort_pooling_is_pygs_and_breaks_ties_by_the_other_channels():
    torch.manual_seed(0)
    x, graph = torch.randn(9, 3), torch.tensor([0, 0, 0, 0, 1, 1, 2, 2, 2])
    expected = SortAggregation(k=3)(x, graph).view(3, 3, 3)
    torch.testing.assert_close(sort_pooling(x, graph, 3, 3), expected)
    tied = torch.tensor([[1.0, 5.0], [2.0, 5.0], [0.0, 7.0]])
    assert sort_pooling(tied, torch.zeros(3, dtype=torch.int64), 1, 3)[0, :, 0].tolist() == [
        0,
        2,
        1,
    ]
    with pytest.raises(InputError, match="k must be at least 10"):
        GraphDGCNN(4, 8, 2, k=9)


def test_the_original_ignn_keeps_to_its_ball_and_stacks_three_layers():
    model = made(GraphIGNNOriginal)
    assert len(model.convs) == 3
    for conv in model.convs:
        assert conv.propagate_input
        assert float(conv.weight().detach().abs().sum(0).max()) <= 0.9


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (GraphGIN, "num_layers"),
        (GraphGCN, "num_layers"),
        (GraphGIND, "layers"),
        (GraphMIGNN, "layers"),
    ],
)
def test_no_layers_are_refused(kind, name):
    with pytest.raises(InputError, match=f"^{name} must be at least 1, not 0"):
        kind(4, 8, 2, **{name: 0})


@torch.no_grad()
def test_cgs_solves_the_linear_system_of_each_head():
    torch.manual_seed(0)
    graph = Data(x=torch.randn(5, 4), edge_index=star(5))
    model = GraphCGS(4, 6, 2, heads=2, gamma=0.7, tol=1e-7).eval()
    x = model.encoder(graph.x).relu()
    matrix = model.transition(x, neighbours(graph.edge_index, 5), graph.edge_index)
    dense = matrix.as_torch().to_dense()
    assert float(dense[:5, 5:].abs().max()) == 0
    torch.testing.assert_close(dense.sum(1), torch.ones(10))
    bias = model.input(x)
    heads = [
        torch.linalg.solve(torch.eye(5) - 0.7 * dense[5 * m : 5 * m + 5, 5 * m : 5 * m + 5],
                           bias[:, 3 * m : 3 * m + 3])
        for m in range(2)
    ]  # fmt: skip
    found = model.states(graph, torch.zeros(5, dtype=torch.int64), 1)
    torch.testing.assert_close(found, torch.cat(heads, 1), atol=1e-5, rtol=1e-5)


def test_row_softmax_is_the_softmax_of_each_row():
    scores = torch.tensor([[1.0], [2.0], [500.0]])
    weights = row_softmax(scores, torch.tensor([0, 0, 1]), 2)
    expected = [*torch.softmax(torch.tensor([1.0, 2.0]), 0).tolist(), 1.0]
    assert weights.flatten().tolist() == pytest.approx(expected)


def test_implicit_gradients_of_cgs_are_those_of_the_closed_form():
    torch.manual_seed(0)
    graph = Data(x=torch.randn(5, 4).double(), edge_index=star(5))
    model = GraphCGS(4, 4, 2, heads=1, gamma=0.7, tol=1e-11, dropout=0.0).double().eval()
    zeros = torch.zeros(5, dtype=torch.int64)
    weight = torch.randn(5, 4).double()
    (model.states(graph, zeros, 1) * weight).sum().backward()
    implicit = model.score.weight.grad.clone()
    model.zero_grad()
    x = model.encoder(graph.x).relu()
    matrix = model.transition(x, neighbours(graph.edge_index, 5), graph.edge_index)
    rows, cols = matrix.row.long(), matrix.col.long()
    dense = torch.zeros(5, 5).double().index_put((rows, cols), matrix.value)
    z = torch.linalg.solve(torch.eye(5).double() - 0.7 * dense, model.input(x))
    (z * weight).sum().backward()
    torch.testing.assert_close(implicit, model.score.weight.grad, atol=1e-8, rtol=1e-6)


def test_incidence_gives_half_the_normalised_laplacian():
    edges = torch.cat([ring(6), torch.tensor([[0, 3], [3, 0]])], 1)
    found = incidence(edges, 6).as_torch().to_dense()
    assert found.shape == (7, 6)
    dense = torch.zeros(6, 6)
    dense[edges[0], edges[1]] = 1
    root = dense.sum(1).rsqrt()
    laplacian = torch.eye(6) - root[:, None] * dense * root
    torch.testing.assert_close(found.T @ found, laplacian / 2)


def test_gind_minimises_its_energy():
    torch.manual_seed(0)
    graph = Data(x=torch.randn(6, 4).double(), edge_index=ring(6))
    model = GraphGIND(4, 5, 2, kappa=0.9, layers=1, tol=1e-12).double().eval()
    bias = model.inputs[0](graph.x).detach()
    weight = model.weights[0]().detach()
    z = model.diffuse(0, bias, graph).detach() - bias
    matrix = incidence(graph.edge_index, 6).as_torch().to_dense().double()
    z.requires_grad_()
    # The gradient of log cosh is tanh, so that the equilibrium is where this energy is stationary.
    energy = torch.log(torch.cosh(matrix @ (z + bias) @ weight)).sum() + z.square().sum() / 2
    (slope,) = torch.autograd.grad(energy, z)
    assert float(slope.abs().max()) < 1e-6


@torch.no_grad()
def test_gind_leaves_a_graph_of_equal_nodes_as_it_is():
    graph = Data(x=torch.ones(6, 4), edge_index=ring(6))
    model = GraphGIND(4, 5, 2, layers=1)
    bias = model.inputs[0](graph.x)
    torch.testing.assert_close(model.diffuse(0, bias, graph), bias)
    assert model.evaluations()[0] == 1


def test_implicit_gradients_of_gind_are_those_of_unrolling():
    torch.manual_seed(0)
    graph = Data(x=torch.randn(6, 4).double(), edge_index=ring(6))
    model = GraphGIND(4, 5, 2, kappa=0.9, layers=1, tol=1e-11).double().eval()
    target = torch.randn(6, 5).double()
    (model.diffuse(0, model.inputs[0](graph.x), graph) * target).sum().backward()
    implicit = [p.grad.clone() for p in (model.weights[0].raw, model.inputs[0].weight)]
    model.zero_grad()
    matrix = incidence(graph.edge_index, 6).as_torch().to_dense().double()
    bias, weight = model.inputs[0](graph.x), model.weights[0]()
    z = torch.zeros_like(bias)
    for _ in range(300):
        z = -matrix.T @ torch.tanh(matrix @ (z + bias) @ weight) @ weight.T
    ((bias + z) * target).sum().backward()
    unrolled = [p.grad for p in (model.weights[0].raw, model.inputs[0].weight)]
    torch.testing.assert_close(implicit, unrolled, atol=1e-8, rtol=1e-6)


def test_mignn_states_solve_the_equation_by_either_splitting():
    torch.manual_seed(0)
    batch = Batch.from_data_list(members(3))
    results = []
    for splitting in ("forward-backward", "peaceman-rachford"):
        torch.manual_seed(1)
        model = GraphMIGNN(4, 6, 2, layers=1, splitting=splitting, tol=1e-7).double().eval()
        with torch.no_grad():
            results.append(model(batch))
    torch.testing.assert_close(*results, atol=1e-5, rtol=1e-5)
