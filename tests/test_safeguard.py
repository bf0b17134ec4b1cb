"""A solver may be wrong: the solve still converges, at little more than plain iteration's cost."""

import pytest
import torch

from ignn_solver.equilibrium import Contraction, EquilibriumMap
from ignn_solver.nn.parametrize import PARAMETRIZATIONS
from ignn_solver.solvers import Picard
from ignn_solver.solving import Status, solve
from problems import (
    DOUBLE,
    GRAPHS,
    nonlinear,
)
from scripted import Scripted

GARBAGE = {
    "nan": lambda z, fz: torch.full_like(z, torch.nan),
    "infinity": lambda z, fz: torch.full_like(z, torch.inf),
    "huge": lambda z, fz: torch.full_like(z, 1e30),
    "large": lambda z, fz: 1e4 * (1 + z.abs()),
    "noise": lambda z, fz: 10 * torch.randn_like(z),
    "zeros": lambda z, fz: torch.zeros_like(z),
    "backwards": lambda z, fz: z - 3 * (fz - z),
    "standing-still": lambda z, fz: z.clone(),
}


def test_the_safeguard_does_not_stall_where_the_relative_residual_oscillates():
    adjacency = GRAPHS["one-node"].adjacency()
    one = torch.ones(1, 1, dtype=DOUBLE)
    f = EquilibriumMap(adjacency, -0.9 * one, one, Contraction(0.9))
    plain = solve(f, Picard(), tol=1e-9)
    ratios = plain.trace[1:, 0] / plain.trace[:-1, 0]
    assert ratios.max() > 1  # plain iteration raises it now and then
    watched = solve(f, Picard(), tol=1e-9, safeguard=True, on_failure="raise")
    assert watched.num_evals == plain.num_evals
    assert watched.value.item() == pytest.approx(1 / 1.9)


@pytest.mark.parametrize("name", ["chain", "directed", "batch"])
@pytest.mark.parametrize("kind", PARAMETRIZATIONS)
@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_solver_that_is_always_wrong_costs_little_more_than_plain_iteration(garbage, kind, name):
    problem = nonlinear(name, kind, kappa=0.9)
    plain = solve(problem.f, Picard(), tol=1e-8)
    solver = Scripted(GARBAGE[garbage], safeguard=True)
    solution = solve(problem.f, solver, tol=1e-8, on_failure="raise")
    assert solution.num_evals <= 1.5 * plain.num_evals + 6
    assert int(solution.rejected.max()) > 0
    torch.testing.assert_close(solution.value, problem.answer, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["chain", "batch"])
def test_a_solver_that_is_wrong_now_and_then_is_repaired(name):
    problem = nonlinear(name, kappa=0.9)
    turns = iter(range(10_000))
    solver = Scripted(lambda z, fz: fz * torch.nan if next(turns) % 5 == 2 else fz)
    broken = solve(problem.f, solver, tol=1e-8, on_failure="return")
    assert broken.status is Status.NON_FINITE
    turns = iter(range(10_000))
    solution = solve(problem.f, solver, tol=1e-8, safeguard=True, on_failure="raise")
    plain = solve(problem.f, Picard(), tol=1e-8)
    assert plain.num_evals < solution.num_evals <= 1.5 * plain.num_evals + 6


def test_good_steps_are_not_rejected():
    problem = nonlinear("chain")
    watched = solve(problem.f, Picard(), safeguard=True, tol=1e-8)
    assert watched.rejected.tolist() == [0]
    assert torch.equal(watched.value, solve(problem.f, Picard(), tol=1e-8).value)


def test_the_solvers_own_choice_can_be_overridden():
    f = nonlinear("chain").f
    solver = Scripted(GARBAGE["nan"], safeguard=True)
    assert solve(f, solver, on_failure="return").converged
    assert not solve(f, solver, safeguard=False, on_failure="return").converged
