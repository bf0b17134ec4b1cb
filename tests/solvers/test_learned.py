from dataclasses import replace

import pytest
import torch

import ignn_solver as ig
from ignn_solver.adjacency import Adjacency
from ignn_solver.equilibrium import AdjointMap, EquilibriumMap
from ignn_solver.errors import InputError
from ignn_solver.learning.momentum import MomentumOptions, fit_momentum
from learning.conftest import f, graph, model, solution

__all__ = ["f", "graph", "model", "solution"]


@pytest.fixture(scope="module")
def solver(f, solution):
    return fit_momentum(f, solution, MomentumOptions(steps=8))


def picard(f, tol):
    return ig.solve(f, tol=tol).num_evals


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-4])
def test_it_takes_less_than_half_of_plain_iterations_evaluations(f, solver, tol):
    found = ig.solve(f, solver, tol=tol, on_failure="raise")
    assert found.num_evals <= 0.5 * picard(f, tol)


def test_far_past_its_steps_it_goes_on_converging(f, solver, solution):
    double = EquilibriumMap(
        f.adjacency.to(torch.float64), f.weight.double(), f.bias.double(), f.contraction
    )
    found = ig.solve(double, solver.to(torch.float64), tol=1e-10, on_failure="raise")
    assert found.num_evals > 8
    torch.testing.assert_close(found.value.float(), solution, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scale", [1.0, 1e4, float("nan")])
def test_useless_matrices_cost_little_more_than_plain_iteration(f, solver, scale):
    broken = replace(solver, left=scale * torch.randn_like(solver.left))
    start = f.start()
    found = ig.solve(f, broken, start, tol=1e-4, on_failure="raise")
    assert found.num_evals <= 1.5 * ig.solve(f, z0=start, tol=1e-4).num_evals + 6


def test_with_another_weight_it_uses_its_polynomials(f, solver):
    angle = torch.matrix_exp(0.3 * (lambda c: c - c.T)(torch.randn(16, 16) / 4))
    turned = EquilibriumMap(f.adjacency, f.weight @ angle, f.bias, f.contraction)
    found = ig.solve(turned, solver, tol=1e-4, on_failure="raise")
    assert found.num_evals <= 0.75 * picard(turned, 1e-4)


def test_the_backward_fixed_point_is_accelerated_too(f, solver, solution):
    adjoint = AdjointMap(
        f.adjacency,
        f.weight.T.contiguous(),
        torch.randn_like(f.bias),
        f.derivative(solution),
        f.contraction,
    )
    plain, fast = ig.solve(adjoint, tol=1e-5), ig.solve(adjoint, solver, tol=1e-5)
    assert fast.num_evals <= 0.75 * plain.num_evals
    torch.testing.assert_close(fast.value, plain.value, rtol=1e-3, atol=1e-3)


def test_a_graph_never_sees_its_batch_mates(f, solver):
    n = f.adjacency.num_nodes
    index = torch.stack([f.adjacency.matrix.row, f.adjacency.matrix.col]).long()
    batch = torch.arange(2).repeat_interleave(n)
    both = Adjacency.from_edge_index(
        torch.cat([index, index + n], 1), num_nodes=2 * n, undirected=True, batch=batch
    )
    joined = EquilibriumMap(
        both, f.weight, torch.cat([f.bias, 50 * torch.randn_like(f.bias)]), f.contraction
    )
    alone, together = ig.solve(f, solver, tol=1e-4), ig.solve(joined, solver, tol=1e-4)
    assert int(together.evals[0]) == alone.num_evals
    torch.testing.assert_close(together.value[:n], alone.value, rtol=1e-4, atol=1e-5)


def test_a_model_of_another_width_is_refused(f, solver):
    narrow = EquilibriumMap(f.adjacency, 0.5 * torch.eye(3), torch.randn(400, 3), f.contraction)
    with pytest.raises(InputError, match="width 16, but the model has width 3"):
        ig.solve(narrow, solver)
