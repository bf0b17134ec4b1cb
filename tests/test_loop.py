"""A large batch goes on without the graphs that stopped, and nobody can tell from the answer."""

import numpy as np
import pytest
import torch

import ignn_solver as ig
from ignn_solver import loop as module
from ignn_solver import whole
from ignn_solver.adjacency import Adjacency
from ignn_solver.equilibrium import AdjointMap, Contraction, EquilibriumMap
from ignn_solver.learning.momentum import MomentumOptions, fit_momentum
from ignn_solver.loop import Loop

SIZES, WIDTH = (40, 3, 1, 60, 25, 2, 50), 8


def problem(seed=0):
    """Graphs that need from very few to very many evaluations: the states of some are nearly zero."""
    random = torch.Generator().manual_seed(seed)
    batch = torch.arange(len(SIZES)).repeat_interleave(torch.tensor(SIZES))
    first = (torch.tensor(SIZES).cumsum(0) - torch.tensor(SIZES))[batch]
    size = torch.tensor(SIZES)[batch]
    source = torch.arange(len(batch)).repeat(3)
    away = torch.randint(0, 60, source.shape, generator=random)
    target = first.repeat(3) + (source - first.repeat(3) + away) % size.repeat(3)
    adjacency = Adjacency.from_edge_index(
        torch.stack([source, target]), num_nodes=len(batch), undirected=True, batch=batch
    )
    weight = 0.9 * torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=random)).Q
    bias = torch.randn(len(batch), WIDTH, generator=random)
    bias[(batch == 0) | (batch == 3)] -= 1.8
    return EquilibriumMap(adjacency, weight, bias, Contraction(0.9))


@pytest.fixture(params=["picard", "learned", "wrong"])
def solver(request):
    if request.param == "picard":
        return ig.Picard()
    f = problem(1 if request.param == "wrong" else 0)
    return fit_momentum(f, ig.solve(f, tol=1e-6).value, MomentumOptions())


@pytest.mark.parametrize("backward", [False, True])
def test_leaving_graphs_behind_changes_no_answer(solver, backward, monkeypatch):
    f = problem()
    if backward:
        value = ig.solve(f).value
        f = AdjointMap(
            f.adjacency, f.weight.T, torch.randn_like(value), f.derivative(value), f.contraction
        )
    # Small graphs that a learned solver takes whole never come to the loop; larger ones do.
    monkeypatch.setattr(whole, "fits", lambda f, max_evals: False)
    expected = ig.solve(f, solver, tol=1e-4)
    monkeypatch.setattr(module, "_LARGE", 0)
    left = []
    once = Loop.restricted
    monkeypatch.setattr(Loop, "restricted", lambda loop: left.append(loop) or once(loop))
    found = ig.solve(f, solver, tol=1e-4)
    assert len(left) > 0
    assert len(set(expected.evals.tolist())) > 2
    assert found.converged
    assert torch.equal(found.evals, expected.evals)
    assert torch.equal(found.rejected, expected.rejected)
    torch.testing.assert_close(found.value, expected.value, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found.residuals, expected.residuals, rtol=0.02, atol=1e-7)
    torch.testing.assert_close(found.node_residual, expected.node_residual, rtol=0.1, atol=1e-6)
    assert found.trace.shape == expected.trace.shape
    assert len(found.seconds) == len(found.trace)
    until = np.arange(len(found.trace))[:, None] < found.evals.numpy() - (
        expected.num_evals - len(found.trace)
    )
    torch.testing.assert_close(
        found.trace[torch.from_numpy(until)],
        expected.trace[torch.from_numpy(until)],
        rtol=0.02,
        atol=1e-7,
    )


def test_a_solve_cut_short_keeps_the_best_of_both(monkeypatch):
    monkeypatch.setattr(module, "_LARGE", 0)
    f = problem()
    for most in range(1, 30):
        found = ig.solve(f, tol=1e-5, max_evals=most, on_failure="return")
        assert found.residuals.max() <= found.trace.min(0).values.max() * (1 + 1e-6)
        assert int(found.evals.max()) <= most


def test_some_graphs_have_the_adjacency_they_had():
    f = problem()
    chosen = torch.tensor([False, True, False, True, False, False, True])
    part, nodes = f.adjacency.of_graphs(chosen)
    dense = f.adjacency.matmul(torch.eye(f.adjacency.num_nodes))
    torch.testing.assert_close(
        part.matmul(torch.eye(part.num_nodes)), dense[nodes][:, nodes], rtol=0, atol=0
    )
    assert part.graph_sizes.tolist() == [3, 60, 50]
    assert torch.equal(part.degree, f.adjacency.degree[nodes])
    with pytest.raises(ig.InputError, match="single graph"):
        Adjacency.from_edge_index(torch.tensor([[0], [1]])).of_graphs(torch.tensor([True]))


def test_a_map_of_another_kind_keeps_its_batch(monkeypatch):
    monkeypatch.setattr(module, "_LARGE", 0)
    f = problem()

    class Foreign:
        adjacency, bias, contraction = f.adjacency, f.bias, f.contraction
        start, evaluate = f.start, f.evaluate

    found, expected = ig.solve(Foreign(), tol=1e-4), ig.solve(f, tol=1e-4)
    assert torch.equal(found.evals, expected.evals)
    torch.testing.assert_close(found.value, expected.value, rtol=1e-4, atol=1e-5)
