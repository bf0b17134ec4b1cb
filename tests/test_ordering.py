"""The order of the nodes inside a solve: invisible, but for speed."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ignn_solver import Adjacency, EquilibriumMap, InputError, Sweep, ordering, solve
from ignn_solver.equilibrium import AdjointMap
from ignn_solver.nn.parametrize import parametrization
from ignn_solver.ordering import ORDERS, ordered, settle_order


def ring(nodes: int, seed: int = 0) -> tuple[Adjacency, torch.Tensor]:
    """A ring whose nodes have random numbers, and the number of each place on it."""
    numbers = torch.randperm(nodes, generator=torch.Generator().manual_seed(seed))
    edges = torch.stack([numbers, numbers.roll(1)])
    return Adjacency.from_edge_index(edges, undirected=True), numbers


def random_map(adjacency: Adjacency, width: int = 8) -> EquilibriumMap:
    torch.manual_seed(0)
    weight = parametrization("cayley", width, 0.9)
    bias = torch.randn(adjacency.num_nodes, width)
    return EquilibriumMap(adjacency, weight().detach(), bias, weight.contraction)


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_is_a_relabelling(name):
    adjacency, _ = ring(60)
    order = ordered(adjacency, name, 8)
    assert torch.equal(order.nodes.sort().values, torch.arange(60))
    assert torch.equal(order.nodes[order.places], torch.arange(60))
    x = torch.randn(60, 3)
    there = order.adjacency.matmul(x[order.nodes])[order.places]
    assert torch.allclose(there, adjacency.matmul(x), atol=1e-6)
    assert torch.equal(order.adjacency.degree, adjacency.degree[order.nodes])


def test_cuthill_mckee_puts_the_neighbours_of_a_ring_two_apart():
    adjacency, _ = ring(500)
    matrix = ordered(adjacency, "rcm").adjacency.matrix
    reach = (matrix.row - matrix.col).abs()
    assert int(reach.max()) == 2


def test_the_order_by_degree_starts_with_the_hub():
    star = Adjacency.from_edge_index(torch.tensor([[0, 1, 2], [3, 3, 3]]), undirected=True)
    assert int(ordered(star, "degree").nodes[0]) == 3


def test_metis_keeps_two_separate_halves_apart():
    halves = np.kron(np.eye(2), np.ones((10, 10)))
    mixed = np.random.default_rng(0).permutation(20)
    row, col = sp.coo_matrix(halves[np.ix_(mixed, mixed)]).coords
    graph = Adjacency.from_edge_index(torch.tensor(np.stack([row, col])), undirected=True)
    nodes = ordered(graph, "metis").nodes
    assert {frozenset((mixed[part] // 10).tolist()) for part in nodes.split(10)} == {
        frozenset({0}),
        frozenset({1}),
    }


@pytest.mark.parametrize("solver", [None, Sweep()])
def test_a_solve_in_another_order_gives_the_answer_in_the_users(solver):
    adjacency, _ = ring(80)
    f = random_map(adjacency)
    before = solve(f, solver, tol=1e-6)
    adjacency.order = ordered(adjacency, "rcm")
    after = solve(f, solver, tol=1e-6)
    assert torch.allclose(after.value, before.value, atol=1e-5)
    started = solve(f, solver, before.value, tol=1e-5)
    assert started.num_evals <= 3
    # The residual of each node is the one at its own place.
    plain = solve(f, tol=0.0, max_evals=3, on_failure="return")
    adjacency.order = None
    wanted = solve(f, tol=0.0, max_evals=3, on_failure="return")
    assert torch.allclose(plain.node_residual, wanted.node_residual, atol=1e-6)


def test_the_backward_fixed_point_is_turned_too():
    adjacency, _ = ring(40)
    f = random_map(adjacency)
    scale = torch.rand(40, 8)
    backward = AdjointMap(adjacency, f.weight.T.contiguous(), f.bias, scale, f.contraction)
    before = solve(backward, tol=1e-6).value
    adjacency.order = ordered(adjacency, "rcm")
    assert torch.allclose(solve(backward, tol=1e-6).value, before, atol=1e-5)


def test_small_graphs_keep_their_order_and_the_choice_is_made_once(monkeypatch):
    adjacency, _ = ring(60)
    assert settle_order(adjacency, 8) is None
    monkeypatch.setattr(ordering, "_CACHED_BYTES", 0)
    assert settle_order(adjacency, 8) is None, "it was settled before"


def test_the_fastest_order_is_chosen(monkeypatch):
    adjacency, _ = ring(60)
    monkeypatch.setattr(ordering, "_CACHED_BYTES", 0)
    seconds = {id(adjacency): 3.0}
    monkeypatch.setattr(
        ordering, "_product_seconds", lambda one, x: seconds.get(id(one), float(one.matrix.col[0]))
    )
    monkeypatch.setattr(ordering, "_copy_seconds", lambda order, x: copies)
    copies = 0.1
    chosen = settle_order(adjacency, 8)
    assert chosen is not None
    assert chosen is adjacency.order
    assert float(chosen.adjacency.matrix.col[0]) < 3.0
    # Where turning the states costs more than eight products gain, they stay as they are.
    adjacency.order_settled, copies = False, 20.0
    assert settle_order(adjacency, 8) is None


def test_directed_graphs_and_batches_keep_their_order(monkeypatch):
    monkeypatch.setattr(ordering, "_CACHED_BYTES", 0)
    directed = Adjacency.from_edge_index(torch.tensor([[0, 1], [1, 2]]))
    assert settle_order(directed, 4) is None
    edges, batch = torch.tensor([[0, 2], [1, 3]]), torch.tensor([0, 0, 1, 1])
    pair = Adjacency.from_edge_index(edges, undirected=True, batch=batch)
    assert settle_order(pair, 4) is None


def test_an_unknown_order_is_refused():
    adjacency, _ = ring(10)
    with pytest.raises(InputError, match="unknown order 'alphabet': choose one of rcm"):
        ordered(adjacency, "alphabet")
