"""Sweeps in which rows rest: the same answers, for less where a part of the graph comes late."""

import pytest
import torch

import ignn_solver as ig
from ignn_solver.certificate.search import Case
from ignn_solver.nn.parametrize import parametrization
from ignn_solver.ordering import ordered


def late_chain(settled=400, late=40, width=8, kappa=0.95):
    """Random edges among many nodes, whose states settle soon, and a chain along which one input travels."""
    torch.manual_seed(0)
    source, target = torch.randint(settled, (2, 8 * settled)).unbind()
    along = torch.arange(settled, settled + late - 1)
    edges = torch.stack([torch.cat([source, along]), torch.cat([target, along + 1])])
    nodes = settled + late
    adjacency = ig.Adjacency.from_edge_index(torch.cat([edges, edges.flip(0)], 1), num_nodes=nodes)
    weight = parametrization("cayley", width, kappa)
    bias = torch.randn(nodes, width)
    bias[settled:] = 0
    bias[settled] = 30
    with torch.no_grad():
        return ig.EquilibriumMap(adjacency, weight(), bias, weight.contraction).detach()


def residual(f, z):
    found = f.evaluate(z)
    sums = f.adjacency.sum_per_graph
    return (sums(found.residual_sq) / sums(found.value_sq)).sqrt()


def test_a_part_that_comes_late_is_evaluated_alone():
    f = late_chain()
    whole, resting = (ig.solve(f, ig.Sweep(rest=rest), tol=1e-5) for rest in (False, True))
    assert resting.converged
    assert resting.num_evals < 0.75 * whole.num_evals
    assert float(residual(f, resting.value)) <= 1e-5
    assert resting.residual <= 1e-5
    assert len(resting.trace) == len(resting.seconds)
    assert torch.equal(ig.solve(f, ig.Sweep(rest=True), tol=1e-5).value, resting.value)


@pytest.mark.parametrize("graphs", [1, 3])
@pytest.mark.parametrize("tol", [1e-2, 1e-4])
@pytest.mark.parametrize("seed", range(5))
def test_the_answer_is_that_of_a_whole_solve(seed, tol, graphs):
    case = Case(seed=seed, nodes=50, width=6, graphs=graphs, kappa=0.9, tol=tol, double=True)
    f, _ = case.build()
    found = ig.solve(f, ig.Sweep(rest=True), tol=tol, on_failure="raise")
    assert bool((residual(f, found.value) <= tol).all())
    exact = ig.solve(f, tol=1e-12).value
    # Where f contracts by 0.9 in the 2-norm, an error is at most ten residuals.
    assert torch.linalg.norm(found.value - exact) <= 11 * tol * torch.linalg.norm(exact)


def test_it_says_when_it_runs_out_of_evaluations():
    with pytest.raises(ig.SolveError, match="ran out of evaluations"):
        ig.solve(late_chain(), ig.Sweep(rest=True), tol=1e-6, max_evals=3, on_failure="raise")


def test_a_map_in_a_better_order_rests_as_well():
    f = late_chain()
    before = ig.solve(f, ig.Sweep(rest=True), tol=1e-5)
    f.adjacency.order = ordered(f.adjacency, "degree")
    after = ig.solve(f, ig.Sweep(rest=True), tol=1e-5)
    assert torch.linalg.norm(after.value - before.value) <= 1e-3 * torch.linalg.norm(before.value)
