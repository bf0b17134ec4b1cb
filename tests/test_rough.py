"""Leaps: close where they claim to be, never the last word, and no trace of them in the answer."""

import math
from dataclasses import replace

import pytest
import torch

import ignn_solver as ig
from ignn_solver import kernels, rough
from ignn_solver.adjacency import Adjacency
from ignn_solver.equilibrium import Contraction, EquilibriumMap
from ignn_solver.kernels import leap, products
from ignn_solver.kernels.vectors import HAS_PAIRS
from ignn_solver.learning.momentum import MomentumOptions, fit_momentum
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


def leaps_of(monkeypatch):
    """The number of rough evaluations of each leap from now on."""
    made, once = [], rough.leap_from

    def noted(*args):
        landing = once(*args)
        made.append(len(landing.residuals))
        return landing

    monkeypatch.setattr("ignn_solver.solvers.learned.leap_from", noted)
    return made


@pytest.mark.parametrize("name", ["numba", "torch"])
@pytest.mark.parametrize("activation", kernels.ACTIVATIONS)
@pytest.mark.parametrize("far", [1.0, 1e-2, 1e-4])
def test_the_error_is_a_share_of_the_change(name, activation, far, monkeypatch):
    monkeypatch.setenv("IGNN_SOLVER_KERNELS", name)
    f = problem(activation=activation)
    exact = ig.solve(f, tol=1e-7).value
    start = exact + far * torch.randn(NODES, WIDTH)
    base = rough.base_at(f, start)
    for one, other in zip(base.evaluation, f.evaluate(start), strict=True):
        torch.testing.assert_close(one, other)
    landing = rough.leap_from(base, lambda number: None, lambda number: 1.0, 0.0, 1)
    first = base.evaluation.value
    second = f.evaluate(first).value
    change = (first - start).norm()
    assert (landing.before() - first).norm() <= 0.01 * change + 1e-6 * start.norm()
    assert (landing.point - second).norm() <= 0.01 * change + 1e-6 * start.norm()
    known = float((second - first).norm() / second.norm())
    assert landing.residuals == [pytest.approx(known, rel=0.05)]


def test_it_leaps_only_where_that_saves_evaluations(monkeypatch):
    f = problem()
    solver = fitted(f)
    expected = solver.details["residuals"]
    made = leaps_of(monkeypatch)
    # Two residuals above the tolerance, and three: the fourth evaluation is the last.
    near, far = (math.sqrt(expected[k - 1] * expected[k]) for k in (2, 3))
    assert ig.solve(f, solver, tol=near).converged
    assert made == []
    assert ig.solve(f, solver, tol=far).converged
    assert len(made) >= 1
    # What is not known of a solver does not keep it from leaping.
    unknown = replace(solver, details={k: v for k, v in solver.details.items() if k != "residuals"})
    assert unknown.far(near)
    assert not solver.far(near)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("rank", [0, 8])
@pytest.mark.parametrize("momentum", [False, True])
def test_both_kernels_take_the_same_step(kind, rank, momentum, monkeypatch):
    if kind == torch.bfloat16 and not HAS_PAIRS:
        pytest.skip("this processor has no instructions for pairs of bfloat16")
    f = problem()
    random = torch.Generator().manual_seed(1)
    rows = (1 + momentum) * WIDTH
    left = torch.randn(rows, rank or WIDTH, generator=random) / rows
    right = torch.randn(rank, WIDTH, generator=random)
    base, image, previous, out = torch.rand(4, NODES, WIDTH, generator=random).unbind()
    found = []
    for name in ("numba", "torch"):
        monkeypatch.setenv("IGNN_SOLVER_KERNELS", name)
        is_rough = kind == torch.bfloat16
        weight, *mixing = (products.prepare(m, is_rough) for m in (f.weight, left, right))
        changes, along = ([torch.zeros(NODES, WIDTH, dtype=kind) for _ in range(2)] for _ in "ab")
        sizes = []
        for number in range(3):
            first = (image, previous if momentum else None) if number == 0 else (None, None)
            sizes += leap.step(
                f.adjacency.matrix, base + f.bias, base, *first, (changes[0], changes[1]),
                (along[0], along[1]), weight, tuple(mixing), f.value_range, "relu",
                out if number == 2 else None,
            )  # fmt: skip
            changes.reverse()
            along.reverse()
        assert sizes[:2] == [0.0, 0.0]
        found.append([out.clone(), leap.land(base, changes[0], out).clone(), torch.tensor(sizes)])
    tolerance = 0.01 if kind == torch.bfloat16 else 1e-4
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


def test_leaps_change_neither_the_count_nor_the_answer(monkeypatch):
    f = problem()
    solver = fitted(f)
    made = leaps_of(monkeypatch)
    found = ig.solve(f, solver, tol=1e-3)
    assert len(made) == 1
    # All evaluations but the first and the last.
    assert made[0] == found.trace.shape[0] - 2 > 1
    assert len(found.seconds) == found.trace.shape[0]
    assert found.seconds == sorted(found.seconds)
    monkeypatch.setattr(kernels, "HAS_PAIRS", False)
    exact = ig.solve(f, solver, tol=1e-3)
    assert len(made) == 1
    assert found.num_evals == exact.num_evals
    assert int(found.rejected.sum()) == 0
    torch.testing.assert_close(found.trace, exact.trace, rtol=0.05, atol=0)
    assert (found.value - exact.value).norm() <= 1e-3 * exact.value.norm()


def test_one_leap_after_the_other_reaches_any_tolerance(monkeypatch):
    f = problem()
    solver = fitted(f)
    made = leaps_of(monkeypatch)
    found = ig.solve(f, solver, tol=1e-6)
    assert found.converged
    assert len(made) > 1
    # What lies between two leaps is evaluated in full, and none goes on far below what rounding allows.
    falls = found.trace[0] / found.trace[-1]
    assert falls > 1e4
    monkeypatch.setattr(kernels, "HAS_PAIRS", False)
    assert found.num_evals <= ig.solve(f, solver, tol=1e-6).num_evals + 2


@pytest.mark.parametrize("harm", [1.0, 1e6, float("nan")])
def test_a_leap_astray_costs_little(harm):
    f = problem()
    good = fitted(f)
    random = torch.Generator().manual_seed(2)
    left = harm * torch.randn(good.left.shape, generator=random)
    found = ig.solve(f, replace(good, left=left), tol=1e-4)
    assert found.converged
    assert torch.isfinite(found.value).all()
    assert found.num_evals <= 1.6 * ig.solve(f, tol=1e-4).num_evals + 4


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
    assert late.seen[0] > charged + 2
    assert late.seen[-1] == found.num_evals
    # Everything in between was on the way of a leap.
    above = int((found.trace[:, 0] > 1e-2).sum())
    assert charged + above <= late.seen[0] <= charged + above + 2


def test_an_observer_is_not_called_above_where_it_looks_from_even_in_the_end():
    f = problem()
    solver, charged = fitted(f), fitted(f).initial(f)[1]
    seen = []

    def look(spent, best):
        seen.append(spent)
        return False

    look.looks_from = 1e-3
    most = charged + 3
    found = ig.solve(f, solver, tol=1e-6, max_evals=most, on_failure="return", observer=look)
    assert seen == []
    # The last evaluation was one of f all the same.
    assert found.num_evals == most
    again = f.evaluate(found.value)
    assert found.residual > 1e-3
    assert float((again.residual_sq.sum() / again.value_sq.sum()).sqrt()) <= 0.95 * found.residual


@pytest.mark.parametrize("expected", [[1.0] * 14, [0.5**k for k in range(20)], [0.1, 0.0, 0.0], []])
def test_a_solve_that_goes_otherwise_than_expected_ends_when_it_is_done(expected):
    f = problem()
    solver = fitted(f)
    usual = ig.solve(f, solver, tol=1e-3)
    other = replace(solver, details={**solver.details, "residuals": expected})
    found = ig.solve(f, other, tol=1e-3)
    assert found.converged
    assert found.num_evals <= usual.num_evals + 2


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
        raise AssertionError("a leap")

    f = problem()
    solver = fitted(f)
    monkeypatch.setattr("ignn_solver.solvers.learned.leap_from", refuse)
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
