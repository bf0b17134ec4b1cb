"""Looking first where a proof succeeded before: fewer looks, the same guarantee."""

import copy

import pytest
import torch

from ignn_solver import solve
from ignn_solver.certificate import CertifiedStop, Certifier
from ignn_solver.certificate.remembered import keep, recall
from ignn_solver.certificate.search import Case, reference_equilibrium
from ignn_solver.ordering import ordered


def stopped(f, head, fraction=0.9, nodes=None):
    """A solve to a proof, and how often its observer had a look."""
    stop = CertifiedStop(Certifier(f), head, fraction, nodes)
    looks, look = [], stop._look
    stop._look = lambda *given: looks.append(given) or look(*given)
    recall(stop, f.adjacency)
    solution = solve(f, tol=1e-7, observer=stop)
    keep(stop, f.adjacency)
    assert stop.reached
    return solution, stop, len(looks)


@pytest.fixture
def problem():
    return Case(1, nodes=300, width=16, degree=3).build()


@pytest.mark.parametrize("turned", [False, True])
def test_the_second_solve_needs_one_look_and_proves_as_much(problem, turned):
    f, head = problem
    if turned:
        f.adjacency.order = ordered(f.adjacency, "rcm", 16)
    first, _, looks = stopped(f, head)
    again, stop, fewer = stopped(f, head)
    assert fewer == 1 < looks
    assert again.num_evals == first.num_evals
    assert torch.equal(again.value, first.value)
    exact, _ = reference_equilibrium(f, again.value)
    error = torch.linalg.vector_norm(again.value.double() - exact, dim=-1)
    assert bool((stop.certificate.bound >= error).all())
    proven = stop.margins.margin > stop.certificate.bound
    assert float(proven.double().mean()) >= 0.9


def test_other_features_are_proven_for_themselves(problem):
    f, head = problem
    stopped(f, head)
    torch.manual_seed(0)
    for scale in (1e-3, 1.0, 1e3):
        other = copy.copy(f)
        object.__setattr__(other, "bias", scale * torch.randn_like(f.bias))
        solution, stop, _ = stopped(other, head)
        exact, _ = reference_equilibrium(other, solution.value)
        error = torch.linalg.vector_norm(solution.value.double() - exact, dim=-1)
        assert bool((stop.certificate.bound >= error).all())


def test_other_weights_and_other_questions_are_not_mixed_up(problem):
    f, head = problem
    stopped(f, head)

    def begins_anew(f, head, fraction=0.9, nodes=None):
        stop = CertifiedStop(Certifier(f), head, fraction, nodes)
        before = stop.looks_from
        recall(stop, f.adjacency)
        return stop.looks_from == before

    assert not begins_anew(f, head)
    assert begins_anew(f, head, fraction=0.8)
    assert begins_anew(f, head, nodes=torch.arange(7))
    moved = copy.copy(f)
    object.__setattr__(moved, "weight", 0.99 * f.weight)
    assert begins_anew(moved, head)
    with torch.no_grad():
        head[-1].bias += 1e-3
    assert begins_anew(f, head)


def test_a_solve_that_proves_too_little_is_not_remembered(problem):
    f, head = problem
    stop = CertifiedStop(Certifier(f), head, 1.0)
    solve(f, tol=0.1, observer=stop)
    assert not stop.reached
    keep(stop, f.adjacency)
    assert f.adjacency.proven is None
