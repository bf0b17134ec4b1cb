"""Repaired equilibria against full solves."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ignn_solver import Adjacency, Contraction, EquilibriumMap, InputError, solve
from ignn_solver.certificate import certify
from ignn_solver.certificate.search import Case, reference_equilibrium
from ignn_solver.updates import update, with_edges


def true_residual(f, z):
    """Relative residual of each graph and residual of each node, from an evaluation."""
    evaluation = f.evaluate(z)
    sums = f.adjacency.sum_per_graph
    relative = (sums(evaluation.residual_sq) / sums(evaluation.value_sq)).sqrt()
    return relative, evaluation.residual_sq.sqrt()


def with_bias(f, rows, generator):
    bias = f.bias.clone()
    bias[rows] = torch.randn(len(rows), f.bias.shape[1], generator=generator).to(bias.dtype)
    return replace(f, bias=bias)


updates = st.builds(
    Case,
    seed=st.integers(0, 10**6),
    nodes=st.integers(20, 60),
    width=st.integers(1, 8),
    graphs=st.sampled_from([1, 1, 3]),
    directed=st.booleans(),
    weighted=st.booleans(),
    parametrization=st.sampled_from(["cayley", "projection", "symmetric"]),
    activation=st.sampled_from(["relu", "tanh", "sigmoid"]),
    kappa=st.sampled_from([0.3, 0.8, 0.9]),
    double=st.booleans(),
    tol=st.sampled_from([1e-1, 1e-3, 1e-5]),
)


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(updates)
def test_an_update_reaches_the_tolerance_and_knows_its_residuals(case):
    f, _ = case.build()
    generator = torch.Generator().manual_seed(case.seed)
    solution = solve(f, tol=case.tol, on_failure="raise")
    for _ in range(4):
        rows = torch.randperm(f.adjacency.num_nodes, generator=generator)[:2]
        f = with_bias(f, rows, generator)
        solution = solution.update(f, rows, tol=case.tol)
        relative, residual = true_residual(f, solution.value)
        assert bool((relative <= case.tol).all())
        assert bool((solution.residuals <= case.tol).all())
        # Rounding of the evaluation that checks is not a residual.
        room = 2e-5 * float(solution.value.norm()) if not case.double else 1e-12
        if solution.at_value:
            assert bool((residual <= solution.node_residual + room).all())
    certificate = certify(f, solution)
    exact, off = reference_equilibrium(f, solution.value)
    order = torch.inf if certificate.norm == "inf" else 2
    error = torch.linalg.vector_norm(solution.value.double() - exact, order, dim=-1)
    assert bool((certificate.bound + off / (1 - certificate.factor) + 1e-14 >= error).all())


def ring(nodes, width=4, kappa=0.8):
    edges = torch.stack([torch.arange(nodes), torch.arange(1, nodes + 1) % nodes])
    adjacency = Adjacency.from_edge_index(edges, undirected=True, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    weight = kappa * torch.linalg.qr(torch.randn(width, width, generator=generator).double()).Q
    bias = torch.randn(nodes, width, generator=generator).double()
    return EquilibriumMap(adjacency, weight, bias, Contraction(kappa))


@pytest.mark.parametrize("nodes", [2000, 20_000])
def test_the_work_grows_with_the_change_and_not_with_the_graph(nodes):
    f = ring(nodes)
    solution = solve(f, tol=1e-4)
    changed = with_bias(f, torch.tensor([7]), torch.Generator().manual_seed(1))
    repaired = solution.update(changed, torch.tensor([7]), tol=1e-4)
    # On a ring the change fades by at least the factor 0.8 a step.
    assert 10 < repaired.moved.numel() < 120
    assert repaired.num_evals == 1
    untouched = torch.ones(nodes, dtype=torch.bool)
    untouched[repaired.moved] = False
    assert torch.equal(repaired.value[untouched], solution.value[untouched])
    exact = solve(changed, tol=1e-10)
    near = torch.arange(30)
    torch.testing.assert_close(repaired.value[near], exact.value[near], rtol=0, atol=5e-3)


def test_a_single_wrong_node_is_repaired_even_where_the_sum_would_not_show_it():
    f = ring(20_000)
    solution = solve(f, tol=1e-3)
    changed = with_bias(f, torch.tensor([7]), torch.Generator().manual_seed(1))
    relative, residual = true_residual(changed, solution.value)
    assert float(relative) < 2e-2  # a full solve to that tolerance would stop at once
    assert float(residual[7]) > 0.5
    repaired = solution.update(changed, torch.tensor([7]), tol=2e-2)
    share = 2e-2 * float(repaired.value.norm()) / 20_000**0.5
    assert float(true_residual(changed, repaired.value)[1][7]) <= 1.01 * share < 0.1


def test_in_place_the_old_states_are_overwritten_and_otherwise_kept():
    f = ring(500)
    solution = solve(f)
    before = solution.value.clone()
    changed = with_bias(f, torch.tensor([7]), torch.Generator().manual_seed(1))
    copied = update(solution, changed, torch.tensor([7]))
    assert torch.equal(solution.value, before)
    overwritten = update(solution, changed, torch.tensor([7]), in_place=True)
    assert overwritten.value is solution.value
    torch.testing.assert_close(overwritten.value, copied.value)


def test_a_change_of_edges_is_repaired():
    f = ring(500)
    solution = solve(f, tol=1e-5)
    adjacency, rows = with_edges(
        f.adjacency, torch.tensor([3, 10]), torch.tensor([250, 11]), torch.tensor([1.0, 0.0])
    )
    changed = replace(f, adjacency=adjacency)
    repaired = solution.update(changed, rows, tol=1e-5)
    assert float(true_residual(changed, repaired.value)[0]) <= 1e-5
    exact = solve(changed, tol=1e-10).value
    torch.testing.assert_close(repaired.value, exact, rtol=0, atol=1e-3)


def test_a_change_of_everything_is_solved_whole():
    f = ring(300)
    solution = solve(f, tol=1e-4)
    everything = torch.arange(300)
    changed = with_bias(f, everything, torch.Generator().manual_seed(1))
    repaired = solution.update(changed, everything, tol=1e-4)
    assert not repaired.at_value
    assert repaired.residual <= 1e-4


def test_a_tighter_tolerance_than_that_of_the_solution_is_reached():
    f = ring(300)
    repaired = solve(f, tol=1e-1).update(f, torch.zeros(0, dtype=torch.long), tol=1e-6)
    assert float(true_residual(f, repaired.value)[0]) <= 1e-6


def test_nothing_to_do_takes_nothing():
    f = ring(300)
    solution = solve(f, tol=1e-4)
    repaired = solution.update(f, torch.zeros(0, dtype=torch.long), tol=1e-4)
    assert repaired.moved.numel() == 0
    assert repaired.num_evals == 0
    assert torch.equal(repaired.value, solution.value)


def test_a_mask_names_nodes_too():
    f = ring(300)
    changed = with_bias(f, torch.tensor([7]), torch.Generator().manual_seed(1))
    mask = torch.arange(300) == 7
    by_mask, by_id = (solve(f).update(changed, which) for which in (mask, torch.tensor([7])))
    assert torch.equal(by_mask.value, by_id.value)


def test_a_failed_solution_is_solved_anew():
    f = ring(300)
    broken = solve(replace(f, bias=f.bias * torch.inf), on_failure="return")
    assert solve(f, tol=1e-4).residual == broken.update(f, torch.tensor([0]), tol=1e-4).residual


def test_a_fixed_point_at_zero_can_be_updated():
    f = ring(50)
    zero = replace(f, bias=-f.bias.abs())
    solution = solve(zero)
    assert solution.residual == 0
    changed = with_bias(zero, torch.tensor([7]), torch.Generator().manual_seed(1))
    repaired = solution.update(changed, torch.tensor([7]), tol=1e-6)
    assert float(true_residual(changed, repaired.value)[0]) <= 1e-6


def test_wrong_arguments_are_named():
    f = ring(50)
    with pytest.raises(InputError, match="the graph has nodes 0 to 49"):
        solve(f).update(f, torch.tensor([50]))
    with pytest.raises(InputError, match="tol must be above 0"):
        solve(f).update(f, torch.tensor([0]), tol=0.0)
