"""Plain iteration."""

from itertools import pairwise

import pytest
import torch

from ignn_solver.solvers import Picard
from ignn_solver.solving import solve
from problems import GRAPHS, linear, nonlinear


@pytest.mark.parametrize("name", GRAPHS)
def test_it_is_repeated_application_of_f(name):
    problem = nonlinear(name)
    z = problem.f.start()
    for _ in range(6):
        z = problem.f(z)
    found = solve(problem.f, Picard(), tol=0, max_evals=6, on_failure="return").value
    torch.testing.assert_close(found, z, rtol=1e-12, atol=1e-14)


def test_the_residual_falls_by_the_contraction_factor_at_every_step():
    problem = linear("chain", kappa=0.7)
    solution = solve(problem.f, Picard(), tol=1e-6)
    z, sizes = problem.f.start(), []
    for _ in range(solution.num_evals):
        image = problem.f(z)
        sizes.append(float((image - z).norm()))
        z = image
    assert all(b <= 0.7 * a * (1 + 1e-6) for a, b in pairwise(sizes))


def test_it_keeps_nothing_and_is_equal_to_itself():
    assert Picard().init(nonlinear("chain").f, torch.zeros(7, 3)) is None
    assert Picard() == Picard()
    assert not Picard().safeguard
