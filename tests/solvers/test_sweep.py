"""Sweeps under the one loop: what is counted, what is returned, and what ends a solve."""

from dataclasses import dataclass

import pytest
import torch

from ignn_solver import IGNN, datasets, fit_solver, load_solver
from ignn_solver.adjacency import Adjacency
from ignn_solver.certificate import certify
from ignn_solver.equilibrium import EquilibriumMap
from ignn_solver.errors import InputError
from ignn_solver.learning.momentum import MomentumOptions, fit_momentum
from ignn_solver.nn.parametrize import PARAMETRIZATIONS
from ignn_solver.solvers import Anderson, Picard, Sweep
from ignn_solver.solving import Status, solve
from ignn_solver.sweeping import SweepMap
from problems import ACTIVATIONS, DOUBLE, GRAPHS, linear, nonlinear, weight_of, zero

BASES = ("plain", "sweep")


def dense_graph(nodes=400, degree=40, width=6, seed=0):
    """Many neighbours a node, where sweeps pay most."""
    torch.manual_seed(seed)
    edges = torch.randint(nodes, (2, nodes * degree // 2))
    weight, contraction = weight_of("cayley", width, 0.9)
    adjacency = Adjacency.from_edge_index(edges, num_nodes=nodes, undirected=True, dtype=DOUBLE)
    bias = torch.rand(nodes, width, dtype=DOUBLE)
    return EquilibriumMap(adjacency, weight, bias, contraction)


@pytest.fixture
def calls(monkeypatch):
    """How often a sweep and how often f itself was evaluated."""
    counted = {"evaluate": 0, "measure": 0}
    for name in counted:
        original = getattr(SweepMap, name)

        def wrapped(self, *arguments, name=name, original=original):
            counted[name] += 1
            return original(self, *arguments)

        monkeypatch.setattr(SweepMap, name, wrapped)
    return counted


@pytest.mark.parametrize("name", GRAPHS)
def test_the_answer_is_that_of_plain_iteration(name):
    problems = [linear(name, kind) for kind in PARAMETRIZATIONS]
    problems += [nonlinear(name, kind, act) for kind in PARAMETRIZATIONS for act in ACTIVATIONS]
    for problem in problems:
        solution = solve(problem.f, Sweep(), tol=1e-9, on_failure="raise")
        assert solution.converged
        torch.testing.assert_close(solution.value, problem.answer, rtol=1e-6, atol=1e-7)


def test_a_fixed_point_at_zero_is_reached():
    solution = solve(zero("weighted").f, Sweep(), tol=1e-6, on_failure="raise")
    assert torch.equal(solution.value, torch.zeros_like(solution.value))


def test_fewer_evaluations_than_plain_iteration_and_all_are_counted(calls):
    f = dense_graph()
    plain = solve(f, Picard(), tol=1e-6)
    swept = solve(f, Sweep(), tol=1e-6)
    assert swept.num_evals < plain.num_evals
    assert swept.num_evals == calls["evaluate"] + calls["measure"] == swept.trace.shape[0]
    assert calls["measure"] <= 2


def test_what_is_returned_was_measured_on_f_itself():
    f = dense_graph()
    solution = solve(f, Sweep(), tol=1e-4)
    assert solution.residual <= 1e-4
    # The value is f(z): its own residual is at most that of z, and bounded node by node.
    value = f.evaluate(solution.value)
    residual = float((value.residual_sq.sum() / value.value_sq.sum()).sqrt())
    assert residual <= 0.9 * solution.residual * (1 + 1e-6)
    bound = f.contraction.factor * f.adjacency.matmul(solution.node_residual)
    assert bool((value.residual_sq.sqrt() <= bound * (1 + 1e-9)).all())
    total = float(solution.node_residual.square().sum())
    size = float(solution.value.square().sum())
    assert solution.residual == pytest.approx((total / size) ** 0.5)


def test_the_certificate_holds_at_the_end_and_at_every_sweep():
    f = dense_graph()
    answer = solve(f, tol=1e-13, on_failure="return").value
    solution = solve(f, Sweep(), tol=1e-2)
    error = torch.linalg.vector_norm(solution.value - answer, dim=1)
    assert bool((certify(f, solution).bound >= error).all())
    found = []

    def stop_at(number):
        return lambda spent, evaluation: spent == number

    for number in (1, 2, 3):
        early = solve(f, Sweep(), tol=1e-12, observer=stop_at(number))
        error = torch.linalg.vector_norm(early.value - answer, dim=1)
        found.append(float(error.max()))
        assert bool((certify(f, early).bound >= error).all())
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_out_of_evaluations_the_last_one_is_of_f(limit, calls):
    f = dense_graph()
    solution = solve(f, Sweep(), tol=1e-12, max_evals=limit, on_failure="return")
    assert solution.status is Status.MAX_EVALS
    assert solution.num_evals == limit
    assert calls["measure"] == 1
    z = f.start()
    sweeps = SweepMap(f)
    for _ in range(limit - 1):
        z = sweeps.evaluate(z).value
    torch.testing.assert_close(solution.value, f(z))


def test_graphs_of_a_batch_stop_on_their_own():
    problem = nonlinear("batch")
    solution = solve(problem.f, Sweep(), tol=1e-8, on_failure="raise")
    torch.testing.assert_close(solution.value, problem.answer, rtol=1e-6, atol=1e-7)
    assert len(solution.statuses) == 3
    # Without edges a graph is solved sooner.
    assert int(solution.evals[2]) <= int(solution.evals.max())


@dataclass(frozen=True)
class SweptAnderson(Anderson):
    base: str = "sweep"


def test_any_solver_can_step_on_sweeps():
    f = dense_graph()
    answer = solve(f, tol=1e-12, on_failure="return").value
    for safeguard in (False, True):
        solution = solve(f, SweptAnderson(safeguard=safeguard), tol=1e-8, on_failure="raise")
        torch.testing.assert_close(solution.value, answer, rtol=1e-6, atol=1e-7)


def test_what_cannot_be_swept_is_said():
    class Other:
        adjacency, bias, contraction = (
            getattr(linear("chain").f, name) for name in ("adjacency", "bias", "contraction")
        )

    with pytest.raises(InputError, match="Other cannot be swept in place"):
        solve(Other(), Sweep())
    with pytest.raises(InputError, match='base must be "plain" or "sweep", not \'sideways\''):
        solve(linear("chain").f, SweptAnderson(base="sideways"))


def test_the_learned_solver_can_be_fitted_to_sweeps(calls):
    f = dense_graph()
    answer = solve(f, tol=1e-12, on_failure="return").value
    # From the same start, so that only the steps differ.
    options = {base: MomentumOptions(base=base, narrow=0) for base in BASES}
    fitted = {base: fit_momentum(f, answer, options[base]) for base in BASES}
    assert calls["evaluate"] > 0
    assert calls["measure"] == 0
    solutions = {base: solve(f, fitted[base], tol=1e-6, on_failure="raise") for base in BASES}
    assert solutions["sweep"].num_evals < solutions["plain"].num_evals
    assert calls["measure"] > 0
    torch.testing.assert_close(solutions["sweep"].value, answer, rtol=1e-5, atol=1e-6)
    with pytest.raises(InputError, match="not 'upwards'"):
        MomentumOptions(base="upwards")


def test_an_adapted_solver_stays_on_its_base(tmp_path):
    data = datasets.load("blocks:200")
    model = IGNN(data.num_features, 8, data.num_classes)
    solver = fit_solver(model, data, base="sweep")
    assert solver.base == "sweep"
    assert solver.adapt(model, data).base == "sweep"
    solver.save(tmp_path)
    assert load_solver(tmp_path).base == "sweep"
