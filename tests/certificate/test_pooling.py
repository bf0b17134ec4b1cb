"""Bounds on pooled states."""

import pytest
import torch

from ignn_solver import InputError, solve
from ignn_solver.certificate import certify, pooled_bound
from ignn_solver.certificate.search import Case, reference_equilibrium


@pytest.mark.parametrize("pooling", ["sum", "mean", "max"])
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_pooled_states_are_within_their_bound(pooling, double, seed):
    f, _ = Case(seed, graphs=4, double=double).build()
    solution = solve(f, tol=1e-3)
    bound = pooled_bound(certify(f, solution), solution.value, f.adjacency, pooling)
    assert bound.shape == (4,)
    exact, _ = reference_equilibrium(f, solution.value)
    pool = {
        "sum": lambda x: x.view(4, 8, -1).sum(1),
        "mean": lambda x: x.view(4, 8, -1).mean(1),
        "max": lambda x: x.view(4, 8, -1).amax(1),
    }[pooling]
    error = (pool(solution.value).double() - pool(exact)).norm(dim=-1)
    assert bool((bound >= error).all())
    assert bool((bound < 1).all())


def test_in_the_infinity_norm_a_maximum_moves_by_the_largest_bound():
    f, _ = Case(0, graphs=2).build()
    solution = solve(f)
    certificate = certify(f, solution)
    object.__setattr__(certificate, "norm", "inf")
    bound = pooled_bound(certificate, solution.value, f.adjacency, "max")
    torch.testing.assert_close(bound, certificate.bound.view(2, 8).amax(1))


def test_an_unknown_pooling_is_named():
    f, _ = Case(0).build()
    solution = solve(f)
    with pytest.raises(InputError, match="unknown pooling 'median'"):
        pooled_bound(certify(f, solution), solution.value, f.adjacency, "median")
