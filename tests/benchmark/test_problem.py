"""Answers are judged by their own residual and by the distance to a much better answer."""

import pytest
import torch

from ignn_solver import solve
from ignn_solver.benchmark.problem import REFERENCE_TOLERANCE, reference


def dense_residual(problem, value):
    f = problem.f
    a = f.adjacency.matrix.as_torch().to_dense().double()
    image = torch.relu(a @ value.double() @ f.weight.double() + f.bias.double())
    return float((image - value).norm() / image.norm())


def test_the_reference_is_a_fixed_point_in_float64(problem):
    found = reference(problem.f)
    assert found.dtype == torch.float64
    assert dense_residual(problem, found) <= REFERENCE_TOLERANCE


def test_a_state_is_judged_where_it_stands(problem):
    rough = solve(problem.f, tol=1e-1).value
    found = problem.judge(rough)
    assert found.residual == pytest.approx(dense_residual(problem, rough), rel=1e-4)
    distance = (rough.double() - problem.reference).norm() / problem.reference.norm()
    assert found.error == pytest.approx(float(distance))
    close = problem.judge(problem.reference.float())
    assert close.error < 1e-6 < found.error
    assert close.accuracy == problem.exact_accuracy
    assert close.certified >= found.certified


def test_accuracy_counts_the_test_nodes_only(problem):
    mask = problem.data.test_mask
    value = problem.reference.float()
    with torch.no_grad():
        right = problem.model.head(value).argmax(-1) == problem.data.y
    assert problem.accuracy(value) == pytest.approx(float(right[mask].double().mean()))


def test_accuracy_has_settled_where_it_no_longer_leaves_that_of_the_equilibrium(problem):
    exact = problem.exact_accuracy
    assert problem.settled([0.0, exact, 0.0, exact + 0.0005, exact]) == 4
    assert problem.settled([exact] * 3) == 1
    assert problem.settled([exact, exact - 0.0011]) is None
    assert problem.settled([None]) is None
