"""The allowance for rounding against rounding that happens."""

import math

import pytest
import torch

from ignn_solver import EquilibriumMap, Picard, solve
from ignn_solver.certificate import measured_factor
from ignn_solver.certificate.rounding import (
    evaluation_error,
    exact_residual_sq,
    gamma,
    row_norms,
    unit_roundoff,
    upper_norms,
)
from ignn_solver.certificate.search import Case
from ignn_solver.kernels import products


def test_gamma_is_the_textbook_constant():
    u = unit_roundoff(torch.float32)
    assert u == 2.0**-24
    terms = torch.tensor([1, 100, 2**24])
    expected = [u / (1 - u), 100 * u / (1 - 100 * u), math.inf]
    assert gamma(terms, torch.float32).tolist() == pytest.approx(expected)


def test_row_norms_are_upper_bounds_even_when_squares_vanish():
    x = torch.tensor([[3.0, 4.0], [1e-30, 1e-30], [0.0, 0.0]])
    norms = row_norms(x)
    assert bool((norms >= x.double().norm(dim=-1)).all())
    assert float(norms[0]) == pytest.approx(5, rel=1e-5)
    assert float(upper_norms(torch.zeros(1), 4, torch.float64)) < 1e-150


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
@pytest.mark.parametrize("width", [1, 8, 64])
def test_a_computed_evaluation_is_within_its_allowance(activation, width):
    f, _ = Case(width, nodes=40, width=width, degree=8, activation=activation, scale=5).build()
    z = solve(f, Picard(), tol=1e-2).value
    computed = f.evaluate(z).value.double()
    exact = f.adjacency.to(torch.float64)
    spread = exact.matmul(row_norms(z)) * (1 + 1e-12)
    double = EquilibriumMap(exact, f.weight.double(), f.bias.double(), f.contraction, activation)
    error = (double(z.double()) - computed).norm(dim=-1)
    terms = products.roundings(width, z)
    allowed = evaluation_error(
        f,
        measured_factor(f),
        spread,
        row_norms(f.bias),
        computed.norm(dim=-1),
        torch.float32,
        terms,
    )
    assert bool((error <= allowed).all())
    assert float(error.max()) > 0
    assert float(allowed.max()) < 1e-3 * float(computed.norm(dim=-1).max())


def test_the_residual_in_float64_is_that_of_the_dense_formula():
    f, _ = Case(0, nodes=10, width=70).build()
    value = f.start()
    dense = f.adjacency.matrix.as_torch().to_dense().double()
    expected = torch.relu(dense @ (value.double() @ f.weight.double()) + f.bias) - value
    found = exact_residual_sq(f, value).sqrt()
    torch.testing.assert_close(found, expected.norm(dim=-1), rtol=1e-12, atol=0)
