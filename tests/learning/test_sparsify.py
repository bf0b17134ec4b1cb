import math

import pytest
import torch

from ignn_solver.adjacency import Adjacency
from ignn_solver.errors import InputError
from ignn_solver.learning.sparsify import (
    SCORES,
    exact_entropy,
    quadratic_entropy,
    sparsified,
    undirected_edges,
)


def complete(n: int) -> torch.Tensor:
    return torch.combinations(torch.arange(n), 2).T


def test_entropy_of_a_complete_graph():
    # Its trace-normalised Laplacian has the eigenvalue 1 / (n - 1), n - 1 times.
    edges = complete(9)
    entropy = exact_entropy(edges, torch.ones(edges.shape[1], dtype=torch.float64), 9)
    assert float(entropy) == pytest.approx(math.log(8), abs=1e-6)
    quadratic = quadratic_entropy(edges, torch.ones(edges.shape[1], dtype=torch.float64), 9)
    assert float(quadratic) == pytest.approx(1 - 1 / 8)


def test_the_quadratic_entropy_is_that_of_the_dense_laplacian():
    edges = complete(6)
    weight = torch.rand(edges.shape[1], dtype=torch.float64)
    dense = torch.zeros(6, 6, dtype=torch.float64)
    dense[edges[0], edges[1]] = weight
    dense = dense + dense.T
    laplacian = torch.diag(dense.sum(1)) - dense
    expected = 1 - (laplacian @ laplacian).trace() / laplacian.trace() ** 2
    torch.testing.assert_close(quadratic_entropy(edges, weight, 6), expected)


@pytest.mark.parametrize("method", sorted(SCORES))
def test_density_connection_and_determinism(f, method):
    kept = sparsified(f.adjacency, 0.4, method, seed=2)
    total, left = undirected_edges(f.adjacency).shape[1], undirected_edges(kept).shape[1]
    assert left == pytest.approx(0.4 * total, rel=0.05)
    had = (f.adjacency.matrix.rowptr.diff() > 1).sum()
    assert (kept.matrix.rowptr.diff() > 1).sum() == had
    dense, full = (a.matrix.as_torch().to_dense() > 0 for a in (kept, f.adjacency))
    assert not (dense & ~full).any()
    copy = Adjacency(f.adjacency.matrix.to(torch.float64), f.adjacency.degree)
    again = sparsified(copy, 0.4, method, seed=2)
    assert torch.equal(again.matrix.col, kept.matrix.col)
    if method in ("random", "pri"):
        assert not torch.equal(sparsified(f.adjacency, 0.4, method, 3).matrix.col, kept.matrix.col)


def test_exact_entropy_is_used_on_small_graphs():
    adjacency = Adjacency.from_edge_index(complete(12), num_nodes=12, undirected=True)
    kept = sparsified(adjacency, 0.5)
    assert undirected_edges(kept).shape[1] == 33


def test_a_bridge_has_the_largest_effective_resistance():
    two_triangles = torch.tensor([[0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3]])
    score = SCORES["resistance"](two_triangles, 6, 0.5, 0)
    assert int(score.argmax()) == 6
    assert float(score[6]) == pytest.approx(1, abs=1e-5)
    assert float(score[0]) == pytest.approx(2 / 3, abs=1e-5)


def test_everything_kept_and_nothing_to_keep(f):
    assert sparsified(f.adjacency, 1.0) is f.adjacency
    empty = Adjacency.from_edge_index(torch.zeros(2, 0, dtype=torch.long), num_nodes=3)
    assert sparsified(empty, 0.5).num_entries == 3


def test_mistakes(f):
    with pytest.raises(InputError, match="density"):
        sparsified(f.adjacency, 0.0)
    with pytest.raises(InputError, match="unknown sparsifier 'best'"):
        sparsified(f.adjacency, 0.5, "best")
