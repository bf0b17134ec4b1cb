"""The certificate against the truth, on random problems of every kind."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ignn_solver.certificate.search import Case, examine, reference_equilibrium

cases = st.builds(
    Case,
    seed=st.integers(0, 2**31 - 1),
    nodes=st.integers(1, 24),
    width=st.integers(1, 12),
    graphs=st.sampled_from([1, 1, 3]),
    degree=st.sampled_from([0.5, 1.0, 2.0, 6.0]),
    directed=st.booleans(),
    weighted=st.booleans(),
    parametrization=st.sampled_from(["cayley", "projection", "symmetric"]),
    activation=st.sampled_from(["relu", "tanh", "sigmoid"]),
    kappa=st.sampled_from([0.1, 0.5, 0.8, 0.9, 0.95]),
    scale=st.sampled_from([1e-3, 0.1, 1.0, 30.0, 1e3]),
    double=st.booleans(),
    tol=st.sampled_from([0.3, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10]),
    accelerate=st.booleans(),
    layers=st.integers(1, 3),
    exact=st.booleans(),
)


@settings(max_examples=1000, deadline=None, derandomize=True, database=None)
@given(cases)
def test_no_bound_is_below_the_true_error_and_no_proven_class_is_wrong(case):
    outcome = examine(case)
    assert outcome.reason is None
    assert float(outcome.ratio.min()) >= 1
    assert outcome.wrong == 0


@pytest.mark.parametrize("directed", [False, True])
def test_the_certificate_proves_something(directed):
    proven = [examine(Case(seed, directed=directed, tol=1e-5)).certified for seed in range(20)]
    assert sum(proven) > 0.9 * 20 * 8


def test_a_bound_that_is_too_small_would_be_caught():
    # The tightest node of a hundred problems is within a hair of its bound, so that a bound that
    # forgot anything would be refuted.
    base = Case(0, width=1, kappa=0.8, activation="relu", tol=1e-2, double=True)
    tightest = min(float(examine(replace(base, seed=seed)).ratio.min()) for seed in range(100))
    assert 1 <= tightest < 1.05


def test_the_reference_is_the_fixed_point():
    f, _ = Case(3, double=True).build()
    z, residual = reference_equilibrium(f, torch.zeros_like(f.bias))
    torch.testing.assert_close(f(z), z, rtol=0, atol=1e-11)
    assert residual <= 1e-12 * float(z.norm())
