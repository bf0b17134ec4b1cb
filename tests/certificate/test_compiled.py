"""The compiled proof against the one in plain torch: the same bounds and margins, to rounding."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from ignn_solver import kernels, solve
from ignn_solver.certificate import Certifier, HeadBound
from ignn_solver.certificate.search import Case, reference_equilibrium
from ignn_solver.kernels import plain_products

tiles = pytest.importorskip("ignn_solver.kernels.tiles")

cases = st.builds(
    Case,
    seed=st.integers(0, 2**31 - 1),
    nodes=st.integers(1, 60),
    width=st.integers(1, 40),
    degree=st.sampled_from([0.5, 2.0, 6.0]),
    directed=st.booleans(),
    weighted=st.booleans(),
    activation=st.sampled_from(["relu", "tanh", "sigmoid"]),
    kappa=st.sampled_from([0.1, 0.8, 0.95]),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    double=st.booleans(),
    tol=st.sampled_from([0.3, 1e-2, 1e-4]),
)


def in_torch(call):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IGNN_SOLVER_KERNELS", "torch")
        # What is proven was evaluated by compiled kernels all the same.
        patch.setattr(plain_products, "roundings", tiles.roundings)
        assert kernels.backend() == "torch"
        return call()


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(cases, st.integers(1, 12), st.booleans())
def test_bounds_are_those_of_plain_torch(case, sweeps, exact):
    f, _ = case.build()
    evaluation = f.evaluate(solve(f, tol=case.tol, on_failure="return").value)

    def certificate():
        # Nothing is enough, so that both spend every sweep.
        if exact:
            return Certifier(f).exact(evaluation.value, sweeps=sweeps, enough=0.0)
        return Certifier(f).observe(evaluation, sweeps=sweeps, enough=0.0)

    compiled, plain = certificate(), in_torch(certificate)
    assert compiled.sweeps == plain.sweeps
    # Estimates are improved in float32; what they lack is magnified by 1 / (1 - theta).
    size = float(plain.bound.max())
    torch.testing.assert_close(compiled.bound, plain.bound, rtol=1e-3, atol=1e-4 * size)
    size = float(plain.rounding.max())
    torch.testing.assert_close(compiled.rounding, plain.rounding, rtol=1e-3, atol=1e-4 * size)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(cases, st.integers(1, 30), st.sampled_from([0.02, 0.1, 0.5]))
def test_a_look_at_any_evaluation_bounds_its_error(case, sweeps, enough):
    f, _ = case.build()
    certifier = Certifier(f)
    exact, off = reference_equilibrium(f, f.start())
    order = torch.inf if certifier.factor.norm == "inf" else 2

    def look(spent, evaluation):
        error = torch.linalg.vector_norm(evaluation.value.double() - exact, order, dim=-1)
        bound = certifier.observe(evaluation, sweeps=sweeps, enough=enough).bound
        assert bool((bound + off / (1 - certifier.factor.value) + 1e-14 >= error).all())
        return spent >= 12

    solve(f, tol=case.tol, on_failure="return", observer=look)


def test_both_spend_the_same_sweeps_on_a_graph():
    f, _ = Case(3, nodes=400, width=16, degree=3).build()
    evaluation = f.evaluate(solve(f, tol=1e-3).value)
    for enough in (0.02, 0.1, 0.3):
        compiled = Certifier(f).observe(evaluation, enough=enough)
        plain = in_torch(lambda enough=enough: Certifier(f).observe(evaluation, enough=enough))
        assert compiled.sweeps == plain.sweeps
        torch.testing.assert_close(compiled.bound, plain.bound, rtol=1e-4, atol=0)


@pytest.mark.parametrize("broken", [torch.nan, torch.inf])
@pytest.mark.parametrize("place", [1, 2])
def test_a_node_that_is_not_finite_proves_nothing_of_any(broken, place):
    f, _ = Case(0, nodes=30).build()
    parts = list(f.evaluate(f.start()))
    parts[place][17] = broken
    evaluation = type(f.evaluate(f.start()))(*parts)
    for found in (
        Certifier(f).observe(evaluation),
        in_torch(lambda: Certifier(f).observe(evaluation)),
    ):
        assert not bool(torch.isfinite(found.bound).any())
        assert "NaN or infinity" in found.reason


def test_a_bias_that_is_not_finite_proves_nothing():
    f, _ = Case(0, nodes=30).build()
    evaluation = f.evaluate(f.start())
    f.bias[3] = torch.nan
    assert not bool(torch.isfinite(Certifier(f).observe(evaluation).bound).any())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("norm", ["2", "inf"])
@pytest.mark.parametrize("classes", [1, 2, 7])
def test_margins_are_those_of_plain_torch(dtype, bias, norm, classes):
    head = nn.Linear(9, classes, bias=bias, dtype=dtype)
    states = torch.randn(3000, 9, dtype=dtype)
    states[5] = 0
    bound = HeadBound(head, norm)
    compiled, plain = bound.margins(states), in_torch(lambda: bound.margins(states))
    assert torch.equal(compiled.classes, plain.classes)
    torch.testing.assert_close(compiled.margin, plain.margin, rtol=1e-5, atol=1e-6)
    known = bound.margins(states, states.square().sum(-1))
    torch.testing.assert_close(known.margin, compiled.margin, rtol=1e-5, atol=1e-6)


def test_scores_that_are_not_finite_have_no_margin():
    head = nn.Linear(2, 3)
    states = torch.randn(6, 2)
    states[1, 0], states[2, 1] = torch.nan, torch.inf
    assert HeadBound(head).margins(states).margin[1:3].tolist() == [0, 0]
    head.weight.data[2, 0] = torch.nan
    assert HeadBound(head).margins(torch.randn(6, 2)).margin.tolist() == [0] * 6
