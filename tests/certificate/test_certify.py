"""Certificates with known answers, and where none can be given."""

import math

import pytest
import torch

from ignn_solver import Adjacency, Contraction, EquilibriumMap, InputError, solve
from ignn_solver.certificate import Certifier, certify, measured_factor
from ignn_solver.certificate.factor import operator_norm
from ignn_solver.certificate.search import Case, reference_equilibrium
from ignn_solver.sparse import SparseMatrix

ALONE = torch.zeros(2, 0, dtype=torch.long)


def single_node(weight=0.8, bias=1.0, activation="relu"):
    """z = relu(w z + b): the fixed point is b / (1 - w)."""
    adjacency = Adjacency.from_edge_index(ALONE, num_nodes=1, undirected=True, dtype=torch.float64)
    weight = torch.tensor([[weight]], dtype=torch.float64)
    bias = torch.tensor([[bias]], dtype=torch.float64)
    return EquilibriumMap(adjacency, weight, bias, Contraction(0.8), activation)


def test_the_bound_of_a_single_node_is_its_error():
    f = single_node()
    solution = solve(f, tol=1e-3)
    error = 5.0 - float(solution.value)
    assert float(certify(f, solution).bound) == pytest.approx(error, rel=1e-10)
    assert float(certify(f, solution).bound) >= error
    assert float(certify(f, solution, exact=True).bound) == pytest.approx(error, rel=1e-10)


def test_without_a_weight_the_value_is_exact():
    f = single_node(weight=0.0)
    certificate = certify(f, solve(f, z0=torch.tensor([[9.0]]), tol=100.0))
    assert certificate.reason is None
    assert float(certificate.bound) < 1e-13


def test_the_factor_is_measured_and_not_taken_on_trust():
    f, _ = Case(0, width=40).build()
    signs = torch.randn(40, 40, generator=torch.Generator().manual_seed(0)).sign()
    factor = measured_factor(
        EquilibriumMap(f.adjacency, signs * 0.9 / 40, f.bias, Contraction(0.9, "inf"))
    )
    # Entries of random signs shrink rows far more in the 2-norm than the projection promises.
    assert factor.norm == "2"
    assert factor.value < 0.5
    sigmoid = single_node(activation="sigmoid")
    assert measured_factor(sigmoid).value == pytest.approx(0.2)


def test_the_infinity_norm_is_used_where_it_alone_contracts():
    f, _ = Case(0, nodes=12, width=6, double=True).build()
    weight = torch.zeros(6, 6, dtype=torch.float64)
    weight[0] = 0.9  # spectral norm 2.2, but every column sums to 0.9
    f = EquilibriumMap(f.adjacency, weight, f.bias, Contraction(0.9, "inf"))
    solution = solve(f, tol=1e-4)
    certificate = certify(f, solution)
    assert certificate.norm == "inf"
    assert certificate.factor == pytest.approx(0.9)
    exact, _ = reference_equilibrium(f, solution.value)
    error = (solution.value - exact).abs().amax(-1)
    assert bool((certificate.bound >= error).all())
    assert bool((certificate.bound < 1).all())


@pytest.mark.parametrize("norm", ["2", "inf"])
def test_operator_norms_are_rounded_up(norm):
    matrix = torch.randn(30, 20, dtype=torch.float64)
    expected = torch.linalg.matrix_norm(matrix.T, 2 if norm == "2" else torch.inf)
    assert expected <= operator_norm(matrix, norm) <= expected * (1 + 1e-9)
    assert operator_norm(torch.full((2, 2), math.nan), norm) == math.inf


def test_a_cayley_weight_in_float32_is_not_quite_orthogonal():
    f, _ = Case(1, width=32).build()
    singular = torch.linalg.svdvals(f.weight.double())
    assert measured_factor(f).value >= float(singular[0])
    assert measured_factor(f).value == pytest.approx(0.9, rel=1e-5)


def test_an_exact_certificate_has_hardly_any_rounding():
    f, _ = Case(2, nodes=30, width=32).build()
    solution = solve(f, tol=1e-5)
    plain, exact = certify(f, solution), certify(f, solution, exact=True)
    assert float(exact.rounding.max()) < 1e-6 * float(plain.rounding.max())
    assert float(exact.bound.median()) < 0.5 * float(plain.bound.median())
    assert float(plain.rounding.median()) > 0.5 * float(plain.bound.median())


def test_the_bound_falls_with_the_residual_until_rounding_is_left():
    f, _ = Case(3, nodes=30, width=16).build()
    first, second = (certify(f, solve(f, tol=tol)) for tol in (1e-2, 1e-4))
    assert float(second.bound.mean()) < 0.1 * float(first.bound.mean())
    torch.testing.assert_close(first.at(1.0), first.bound)
    torch.testing.assert_close(first.at(0.0), first.rounding)
    assert float(first.at(0.01).mean()) == pytest.approx(float(second.bound.mean()), rel=1.0)


def test_looking_in_on_a_solve_gives_bounds_that_hold_at_every_evaluation():
    f, _ = Case(4, nodes=60, width=8).build()
    certifier = Certifier(f)
    exact, _ = reference_equilibrium(f, f.start())
    ratios = []

    def observer(spent, evaluation):
        error = (evaluation.value.double() - exact).norm(dim=-1)
        ratios.append(certifier.observe(evaluation).bound / error)
        return False

    solve(f, tol=1e-5, observer=observer)
    assert float(torch.stack(ratios).min()) >= 1
    assert float(torch.stack(ratios)[5].median()) < 20


def test_a_factor_of_one_or_more_proves_nothing_and_says_so():
    f = single_node(weight=1.0)
    solution = solve(f, max_evals=5, on_failure="return")
    certificate = certify(f, solution)
    assert certificate.bound.tolist() == [math.inf]
    assert "contracts by 1 at best" in certificate.reason


def test_a_negative_weight_proves_nothing_and_says_so():
    matrix = SparseMatrix.from_torch(torch.tensor([[0.5, -0.5], [-0.5, 0.5]]).to_sparse())
    adjacency = Adjacency(matrix, torch.ones(2))
    f = EquilibriumMap(adjacency, torch.tensor([[0.5]]), torch.ones(2, 1), Contraction(0.5))
    certificate = certify(f, solve(f))
    assert not bool(torch.isfinite(certificate.bound).any())
    assert "entry -0.5" in certificate.reason


def test_an_adjacency_that_does_not_shrink_proves_nothing_and_says_so():
    matrix = SparseMatrix.from_torch(torch.full((2, 2), 0.6).to_sparse())
    adjacency = Adjacency(matrix, torch.ones(2))
    f = EquilibriumMap(adjacency, torch.tensor([[0.9]]), -torch.ones(2, 1), Contraction(0.9))
    certificate = certify(f, solve(f))
    assert "no positive vector" in certificate.reason
    assert certify(f, solve(f), exact=True).reason == certificate.reason


def test_states_that_are_not_finite_prove_nothing():
    f = single_node(bias=math.inf)
    certificate = certify(f, solve(f, on_failure="return"))
    assert certificate.bound.tolist() == [math.inf]
    assert "NaN or infinity" in certificate.reason


def test_coarse_matrix_products_prove_nothing():
    f, _ = Case(0).build()
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        assert "coarsely" in certify(f, solve(f)).reason
    finally:
        torch.set_float32_matmul_precision(before)
    assert certify(f, solve(f)).reason is None


def test_a_solution_of_another_graph_is_refused():
    f, _ = Case(0).build()
    other, _ = Case(0, nodes=9).build()
    with pytest.raises(InputError, match="the map that it solves"):
        certify(f, solve(other))
