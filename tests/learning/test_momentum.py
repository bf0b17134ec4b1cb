import pytest
import torch

import ignn_solver as ig
from ignn_solver.learning.momentum import MomentumOptions, choose_rank, fit_momentum


@pytest.mark.parametrize("rank", [0, 6])
def test_each_step_comes_closer_than_the_plain_step(f, solution, rank):
    solver = fit_momentum(f, solution, MomentumOptions(steps=6, rank=rank))
    z, _ = solver.initial(f)
    state = solver.init(f, z)
    assert torch.dist(z, solution) < torch.dist(f.start(), solution)
    for _ in range(6):
        fz = f(z)
        z, state = solver.step(z, fz, state)
        assert torch.dist(z, solution) < torch.dist(fz, solution)


def test_shapes_and_parameters(f, solution):
    low = fit_momentum(f, solution, MomentumOptions(steps=5, rank=4))
    assert low.left.shape == (5, 32, 4)
    assert low.right.shape == (5, 4, 16)
    full = fit_momentum(f, solution, MomentumOptions(steps=5, rank=16))
    assert full.left.shape == (5, 32, 16)
    assert full.right.shape[1] == 0
    assert full.num_parameters == 32 * 16 * 6 + (5 + 1) * 2 * 5


def test_a_full_rank_factorisation_is_the_full_matrix(f, solution):
    full = fit_momentum(f, solution, MomentumOptions(steps=4, rank=0))
    almost = fit_momentum(f, solution, MomentumOptions(steps=4, rank=15))
    evals = [ig.solve(f, solver, tol=1e-4).num_evals for solver in (full, almost)]
    assert abs(evals[0] - evals[1]) <= 1


def test_more_edges_allow_a_larger_rank(f):
    dense = ig.Adjacency.from_edge_index(torch.randint(400, (2, 20_000)), num_nodes=400)
    crowded = type(f)(dense, f.weight, f.bias, f.contraction)
    assert choose_rank(crowded) > choose_rank(f) >= 8
