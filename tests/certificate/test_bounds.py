"""The sweeps against matrices that can be inverted."""

import gc
import weakref

import pytest
import torch

from ignn_solver import Adjacency
from ignn_solver.certificate.bounds import Sweeper
from ignn_solver.certificate.factor import Factor
from ignn_solver.sparse import SparseMatrix


def star(leaves, **options):
    edges = torch.stack([torch.arange(1, leaves + 1), torch.zeros(leaves, dtype=torch.long)])
    return Adjacency.from_edge_index(edges, dtype=torch.float64, **options)


def inverse(adjacency, factor):
    dense = adjacency.matrix.as_torch().to_dense()
    return torch.linalg.inv(torch.eye(dense.shape[0], dtype=torch.float64) - factor * dense)


@pytest.mark.parametrize("undirected", [True, False])
@pytest.mark.parametrize("factor", [0.1, 0.9, 0.99])
def test_the_bound_is_above_the_inverse_and_close_to_it(undirected, factor):
    adjacency = star(30, undirected=undirected)
    sweeper = Sweeper.build(adjacency, Factor(factor, "2", 1.0))
    sources = torch.rand(31, 2, dtype=torch.float64)
    exact = inverse(adjacency, factor) @ sources
    bound, _ = sweeper.bound(sources, 2000, enough=1e-6)
    assert bool((bound >= exact).all())
    torch.testing.assert_close(bound, exact, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("sweeps", [1, 2, 5, 20])
def test_the_bound_holds_after_any_number_of_sweeps(sweeps):
    adjacency = star(30, undirected=True)
    sweeper = Sweeper.build(adjacency, Factor(0.9, "2", 1.0))
    sources = torch.rand(31, 2, dtype=torch.float64) ** 8
    exact = inverse(adjacency, 0.9) @ sources
    bound, spent = sweeper.bound(sources, sweeps, enough=0.0)
    assert spent == sweeps
    assert bool((bound >= exact).all())


def test_chebyshev_needs_about_the_square_root_of_the_sweeps():
    ring = torch.stack([torch.arange(200), torch.arange(1, 201) % 200])
    adjacency = Adjacency.from_edge_index(ring, undirected=True, dtype=torch.float64)
    sources = torch.zeros(200, 1, dtype=torch.float64)
    sources[0] = 1.0
    factor = Factor(0.99, "2", 1.0)
    _, spent = Sweeper.build(adjacency, factor).bound(sources, 5000)
    adjacency.symmetric = False
    _, plainly = Sweeper.build(adjacency, factor).bound(sources, 5000)
    assert spent < plainly / 4


def test_a_graph_does_not_see_its_batch_mates():
    one = star(5, undirected=True)
    edges = torch.tensor([[1, 2, 3, 4, 5, 7], [0, 0, 0, 0, 0, 6]])
    batch = torch.tensor([0] * 6 + [1] * 2)
    both = Adjacency.from_edge_index(edges, undirected=True, batch=batch, dtype=torch.float64)
    source = torch.rand(8, 1, dtype=torch.float64)
    source[6:] = 1e6
    alone, _ = Sweeper.build(one, Factor(0.9, "2", 1.0)).bound(source[:6], 7, enough=0.0)
    together, _ = Sweeper.build(both, Factor(0.9, "2", 1.0)).bound(source, 7, enough=0.0)
    torch.testing.assert_close(together[:6], alone, rtol=1e-12, atol=0)


def test_the_shrunk_vector_is_the_root_of_the_degrees_on_an_undirected_graph():
    adjacency = star(4, undirected=True)
    sweeper = Sweeper.build(adjacency, Factor(0.5, "2", 1.0))
    torch.testing.assert_close(sweeper.shrunk[:, 0], adjacency.degree.sqrt())
    assert 0.5 <= float(sweeper.theta) < 0.5 + 1e-12


def test_a_node_without_any_entry_has_its_own_residual_as_bound():
    adjacency = Adjacency.from_edge_index(
        torch.tensor([[0], [1]]),
        num_nodes=3,
        undirected=True,
        self_loops=False,
        dtype=torch.float64,
    )
    sweeper = Sweeper.build(adjacency, Factor(0.9, "2", 1.0))
    bound, _ = sweeper.bound(torch.full((3, 1), 2.0, dtype=torch.float64), 200, enough=1e-9)
    torch.testing.assert_close(
        bound[:, 0], torch.tensor([20.0, 20.0, 2.0], dtype=torch.float64), rtol=1e-6, atol=1e-6
    )


def test_nothing_is_found_for_a_matrix_that_does_not_shrink():
    grown = SparseMatrix.from_torch(torch.full((2, 2), 0.8, dtype=torch.float64).to_sparse())
    adjacency = Adjacency(grown, torch.ones(2, dtype=torch.float64))
    assert Sweeper.build(adjacency, Factor(0.9, "2", 1.0)) is None


def test_what_was_found_is_kept_with_the_graph_until_its_entries_or_the_factor_change():
    adjacency = star(4, undirected=True)
    first = Sweeper.of(adjacency, Factor(0.5, "2", 1.0))
    assert Sweeper.of(adjacency, Factor(0.5, "2", 1.0)).theta is first.theta
    assert float(Sweeper.of(adjacency, Factor(0.9, "2", 1.0)).theta) > 0.8
    adjacency.matrix.value.mul_(0.5)
    changed = Sweeper.of(adjacency, Factor(0.9, "2", 1.0))
    assert float(changed.theta) == pytest.approx(0.45)


def test_a_graph_that_was_certified_is_freed():
    adjacency = star(4, undirected=True)
    Sweeper.of(adjacency, Factor(0.5, "2", 1.0))
    gone = weakref.ref(adjacency)
    gc.disable()
    try:
        del adjacency
        assert gone() is None
    finally:
        gc.enable()


def test_growth_covers_what_is_missing_where_the_source_is_large():
    # One node far above the rest: without growth, v would have to make up for it everywhere.
    adjacency = star(300, undirected=True)
    sweeper = Sweeper.build(adjacency, Factor(0.9, "2", 1.0))
    sources = torch.full((301, 1), 1e-3, dtype=torch.float64)
    sources[7] = 1.0
    exact = inverse(adjacency, 0.9) @ sources
    for enough in (0.02, 0.1, 0.5):
        bound, _ = sweeper.bound(sources, 100, enough)
        assert bool((bound >= exact).all())
        assert float(bound.sum()) <= (1 + enough) * float(exact.sum())
