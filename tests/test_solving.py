"""The one loop: what it counts, when it stops, what it returns, and what it never touches."""

import math

import pytest
import torch

from ignn_solver.equilibrium import Contraction, EquilibriumMap, Evaluation
from ignn_solver.errors import InputError
from ignn_solver.solvers import Anderson, Picard
from ignn_solver.solving import SolveError, Status, solve
from problems import (
    ACTIVATIONS,
    DOUBLE,
    GRAPHS,
    SOLVERS,
    linear,
    nonlinear,
    weight_of,
)
from scripted import Counted, Scripted

# Counting and stopping.


@pytest.mark.parametrize("max_evals", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("solver", SOLVERS)
def test_evaluations_are_counted_exactly_and_never_exceed_the_limit(solver, max_evals):
    f = Counted(nonlinear("chain").f)
    solution = solve(f, SOLVERS[solver], tol=1e-6, max_evals=max_evals, on_failure="return")
    assert len(f.points) == solution.num_evals <= max_evals
    assert solution.trace.shape == (len(f.points), 1)
    assert len(solution.seconds) == len(f.points)
    assert solution.seconds == sorted(solution.seconds)
    assert solution.converged == (max_evals == 1000)


def test_an_initializer_is_charged():
    f = Counted(nonlinear("chain").f)
    plain = solve(f, Scripted(lambda z, fz: fz), tol=1e-6)
    charged = solve(f.f, Scripted(lambda z, fz: fz, cost=2), tol=1e-6)
    assert charged.num_evals == plain.num_evals + 2
    limited = solve(
        f.f, Scripted(lambda z, fz: fz, cost=2), max_evals=5, tol=0, on_failure="return"
    )
    assert limited.num_evals == 5
    assert len(limited.trace) == 3


def test_the_trace_is_the_relative_residual_at_every_point():
    problem = nonlinear("weighted")
    f = Counted(problem.f)
    solution = solve(f, Anderson(), tol=1e-6)
    for z, relative in zip(f.points, solution.trace[:, 0], strict=True):
        image = problem.f(z)
        assert float((image - z).norm() / image.norm()) == pytest.approx(float(relative), rel=1e-6)
    assert solution.residual == solution.trace[-1]
    torch.testing.assert_close(
        solution.node_residual, (problem.f(f.points[-1]) - f.points[-1]).norm(dim=1)
    )


def test_a_residual_of_exactly_the_tolerance_stops():
    f = nonlinear("chain").f
    free = solve(f, tol=0, max_evals=9, on_failure="return")
    stopped = solve(f, tol=float(free.trace[4, 0]))
    assert stopped.num_evals == 5


@pytest.mark.parametrize("watch", [False, True])
def test_the_best_iterate_comes_back_when_a_solver_diverges(watch):
    problem = nonlinear("chain")
    f = Counted(problem.f)
    steps = iter([1.0, 1.0, 1.0, *[-3.0] * 50])
    solver = Scripted(lambda z, fz: z + next(steps) * (fz - z))
    solution = solve(f, solver, tol=1e-9, max_evals=20, on_failure="return", safeguard=watch)
    best = int(solution.trace[:, 0].argmin())
    assert solution.residual == solution.trace[best, 0]
    assert torch.equal(solution.value, problem.f.evaluate(f.points[best]).value)
    assert solution.num_evals == 20
    if not watch:
        assert best == 3
        assert solution.status is Status.MAX_EVALS


def test_overflow_is_non_finite_and_the_best_iterate_is_finite():
    graph = GRAPHS["chain"]
    weight = 3 * torch.eye(2)
    f = EquilibriumMap(
        graph.adjacency(torch.float32), weight, torch.ones(7, 2), Contraction(math.inf)
    )
    solution = solve(f, on_failure="return", max_evals=500)
    assert solution.status is Status.NON_FINITE
    assert solution.value.isfinite().all()
    assert solution.residual == float(solution.trace[solution.trace.isfinite()].min())
    assert solution.num_evals < 100


@pytest.mark.parametrize("watch", [False, True])
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_non_finite_start_is_reported_at_once(watch, value):
    f = nonlinear("chain").f
    z0 = torch.zeros_like(f.bias)
    z0[2, 1] = value
    solution = solve(f, z0=z0, on_failure="return", safeguard=watch)
    assert solution.status is Status.NON_FINITE
    assert solution.num_evals == 1
    assert solution.residual == math.inf
    assert "check the features and the edge weights" in solution.status.value


def test_the_worst_status_of_a_batch_counts():
    f = linear("batch").f
    f.bias[4] = torch.nan
    solution = solve(f, tol=0, max_evals=3, on_failure="return")
    assert solution.statuses == (Status.MAX_EVALS, Status.NON_FINITE, Status.MAX_EVALS)
    assert solution.status is Status.NON_FINITE
    assert not solution.converged
    with pytest.raises(SolveError, match=r"^3 of 3 graphs: a non-finite value appeared"):
        solve(f, tol=0, max_evals=3, on_failure="raise")


def test_failure_raises_warns_or_returns():
    f = nonlinear("chain").f
    sentence = r"ran out of evaluations .*raise max_evals.* after 3 evaluations, wanted 1.00e-09\)"
    with pytest.raises(SolveError, match=sentence) as caught:
        solve(f, tol=1e-9, max_evals=3, on_failure="raise")
    assert caught.value.solution.num_evals == 3
    with pytest.warns(RuntimeWarning, match=sentence) as warned:
        solution = solve(f, tol=1e-9, max_evals=3)
    assert warned[0].filename == __file__
    assert solution.status is Status.MAX_EVALS
    assert torch.equal(caught.value.solution.value, solution.value)
    assert solve(f, tol=1e-9, max_evals=3, on_failure="return").residual == solution.residual


def test_an_observer_sees_the_best_so_far_and_may_stop_the_solve():
    f = nonlinear("chain").f
    seen = []

    def watch(evals: int, best: Evaluation) -> bool:
        seen.append((evals, float(best.residual_sq.sum().sqrt() / best.value_sq.sum().sqrt())))
        return evals == 4

    solution = solve(f, tol=1e-12, observer=watch, on_failure="raise")
    assert [evals for evals, _ in seen] == [1, 2, 3, 4]
    assert solution.num_evals == 4
    assert solution.converged
    assert seen[-1][1] == pytest.approx(solution.residual)
    broken = solve(
        f, z0=torch.full_like(f.bias, torch.nan), observer=lambda *_: True, on_failure="return"
    )
    assert broken.status is Status.NON_FINITE


# Memory.


@pytest.mark.parametrize("watch", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_start_is_never_modified_and_results_are_never_overwritten(solver, watch):
    problem = nonlinear("batch", activation="tanh")
    z0 = torch.randn_like(problem.answer)
    given_z0, given_bias = z0.clone(), problem.f.bias.clone()
    first = solve(problem.f, SOLVERS[solver], z0, tol=1e-6, safeguard=watch)
    kept = first.value.clone()
    second = solve(problem.f, SOLVERS[solver], first.value, tol=1e-9, safeguard=watch)
    solve(problem.f, SOLVERS[solver], torch.zeros_like(z0), tol=1e-6, safeguard=watch)
    assert torch.equal(z0, given_z0)
    assert torch.equal(problem.f.bias, given_bias)
    assert torch.equal(first.value, kept)
    assert second.value.data_ptr() != first.value.data_ptr()


@pytest.mark.parametrize("backend", ["numba", "torch"])
@pytest.mark.parametrize("watch", [False, True])
@pytest.mark.parametrize("view", ["detach", "slice"])
def test_a_solver_may_hand_back_a_view(monkeypatch, backend, watch, view):
    monkeypatch.setenv("IGNN_SOLVER_KERNELS", backend)
    problem = nonlinear("chain")
    views = {"detach": lambda z, fz: fz.detach(), "slice": lambda z, fz: fz[:]}
    solution = solve(problem.f, Scripted(views[view]), tol=1e-9, safeguard=watch)
    plain = solve(problem.f, Picard(), tol=1e-9)
    assert torch.equal(solution.trace, plain.trace)
    assert torch.equal(solution.value, plain.value)


@pytest.mark.parametrize("backend", ["numba", "torch"])
def test_one_more_evaluation_is_within_kappa_of_the_residual(monkeypatch, backend):
    monkeypatch.setenv("IGNN_SOLVER_KERNELS", backend)
    for name in GRAPHS:
        for activation in ACTIVATIONS:
            f = nonlinear(name, "symmetric", activation).f
            solution = solve(f, Anderson(), tol=1e-3)
            again = (f(solution.value) - solution.value).norm()
            assert again <= f.contraction.factor * solution.node_residual.norm() + 1e-14


def test_a_start_of_another_type_or_layout_gives_the_same():
    problem = nonlinear("chain")
    z0 = torch.randn(3, 7).T
    expected = solve(problem.f, z0=z0.double().contiguous(), tol=1e-6)
    assert torch.equal(solve(problem.f, z0=z0, tol=1e-6).value, expected.value)
    turned = EquilibriumMap(
        problem.f.adjacency,
        problem.f.weight,
        problem.f.bias.T.contiguous().T,
        problem.f.contraction,
    )
    torch.testing.assert_close(
        solve(turned, tol=1e-6).value, solve(problem.f, tol=1e-6).value, rtol=1e-12, atol=1e-12
    )


def test_gradients_neither_hinder_nor_leak():
    problem = nonlinear("chain")
    weight = problem.f.weight.clone().requires_grad_()
    bias = problem.f.bias.clone().requires_grad_()
    f = EquilibriumMap(problem.f.adjacency, weight, bias, problem.f.contraction)
    z0 = torch.zeros_like(bias, requires_grad=True)
    for solver in SOLVERS.values():
        assert not solve(f, solver, z0, tol=1e-6).value.requires_grad
        assert not solve(f, solver, tol=1e-6).value.requires_grad


def test_single_precision_converges_to_its_limits():
    weight, contraction = weight_of("cayley", 4, 0.9)
    graph = GRAPHS["weighted"]
    bias = torch.randn(6, 4)
    f = EquilibriumMap(graph.adjacency(torch.float32), weight.float(), bias, contraction)
    for solver in SOLVERS.values():
        solution = solve(f, solver, tol=1e-5, on_failure="raise")
        assert solution.value.dtype == torch.float32
        assert solution.residuals.dtype == solution.trace.dtype == DOUBLE


# Bad arguments.


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"tol": -1e-3}, "tol must be at least 0, not -0.001"),
        ({"tol": math.nan}, "tol must be at least 0, not nan"),
        ({"max_evals": 0}, "max_evals must be at least 1, not 0"),
        ({"on_failure": "ignore"}, "on_failure must be .* not 'ignore'"),
        ({"z0": torch.zeros(7, 2)}, r"z0 has shape \(7, 2\), not \(7, 3\)"),
        ({"z0": torch.zeros(21)}, r"z0 has shape \(21,\), not \(7, 3\)"),
    ],
)
def test_bad_arguments_are_refused_with_a_sentence(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        solve(nonlinear("chain").f, **arguments)
