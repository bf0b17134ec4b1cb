import pytest
import torch

import ignn_solver as ig
from ignn_solver.equilibrium import AdjointMap
from ignn_solver.errors import InputError
from ignn_solver.kernels.products import prepare
from ignn_solver.learning.following import fit_following
from ignn_solver.solvers.following import Following, Pair, corrected
from learning.conftest import f, graph, model, solution

__all__ = ["f", "graph", "model", "solution"]


@pytest.fixture(scope="module")
def fitted(f, solution):
    return fit_following(f, f.start(), solution)


def zeros(steps=2):
    return Following(torch.zeros(steps, 3), torch.zeros(steps, 3), torch.zeros(steps, 4))


def test_without_corrections_it_is_plain_iteration(f):
    mine, plain = ig.solve(f, zeros(), tol=1e-5), ig.solve(f, tol=1e-5)
    assert mine.num_evals == plain.num_evals
    torch.testing.assert_close(mine.value, plain.value)


def test_the_correction_is_the_formula(f):
    last, begin, z, fz = (torch.rand_like(f.bias) for _ in range(4))
    state = Pair(f, [], last, begin)
    s, c, matrix = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0.4, 0.5, 0.6]), f.weight
    plain = fz + 0.1 * (fz - z) + 0.2 * (z - begin) + 0.3 * (begin - last)
    mixed = 0.4 * (fz - z) + 0.5 * (z - begin) + 0.6 * (begin - last)
    expected = torch.relu(plain + mixed @ matrix)
    found = corrected(state, z, fz, s, c, prepare(matrix))
    torch.testing.assert_close(found, expected)


def test_it_saves_evaluations_forward_and_backward(f, solution, fitted):
    plain, mine = ig.solve(f, tol=1e-4), ig.solve(f, fitted, tol=1e-4)
    assert mine.num_evals <= 0.7 * plain.num_evals
    torch.manual_seed(0)
    adjoint = AdjointMap(
        f.adjacency.transpose,
        f.weight.T,
        torch.randn_like(f.bias),
        f.derivative(solution),
        f.contraction.dual,
    )
    plain, mine = ig.solve(adjoint, tol=1e-4), ig.solve(adjoint, fitted, tol=1e-4)
    assert mine.num_evals < plain.num_evals


@pytest.mark.parametrize("scale", [1.0, 1e6, float("nan")])
def test_wild_numbers_are_survived(f, scale):
    torch.manual_seed(0)
    wild = Following(*(scale * torch.randn(2, size) for size in (3, 3, 4)))
    found = ig.solve(f, wild, tol=1e-4, on_failure="raise")
    assert found.num_evals <= 1.5 * ig.solve(f, tol=1e-4).num_evals + 6


def test_other_maps_are_refused():
    with pytest.raises(InputError, match="solves equilibrium maps"):
        zeros().init(object(), torch.zeros(1, 1))
