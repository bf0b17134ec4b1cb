"""Small graphs solved whole: the same answers as graph by graph in the ordinary loop, whatever the mates."""

from dataclasses import replace

import pytest
import torch

import ignn_solver as ig
from ignn_solver import kernels, whole
from ignn_solver.adjacency import Adjacency
from ignn_solver.equilibrium import Contraction, EquilibriumMap
from ignn_solver.learning.momentum import MomentumOptions, fit_momentum
from ignn_solver.solution import Status
from ignn_solver.whole import MOST

SIZES, WIDTH = (1, 3, 17, 40, 12, 29, 5, 24, 33, 8), 16

pytestmark = pytest.mark.skipif(kernels.compiled is None, reason="numba is not installed")


def batch_of(graphs, bias=None, activation="relu", dtype=torch.float32):
    """A map on some of ten random graphs."""
    random = torch.Generator().manual_seed(0)
    sources, targets, owners, rows, begin = [], [], [], [], 0
    for graph, size in enumerate(SIZES):
        source = torch.randint(size, (2 * size,), generator=random)
        target = torch.randint(size, (2 * size,), generator=random)
        features = torch.randn(size, WIDTH, generator=random)
        for _ in range(list(graphs).count(graph)):
            sources.append(source + begin)
            targets.append(target + begin)
            owners.append(torch.full((size,), len(owners)))
            rows.append(features)
            begin += size
    weight = 0.9 * torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=random)).Q
    adjacency = Adjacency.from_edge_index(
        torch.stack([torch.cat(sources), torch.cat(targets)]),
        num_nodes=begin,
        undirected=True,
        batch=torch.cat(owners),
        dtype=dtype,
    )
    given = torch.cat(rows) if bias is None else bias
    return EquilibriumMap(
        adjacency, weight.to(dtype), given.to(dtype), Contraction(0.9), activation
    )


def fitted(f, rank=0):
    return fit_momentum(f, ig.solve(f, tol=1e-6).value, MomentumOptions(rank=rank))


def by_the_loop(monkeypatch, f, solver, **options):
    with monkeypatch.context() as context:
        context.setattr(whole, "fits", lambda f, max_evals: False)
        return ig.solve(f, solver, **options)


@pytest.mark.parametrize("rank", [0, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("activation", kernels.ACTIVATIONS)
@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_it_does_what_the_loop_does(rank, dtype, activation, tol, monkeypatch):
    f = batch_of(range(len(SIZES)), None, activation, dtype)
    solver = fitted(f, rank)
    assert whole.fits(f, 1000)
    found, known = ig.solve(f, solver, tol=tol), by_the_loop(monkeypatch, f, solver, tol=tol)
    assert found.converged
    assert torch.equal(found.evals, known.evals)
    assert found.trace.shape == known.trace.shape
    torch.testing.assert_close(found.residuals, known.residuals, rtol=1e-2, atol=1e-7)
    torch.testing.assert_close(found.value, known.value, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(found.node_residual, known.node_residual, rtol=0.05, atol=1e-5)
    assert len(found.seconds) == len(found.trace)


def test_a_graph_does_not_see_its_mates():
    everyone = batch_of(range(len(SIZES)))
    solver = fitted(everyone)
    found = ig.solve(everyone, solver, tol=1e-4)
    parts = torch.split(found.value, SIZES)
    some = [9, 2, 2, 5, 0, 7, 1, 3, 3]
    again = ig.solve(batch_of(some), solver, tol=1e-4)
    # The maps list each graph as often as it is asked for, in the order of the ten.
    chosen = sorted(some)
    for graph, value in zip(chosen, again.value.split([SIZES[g] for g in chosen]), strict=True):
        assert torch.equal(value, parts[graph])
    assert torch.equal(again.evals, found.evals[chosen])


@pytest.mark.parametrize("harm", [1.0, 1e6, float("nan")])
def test_graphs_led_astray_are_solved_by_the_loop(harm):
    f = batch_of(range(len(SIZES)))
    solver = fitted(f)
    random = torch.Generator().manual_seed(2)
    astray = replace(solver, left=harm * torch.randn(solver.left.shape, generator=random))
    found, plain = ig.solve(f, astray, tol=1e-4), ig.solve(f, tol=1e-4)
    assert found.converged
    assert (found.rejected[1:] > 0).all()
    assert (found.evals <= 1.6 * plain.evals + MOST * (found.evals > MOST) + 4).all()
    torch.testing.assert_close(found.value, plain.value, rtol=1e-2, atol=1e-3)
    assert found.trace.shape == (len(found.seconds), len(SIZES))


def test_a_value_that_is_not_finite_harms_its_own_graph_alone():
    f = batch_of(range(len(SIZES)))
    solver = fitted(f)
    bias = f.bias.clone()
    bias[SIZES[0] + SIZES[1]] = torch.nan
    found = ig.solve(batch_of(range(len(SIZES)), bias), solver, on_failure="return")
    wrong = [status is not Status.CONVERGED for status in found.statuses]
    assert wrong == [graph == 2 for graph in range(len(SIZES))]
    assert found.statuses[2] is Status.NON_FINITE


def test_a_solver_of_another_width_is_refused():
    f = batch_of(range(len(SIZES)))
    solver = fitted(f)
    wide = EquilibriumMap(
        f.adjacency, torch.eye(2 * WIDTH), torch.cat([f.bias, f.bias], 1), Contraction(0.9)
    )
    with pytest.raises(ig.InputError, match="learnt for node states of width 16"):
        ig.solve(wide, solver)


def test_what_is_no_batch_of_small_graphs_is_left_to_the_loop(monkeypatch):
    f = batch_of(range(len(SIZES)))
    assert not whole.fits(f, 10)
    assert not whole.fits(batch_of([3]), 1000)
    monkeypatch.setattr(whole, "_MOST_NODES", 20)
    assert not whole.fits(f, 1000)
