"""Anderson acceleration against a dense implementation of its definition."""

import pytest
import torch
from torch import Tensor

from ignn_solver.equilibrium import AdjointMap, EquilibriumMap
from ignn_solver.errors import InputError
from ignn_solver.solvers import Anderson, Picard
from ignn_solver.solving import Status, solve
from problems import DOUBLE, GRAPHS, linear, nonlinear, weight_of


def linear_map(name: str, width: int = 3, kappa: float = 0.9) -> AdjointMap:
    """``U -> A^T U W^T + G``: linear everywhere, not only near its fixed point."""
    graph = GRAPHS[name]
    weight, contraction = weight_of("symmetric", width, kappa)
    bias = torch.randn(graph.num_nodes, width, dtype=DOUBLE)
    ones = torch.ones_like(bias)
    return AdjointMap(graph.adjacency().transpose, weight.T, bias, ones, contraction.dual)


def reference(f: AdjointMap, window: int, beta: float, steps: int) -> list[Tensor]:
    """The iterates by the textbook: least squares on the differences of residuals."""
    z = f.start()
    points, images, iterates = [], [], [z]
    for _ in range(steps):
        fz = f.evaluate(z).value.clone()
        points, images = [*points, z][-window - 1 :], [*images, fz][-window - 1 :]
        residuals = torch.stack([b - a for a, b in zip(points, images, strict=True)]).flatten(1)
        mixed = torch.stack(
            [beta * b + (1 - beta) * a for a, b in zip(points, images, strict=True)]
        ).flatten(1)
        z = mixed[-1]
        if len(points) > 1:
            differences = (residuals[1:] - residuals[:-1]).T
            gamma = torch.linalg.lstsq(differences, residuals[-1], driver="gelsd").solution
            z = z - (mixed[1:] - mixed[:-1]).T @ gamma
        z = z.view_as(fz)
        iterates.append(z)
    return iterates


def iterates_of(f: AdjointMap, solver: Anderson, steps: int) -> list[Tensor]:
    z = f.start()
    state, found = solver.init(f, z), [z]
    for _ in range(steps):
        z, state = solver.step(z, f.evaluate(z).value, state)
        found.append(z)
    return found


@pytest.mark.parametrize("beta", [1.0, 0.6])
@pytest.mark.parametrize("window", [1, 2, 4])
@pytest.mark.parametrize("name", ["chain", "weighted", "directed"])
def test_it_equals_the_dense_reference(name, window, beta):
    f = linear_map(name)
    expected = reference(f, window, beta, 9)
    found = iterates_of(f, Anderson(window=window, beta=beta), 9)
    answer = expected[-1]
    for step, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert (one - other).norm() <= 1e-6 * answer.norm(), f"step {step}"


@pytest.mark.parametrize("size", [2, 4, 7])
def test_a_linear_problem_of_few_dimensions_is_solved_in_as_many_steps(size):
    f = linear_map("one-node", width=size, kappa=0.95)
    solution = solve(f, Anderson(window=size + 1), tol=1e-8, on_failure="raise")
    assert solution.num_evals <= size + 3
    assert solve(f, Picard(), tol=1e-8).num_evals > 3 * (size + 3)


def test_without_mixing_the_combination_is_that_of_the_images():
    f = linear_map("chain")
    solver = Anderson(window=3, beta=0.3)
    z = f.start()
    state = solver.init(f, z)
    first = f.evaluate(z).value.clone()
    mixed, _ = solver.step(z, first, state)
    torch.testing.assert_close(mixed, 0.3 * first + 0.7 * z)


@pytest.mark.parametrize("scope", ["graph", "node"])
def test_weights_sum_to_one(scope):
    f = nonlinear("batch").f
    solver = Anderson(window=3, scope=scope)
    z = f.start()
    state = solver.init(f, z)
    for _ in range(6):
        z, state = solver.step(z, f.evaluate(z).value, state)
        weights = solver.weights(state)
        torch.testing.assert_close(weights.sum(1), torch.ones(len(weights), dtype=DOUBLE))
    assert weights.shape == (8 if scope == "node" else 3, 4)


def test_node_scope_solves_each_isolated_node_as_its_own_graph():
    f = nonlinear("edgeless").f
    one_node = GRAPHS["one-node"].adjacency()
    by_node = iterates_of(f, Anderson(scope="node"), 6)
    for node in range(5):
        alone = EquilibriumMap(one_node, f.weight, f.bias[node : node + 1], f.contraction)
        for all_nodes, one in zip(by_node, iterates_of(alone, Anderson(), 6), strict=True):
            torch.testing.assert_close(all_nodes[node : node + 1], one, rtol=1e-6, atol=1e-9)


def test_graph_scope_solves_each_graph_of_a_batch_as_if_alone():
    """An edgeless graph, cut into graphs of one node each, is the node scope."""
    graph = GRAPHS["edgeless"]
    f = nonlinear("edgeless").f
    apart = graph.adjacency()
    apart.graph, apart.num_graphs = torch.arange(5), 5
    cut = EquilibriumMap(apart, f.weight, f.bias, f.contraction)
    for one, other in zip(
        iterates_of(cut, Anderson(), 6), iterates_of(f, Anderson(scope="node"), 6), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
@pytest.mark.parametrize("scope", ["graph", "node"])
def test_a_history_of_equal_steps_does_not_break_it(scope, dtype):
    z = torch.randn(7, 3, dtype=dtype)
    fz = z + torch.randn(7, 3, dtype=dtype)
    f = nonlinear("chain").f
    f = EquilibriumMap(f.adjacency.to(dtype), f.weight.to(dtype), f.bias.to(dtype), f.contraction)
    solver = Anderson(scope=scope)
    state = solver.init(f, z)
    for _ in range(9):
        proposed, state = solver.step(z, fz, state)
        torch.testing.assert_close(proposed, fz, rtol=1e-3, atol=1e-3)
    for _ in range(9):
        proposed, state = solver.step(fz, fz, state)  # a fixed point reached exactly
    torch.testing.assert_close(proposed, fz, rtol=1e-3, atol=1e-3)


def test_an_ill_conditioned_system_restarts_from_the_newest_step():
    f = linear_map("chain")
    solver = Anderson(amplification_limit=0.5)
    for one, other in zip(
        iterates_of(f, solver, 5), reference(f, window=0, beta=1.0, steps=5), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_a_restart_forgets_the_past_until_new_steps_fill_the_window():
    problem = nonlinear("batch")
    solver = Anderson(window=3)
    z = problem.f.start()
    state = solver.init(problem.f, z)
    for _ in range(3):
        z, state = solver.step(z, problem.f(z), state)
    restarted = torch.zeros(problem.f.adjacency.num_graphs, dtype=torch.bool)
    restarted[0] = True
    state.forget(restarted)
    weights = solver.weights(state)
    newest = torch.zeros(state.filled, dtype=weights.dtype)
    newest[state.newest] = 1
    torch.testing.assert_close(weights[0], newest)
    assert (weights[1:] - newest).abs().amax() > 0.01
    z, state = solver.step(z, problem.f(z), state)
    assert int((solver.weights(state)[0] != 0).sum()) == 2


@pytest.mark.parametrize("window", [1, 5, 30])
def test_single_precision_with_any_window_reaches_what_picard_reaches(window):
    weight, contraction = weight_of("cayley", 6, 0.95)
    graph = GRAPHS["disconnected"]
    f = EquilibriumMap(
        graph.adjacency(torch.float32), weight.float(), torch.randn(8, 6), contraction, "tanh"
    )
    plain = solve(f, Picard(), tol=1e-6, on_failure="raise")
    fast = solve(f, Anderson(window=window, safeguard=True), tol=1e-6, on_failure="raise")
    assert fast.num_evals < plain.num_evals


def test_it_is_faster_than_plain_iteration_on_a_slow_problem():
    problem = linear("chain", "symmetric", kappa=0.98)
    plain = solve(problem.f, Picard(), tol=1e-8)
    fast = solve(problem.f, Anderson(), tol=1e-8)
    assert fast.num_evals < plain.num_evals / 4


def test_a_non_finite_step_ends_the_solve_not_the_program():
    problem = nonlinear("batch")
    z0 = torch.zeros_like(problem.answer)
    z0[0] = 1e200  # its inner products overflow
    for scope in ("graph", "node"):
        solution = solve(problem.f, Anderson(scope=scope), z0, on_failure="return")
        assert solution.statuses[0] is Status.NON_FINITE
        assert solution.statuses[1:] == (Status.CONVERGED, Status.CONVERGED)


def test_wrong_configurations_are_refused():
    with pytest.raises(InputError, match="window must be at least 1, not 0"):
        Anderson(window=0)
    with pytest.raises(InputError, match='scope must be "graph" or "node", not \'edge\''):
        Anderson(scope="edge")
    with pytest.raises(InputError, match='history must be "full" or "half", not \'double\''):
        Anderson(history="double")
