"""Broyden's method against a dense implementation of its definition."""

import pytest
import torch
from torch import Tensor

from ignn_solver.equilibrium import EquilibriumMap
from ignn_solver.errors import InputError
from ignn_solver.solvers import Broyden, Picard
from ignn_solver.solving import solve
from problems import DOUBLE, GRAPHS, linear, nonlinear


def reference(f: EquilibriumMap, steps: int) -> list[Tensor]:
    """Good Broyden by the textbook: a dense inverse Jacobian, updated by Sherman and Morrison."""
    z = f.start().flatten()
    shape = f.bias.shape
    inverse = -torch.eye(z.numel(), dtype=DOUBLE)
    iterates, last = [z.view(shape)], None
    for _ in range(steps):
        residual = f(z.view(shape)).flatten() - z
        if last is not None:
            moved, changed = z - last[0], residual - last[1]
            left = moved - inverse @ changed
            inverse = inverse + torch.outer(left, moved @ inverse) / (moved @ inverse @ changed)
        last = z, residual
        z = z - inverse @ residual
        iterates.append(z.view(shape))
    return iterates


@pytest.mark.parametrize("name", ["one-node", "chain", "weighted", "directed"])
def test_it_equals_the_dense_reference(name):
    f = nonlinear(name, activation="tanh").f
    z = f.start()
    solver = Broyden()
    state = solver.init(f, z)
    for expected in reference(f, 7):
        torch.testing.assert_close(z, expected, rtol=1e-7, atol=1e-9)
        z, state = solver.step(z, f.evaluate(z).value, state)


def test_memory_is_limited():
    f = nonlinear("chain").f
    solver = Broyden(memory=3)
    z = f.start()
    state = solver.init(f, z)
    for _ in range(10):
        z, state = solver.step(z, f.evaluate(z).value, state)
        assert len(state.left) == len(state.right) <= 3


def test_a_graph_that_stands_still_teaches_nothing():
    f = nonlinear("batch").f
    solver = Broyden()
    z = f.start()
    state = solver.init(f, z)
    fz = f.evaluate(z).value
    fz[:3] = z[:3]
    for _ in range(4):
        z, state = solver.step(z, torch.cat([z[:3], f.evaluate(z).value[3:]]), state)
        assert z.isfinite().all()
        assert torch.equal(z[:3], f.start()[:3])


@pytest.mark.parametrize("name", GRAPHS)
def test_it_is_never_much_slower_than_plain_iteration(name):
    problem = linear(name, "symmetric", kappa=0.95)
    plain = solve(problem.f, Picard(), tol=1e-8)
    fast = solve(problem.f, Broyden(), tol=1e-8, on_failure="raise")
    assert fast.num_evals <= plain.num_evals + 2


def test_wrong_configurations_are_refused():
    with pytest.raises(InputError, match="memory must be at least 1, not 0"):
        Broyden(memory=0)
    with pytest.raises(InputError, match='history must be "full" or "half", not \'double\''):
        Broyden(history="double")
