"""Rough evaluations: close where they claim to be, never the last word, and no trace of them in the answer."""

from dataclasses import replace

import pytest
import torch

import ignn_solver as ig
from ignn_solver import kernels, rough
from ignn_solver.adjacency import Adjacency
from ignn_solver.equilibrium import Contraction, EquilibriumMap
from ignn_solver.learning.momentum import MomentumOptions, fit_momentum
from ignn_solver.rough import RoughMap
from ignn_solver.solvers.learned import Learned

NODES, WIDTH = 300, 32


@pytest.fixture(autouse=True)
def everywhere(monkeypatch):
    """As if every machine had the instructions and every graph were large."""
    monkeypatch.setattr(rough, "_WORTHWHILE", 0)
    monkeypatch.setattr(kernels, "HAS_PAIRS", True)


def problem(batch=None, dtype=torch.float32, activation="relu"):
    random = torch.Generator().manual_seed(0)
    source = torch.arange(NODES).repeat(4)
    target = (source + torch.randint(1, 40, source.shape, generator=random)) % NODES
    if batch is not None:
        same = batch[source] == batch[target]
        source, target = source[same], target[same]
    adjacency = Adjacency.from_edge_index(
        torch.stack([source, target]), num_nodes=NODES, undirected=True, batch=batch, dtype=dtype
    )
    weight = 0.9 * torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=random)).Q
    bias = torch.randn(NODES, WIDTH, generator=random)
    return EquilibriumMap(adjacency, weight.to(dtype), bias.to(dtype), Contraction(0.9), activation)


def fitted(f):
    return fit_momentum(f, ig.solve(f, tol=1e-6).value, MomentumOptions(rank=8))


@pytest.mark.parametrize("name", ["numba", "torch"])
@pytest.mark.parametrize("activation", kernels.ACTIVATIONS)
def test_the_error_is_a_share_of_the_change(name, activation, monkeypatch):
    monkeypatch.setenv("IGNN_SOLVER_KERNELS", name)
    f = problem(activation=activation)
    base = torch.rand(NODES, WIDTH)
    around = RoughMap(f, base)
    for one, other in zip(around.at_base, f.evaluate(base), strict=True):
        torch.testing.assert_close(one, other)
    for size in (1.0, 1e-2, 1e-4):
        change = size * torch.randn(NODES, WIDTH)
        found, exact = around.evaluate(base + change), f.evaluate(base + change)
        assert (found.value - exact.value).norm() <= 0.01 * change.norm() + 1e-6 * base.norm()
        torch.testing.assert_close(found.residual_sq, exact.residual_sq, rtol=0.05, atol=1e-6)
        torch.testing.assert_close(found.value_sq, exact.value_sq, rtol=0.05, atol=1e-6)


def test_rough_evaluations_change_neither_the_count_nor_the_answer(monkeypatch):
    f = problem()
    solver = fitted(f)
    assert solver.rough_evaluations(1e-3) > 1
    used = []
    once = RoughMap.evaluate
    monkeypatch.setattr(RoughMap, "evaluate", lambda *args: used.append(args) or once(*args))
    found = ig.solve(f, solver, tol=1e-3)
    assert len(used) == solver.rough_evaluations(1e-3)
    monkeypatch.setattr(kernels, "HAS_PAIRS", False)
    exact = ig.solve(f, solver, tol=1e-3)
    assert found.num_evals == exact.num_evals
    assert int(found.rejected.sum()) == 0
    torch.testing.assert_close(found.trace, exact.trace, rtol=0.05, atol=0)
    assert (found.value - exact.value).norm() <= 1e-3 * exact.value.norm()


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3, 1e-4, 1e-6])
def test_the_residual_reported_is_one_of_f(tol):
    f = problem()
    found = ig.solve(f, fitted(f), tol=tol)
    assert found.converged
    again = f.evaluate(found.value)
    relative = float((again.residual_sq.sum() / again.value_sq.sum()).sqrt())
    assert relative <= 0.95 * found.residual <= 0.95 * tol


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_last_evaluation_is_one_of_f_however_few(most):
    f = problem()
    found = ig.solve(f, fitted(f), tol=0, max_evals=most, on_failure="return")
    again = f.evaluate(found.value)
    relative = float((again.residual_sq.sum() / again.value_sq.sum()).sqrt())
    assert relative <= found.residual


def test_an_observer_sees_evaluations_of_f_alone():
    f = problem()
    solver, charged = fitted(f), fitted(f).initial(f)[1]

    class Look:
        def __init__(self):
            self.seen = []

        def __call__(self, spent, best):
            exact = f.evaluate(best.value).value
            assert (exact - best.value).norm() <= 0.95 * best.residual_sq.sum().sqrt()
            self.seen.append(spent)
            return False

    every, late = Look(), Look()
    found = ig.solve(f, solver, tol=1e-3, observer=every)
    assert every.seen == list(range(charged + 1, found.num_evals + 1))
    late.looks_from = 1e-2
    found = ig.solve(f, solver, tol=1e-3, observer=late)
    rough = solver.rough_evaluations(1e-2)
    assert 0 < rough < solver.rough_evaluations(1e-3)
    assert late.seen == list(range(charged + 2 + rough, found.num_evals + 1))


def test_an_observer_is_not_called_above_where_it_looks_from_even_in_the_end():
    f = problem()
    solver, charged = fitted(f), fitted(f).initial(f)[1]
    seen = []

    def look(spent, best):
        seen.append(spent)
        return False

    look.looks_from = 1e-3
    most = charged + 3
    assert solver.rough_evaluations(1e-3) > 2
    found = ig.solve(f, solver, tol=1e-6, max_evals=most, on_failure="return", observer=look)
    assert seen == []
    # The last evaluation was one of f all the same.
    assert found.num_evals == most
    again = f.evaluate(found.value)
    assert found.residual > 1e-3
    assert float((again.residual_sq.sum() / again.value_sq.sum()).sqrt()) <= 0.95 * found.residual


def test_a_solve_that_goes_better_than_expected_ends_when_it_is_done():
    f = problem()
    solver = fitted(f)
    expected = ig.solve(f, solver, tol=1e-3)
    slow = replace(solver, details={**solver.details, "residuals": [1.0] * 14})
    assert slow.rough_evaluations(1e-3) == 13
    found = ig.solve(f, slow, tol=1e-3)
    assert found.converged
    assert found.num_evals <= expected.num_evals + 1


@pytest.mark.parametrize("backend", ["numba", "torch"])
def test_a_solver_may_hand_out_views(backend, monkeypatch):
    monkeypatch.setenv("IGNN_SOLVER_KERNELS", backend)

    class Viewing(Learned):
        def initial(self, f):
            z, cost = super().initial(f)
            return z.detach(), cost

        def step(self, z, fz, state):
            z, state = super().step(z, fz, state)
            return z[:], state

    f = problem()
    solver = fitted(f)
    expected = ig.solve(f, solver, tol=1e-4)
    found = ig.solve(f, Viewing(**solver.tensors(), details=solver.details), tol=1e-4)
    assert found.num_evals == expected.num_evals
    torch.testing.assert_close(found.value, expected.value, rtol=1e-3, atol=1e-4)


def test_where_it_would_not_pay_nothing_is_rough(monkeypatch):
    def refuse(*args):
        raise AssertionError("a rough evaluation")

    f = problem()
    solver = fitted(f)
    monkeypatch.setattr(RoughMap, "__init__", refuse)
    assert ig.solve(f, solver, z0=f.start()).converged
    assert ig.solve(f).converged
    batch = torch.arange(NODES) // (NODES // 3)
    several = problem(batch)
    assert ig.solve(several, fitted(several)).converged
    double = problem(dtype=torch.float64)
    assert ig.solve(double, fitted(double)).converged


def test_an_answer_is_never_written_over():
    f = problem()
    solver = fitted(f)
    view = ig.solve(f, solver, tol=1e-3).value[:5]
    kept = view.clone()
    other = EquilibriumMap(f.adjacency, f.weight, -f.bias, f.contraction)
    for _ in range(3):
        ig.solve(other, solver, tol=1e-3, on_failure="return")
        ig.solve(other)
    assert torch.equal(view, kept)
