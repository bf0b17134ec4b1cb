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


def test_gathered_rows_are_rows_of_the_product(backend, matrix):
    x = torch.randn(30, 9, generator=torch.Generator().manual_seed(1))
    rows = torch.tensor([3, 29, 0])
    expected = (matrix.as_torch().to_dense() @ x)[rows]
    torch.testing.assert_close(kernels.gather_rows(matrix, rows, x), expected)


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
def test_rows_move_only_when_they_would_move_far_enough(backend, activation):
    generator = torch.Generator().manual_seed(2)
    z, bias = torch.randn(2, 6, 4, generator=generator)
    projected, rows = torch.randn(3, 4, generator=generator), torch.tensor([5, 1, 2])
    y = getattr(torch, activation)(projected + bias[rows])
    distance = (y - z[rows]).double().norm(dim=-1)
    keep = distance * torch.tensor([0.9, 1.1, 0.9])
    before = z.clone()
    moved, gained = kernels.move_rows(rows, projected.clone(), bias, z, activation, keep)
    torch.testing.assert_close(moved, distance, rtol=1e-5, atol=0)
    torch.testing.assert_close(z[[5, 2]], y[[0, 2]])
    assert torch.equal(z[[0, 1, 3, 4]], before[[0, 1, 3, 4]])
    grown = y.square().sum(-1) - before[rows].square().sum(-1)
    torch.testing.assert_close(
        gained, (grown * torch.tensor([1, 0, 1])).double(), rtol=1e-4, atol=1e-6
    )


def test_pushed_amounts_arrive_and_queue_what_rises_too_high(backend, matrix):
    rows = torch.tensor([4, 17])
    amount = torch.tensor([2.0, 3.0], dtype=torch.float64)
    level = torch.zeros(30, dtype=torch.float64)
    allowed = torch.full((30,), 0.3, dtype=torch.float64)
    queued = torch.zeros(30, dtype=torch.bool)
    queued[4] = True
    expected = matrix.as_torch().to_dense()[rows].double().T @ amount
    found = kernels.push(matrix, rows, amount, level, allowed, queued)
    torch.testing.assert_close(level, expected)
    high = set((expected > 0.3).nonzero().squeeze(1).tolist())
    assert sorted(found.tolist()) == sorted(high - {4})
    assert set(queued.nonzero().squeeze(1).tolist()) == high | {4}


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
