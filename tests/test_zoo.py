"""Every solver on every problem with a known answer, and what must not change the answer."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ignn_solver.equilibrium import EquilibriumMap
from ignn_solver.nn.parametrize import PARAMETRIZATIONS
from ignn_solver.solvers import Picard
from ignn_solver.solving import Status, solve
from problems import (
    ACTIVATIONS,
    DOUBLE,
    GRAPHS,
    SOLVERS,
    Graph,
    graphs,
    linear,
    maps,
    nonlinear,
    zero,
)

GUARANTEED = [name for name in SOLVERS if name == "picard" or "safeguarded" in name]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_finds_every_answer(solver, name):
    problems = [linear(name, kind) for kind in PARAMETRIZATIONS]
    problems += [nonlinear(name, k, act) for k in PARAMETRIZATIONS for act in ACTIVATIONS]
    for problem in problems:
        solution = solve(problem.f, SOLVERS[solver], tol=1e-6, on_failure="raise")
        assert solution.converged
        assert set(solution.statuses) == {Status.CONVERGED}
        residual = float(solution.node_residual.norm())
        error = float((solution.value - problem.answer).norm())
        assert error <= problem.error_bound(residual) + 1e-12
        assert residual <= 1e-6 * float(solution.value.norm()) * (1 + 1e-9)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_zero_fixed_point_is_found_at_once_and_from_afar(solver, name):
    problem = zero(name)
    assert solve(problem.f, SOLVERS[solver]).num_evals == 1
    far = solve(problem.f, SOLVERS[solver], torch.ones_like(problem.answer), on_failure="raise")
    assert torch.equal(far.value, problem.answer)


@given(maps(), st.sampled_from(GUARANTEED))
def test_a_contraction_always_converges(drawn, solver):
    _, f = drawn
    solution = solve(f, SOLVERS[solver], tol=1e-7, max_evals=2000, on_failure="raise")
    assert solution.residual <= 1e-7


@given(maps(), st.sampled_from(GUARANTEED), st.floats(1, 1000), st.integers(0, 99))
def test_a_contraction_converges_from_anywhere(drawn, solver, size, seed):
    _, f = drawn
    torch.manual_seed(seed)
    z0 = size * torch.randn_like(f.bias)
    solution = solve(f, SOLVERS[solver], z0, tol=1e-7, max_evals=2000, on_failure="raise")
    assert solution.residual <= 1e-7


@given(maps(), st.sampled_from(["picard", "anderson", "broyden"]), st.integers(0, 99))
def test_relabelling_nodes_relabels_the_answer(drawn, solver, seed):
    graph, f = drawn
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(seed))
    place = order.argsort()
    moved = Graph(place[graph.edge_index], graph.num_nodes, graph.weight, graph.undirected)
    g = EquilibriumMap(moved.adjacency(), f.weight, f.bias[order], f.contraction, f.activation)
    one = solve(f, SOLVERS[solver], tol=1e-5, on_failure="return")
    other = solve(g, SOLVERS[solver], tol=1e-5, on_failure="return")
    assert one.statuses == other.statuses
    assert one.num_evals == other.num_evals
    torch.testing.assert_close(other.value, one.value[order], rtol=1e-6, atol=1e-9)


def together(parts: list[tuple[Graph, EquilibriumMap]], like: EquilibriumMap) -> EquilibriumMap:
    """The block-diagonal map of several graphs under the weight of ``like``."""
    starts = torch.tensor([0, *(graph.num_nodes for graph, _ in parts)]).cumsum(0).tolist()
    index = torch.cat([g.edge_index + s for (g, _), s in zip(parts, starts, strict=False)], 1)
    weights = [
        torch.ones(g.edge_index.shape[1], dtype=DOUBLE) if g.weight is None else g.weight
        for g, _ in parts
    ]
    batch = torch.arange(len(parts)).repeat_interleave(
        torch.tensor([g.num_nodes for g, _ in parts])
    )
    graph = Graph(index, starts[-1], torch.cat(weights), parts[0][0].undirected, batch)
    bias = torch.cat([f.bias for _, f in parts])
    return EquilibriumMap(graph.adjacency(), like.weight, bias, like.contraction, like.activation)


def with_bias(graph: Graph, like: EquilibriumMap, seed: int) -> tuple[Graph, EquilibriumMap]:
    torch.manual_seed(seed)
    bias = torch.randn(graph.num_nodes, like.weight.shape[0], dtype=DOUBLE)
    return graph, EquilibriumMap(
        graph.adjacency(), like.weight, bias, like.contraction, like.activation
    )


def directed(graph: Graph, merged: bool = True) -> Graph:
    """The graph with every edge once, so that it means the same with weights of one."""
    index = graph.edge_index.unique(dim=1) if graph.weight is None and merged else graph.edge_index
    return Graph(index, graph.num_nodes, graph.weight, undirected=False)


@given(maps(max_nodes=5), st.sampled_from(sorted(SOLVERS)))
def test_duplicating_a_graph_in_a_batch_changes_nothing(drawn, solver):
    graph, f = drawn
    graph = directed(graph)
    f = EquilibriumMap(graph.adjacency(), f.weight, f.bias, f.contraction, f.activation)
    options = {"tol": 1e-5, "on_failure": "return"}
    alone = solve(f, SOLVERS[solver], **options)
    twice = solve(together([(graph, f), (graph, f)], f), SOLVERS[solver], **options)
    assert twice.statuses == alone.statuses * 2
    assert twice.evals.tolist() == alone.evals.tolist() * 2
    torch.testing.assert_close(twice.value, alone.value.repeat(2, 1), rtol=1e-6, atol=1e-9)


@given(maps(max_nodes=5), graphs(5), st.sampled_from(sorted(SOLVERS)), st.integers(0, 99))
def test_an_answer_does_not_depend_on_its_batch_mates(drawn, mate, solver, seed):
    graph, f = drawn
    graph, mate = directed(graph), directed(mate)
    f = EquilibriumMap(graph.adjacency(), f.weight, f.bias, f.contraction, f.activation)
    alone = solve(f, SOLVERS[solver], tol=1e-5, on_failure="return")
    good = with_bias(mate, f, seed)
    broken = with_bias(mate, f, seed)
    broken[1].bias[0, 0] = torch.nan
    slow = with_bias(mate, f, seed)
    slow[1].bias.mul_(1e6)
    for other in (good, broken, slow):
        for parts, rows, place in (
            ([(graph, f), other], slice(0, graph.num_nodes), 0),
            ([other, (graph, f)], slice(mate.num_nodes, None), 1),
        ):
            found = solve(together(parts, f), SOLVERS[solver], tol=1e-5, on_failure="return")
            assert found.statuses[place] == alone.status
            assert int(found.evals[place]) == alone.num_evals
            torch.testing.assert_close(found.value[rows], alone.value, rtol=1e-6, atol=1e-9)
            if other is broken:
                assert found.statuses[1 - place] is Status.NON_FINITE
                assert int(found.evals[1 - place]) == 1


def test_a_fast_graph_is_frozen_while_a_slow_mate_goes_on():
    problem = linear("batch")
    z0 = problem.answer.clone()
    z0[3:] = 0
    solution = solve(problem.f, Picard(), z0, tol=1e-6)
    assert solution.evals[0] == 1
    assert solution.evals[1] > 10
    assert solution.num_evals == len(solution.trace)
    assert solution.residuals[0] == solution.trace[0, 0]
    assert solution.residuals[1] == solution.trace[int(solution.evals[1]) - 1, 1]
