"""Loops over a few rows, compiled and in torch, against dense matrices."""

import numpy as np
import pytest
import torch

from ignn_solver import Adjacency
from ignn_solver.kernels import rows as kernels


@pytest.fixture(params=["numba", "torch"])
def backend(request, monkeypatch):
    if request.param == "torch":
        monkeypatch.setenv("IGNN_SOLVER_KERNELS", "torch")
    return request.param


@pytest.fixture
def matrix():
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(0, 30, (2, 200), generator=generator)
    return Adjacency.from_edge_index(edges, num_nodes=30).matrix


def worklist(level, allowed, graphs=None):
    count = 1 if graphs is None else int(graphs.max()) + 1
    queued = torch.zeros(len(level), dtype=torch.bool)
    return kernels.Worklist(level, allowed, queued, graphs, torch.zeros(count).double())


def test_rows_with_the_largest_levels_are_taken_and_the_others_wait(backend, matrix):
    x = torch.randn(30, 9, generator=torch.Generator().manual_seed(1))
    work = worklist(torch.full((30,), 7.0), torch.ones(30))
    work.level[[3, 29, 0, 8]] = torch.tensor([4.0, 2.0, 0.9, 12.0])
    work.allowed[8] = 4.0
    queue = torch.tensor([3, 29, 0, 8])
    work.queued[queue] = True
    rows, rest, sums = kernels.take_rows(matrix, queue, work, 0.5, x)
    assert (rows.tolist(), rest.tolist()) == ([3, 29, 8], [0])
    assert work.queued.nonzero().squeeze(1).tolist() == [0]
    expected = (matrix.as_torch().to_dense() @ x)[[3, 29, 8]]
    torch.testing.assert_close(sums, expected)


def test_a_row_that_nothing_is_known_of_is_taken_and_so_is_one_that_is_nan(backend, matrix):
    work = worklist(torch.ones(30), torch.ones(30))
    work.level[[4, 5]] = torch.tensor([torch.inf, torch.nan])
    rows, rest, _ = kernels.take_rows(
        matrix, torch.tensor([4, 5, 6]), work, 0.1, torch.zeros(30, 2)
    )
    assert {4, 5} <= set(rows.tolist())
    assert sorted(rows.tolist() + rest.tolist()) == [4, 5, 6]


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
@pytest.mark.parametrize("batched", [False, True])
def test_rows_that_go_far_move_and_their_neighbours_hear_of_it(
    backend, matrix, activation, batched
):
    generator = torch.Generator().manual_seed(2)
    z, bias = torch.randn(2, 30, 4, generator=generator)
    projected, rows = torch.randn(3, 4, generator=generator), torch.tensor([5, 1, 2])
    y = getattr(torch, activation)(projected + bias[rows])
    distance = (y - z[rows]).norm(dim=-1)
    graphs = (torch.arange(30) >= 2).long() if batched else None
    work = worklist(torch.full((30,), 9.0), torch.full((30,), 9.1), graphs)
    work.allowed[rows] = 2 * distance * torch.tensor([0.9, 1.1, 0.9])
    work.queued[7] = True
    before, sizes = z.clone(), work.size_sq.clone()
    rule = kernels.Rule(keep=0.5, slack=1.25, factor=0.8)
    moved, found = kernels.settle_rows(
        matrix.transpose, rows.clone(), projected.clone(), bias, z, activation, work, rule
    )
    assert moved.tolist() == [5, 2]
    torch.testing.assert_close(z[[5, 2]], y[[0, 2]])
    still = torch.tensor([i for i in range(30) if i not in (5, 2)])
    assert torch.equal(z[still], before[still])
    expected = torch.full((30,), 9.0)
    expected[rows] = torch.tensor([0.0, 1.25, 0.0]) * distance
    dense = matrix.as_torch().to_dense()
    expected += 1.25 * 0.8 * (dense[:, [5, 2]] @ distance[[0, 2]])
    torch.testing.assert_close(work.level, expected)
    high = set((expected > work.allowed).nonzero().squeeze(1).tolist())
    assert len(high) > 3
    assert sorted(found.tolist()) == sorted(high - {7})
    assert set(work.queued.nonzero().squeeze(1).tolist()) == high | {7}
    grown = (z.double().square() - before.double().square()).sum(-1)
    sizes.index_add_(0, torch.zeros(30, dtype=torch.long) if graphs is None else graphs, grown)
    torch.testing.assert_close(work.size_sq, sizes, rtol=1e-5, atol=1e-6)


def test_entries_of_rows_are_where_the_pointers_say(matrix):
    rows = torch.tensor([7, 2])
    place, owner = kernels.row_entries(matrix, rows)
    for k, row in enumerate(rows.tolist()):
        expected = torch.arange(int(matrix.rowptr[row]), int(matrix.rowptr[row + 1]))
        assert torch.equal(place[owner == k], expected)


@pytest.mark.parametrize("backend", ["numba", "torch"])
def test_the_rows_of_chosen_graphs_are_put_in_place(backend, monkeypatch):
    monkeypatch.setenv("IGNN_SOLVER_KERNELS", backend)
    found = torch.randn(6, 3), torch.randn(6), torch.randn(6)
    out = tuple(torch.zeros_like(one) for one in found)
    kernels.put_graphs(np.array([True, False, True]), np.array([0, 2, 3]), found, out)
    for one, other in zip(found, out, strict=True):
        assert torch.equal(other[[0, 1, 3, 4, 5]], one[[0, 1, 3, 4, 5]])
        assert (other[2] == 0).all()
