"""Ways to write W, and that each keeps what it promises."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ignn_solver.equilibrium import Contraction
from ignn_solver.errors import InputError
from ignn_solver.nn.parametrize import PARAMETRIZATIONS, parametrization
from problems import DOUBLE


def made(kind: str, width: int, kappa: float, size: float, seed: int) -> torch.nn.Module:
    chosen = parametrization(kind, width, kappa).to(DOUBLE)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        chosen.raw.copy_(size * torch.randn(width, width, dtype=DOUBLE, generator=generator))
        chosen.project_()
    return chosen


ANY = (st.integers(1, 12), st.floats(0.01, 0.99), st.floats(0, 20), st.integers(0, 999))


@given(*ANY)
def test_cayley_is_kappa_times_an_orthogonal_matrix(width, kappa, size, seed):
    weight = made("cayley", width, kappa, size, seed)().detach()
    eye = torch.eye(width, dtype=DOUBLE)
    torch.testing.assert_close(weight @ weight.T, kappa**2 * eye, rtol=1e-8, atol=1e-10)
    assert torch.linalg.det(weight / kappa) == pytest.approx(1)  # a rotation: never a reflection


@given(*ANY)
def test_symmetric_is_symmetric_with_spectral_norm_at_most_kappa(width, kappa, size, seed):
    chosen = made("symmetric", width, kappa, size, seed)
    weight = chosen().detach()
    assert torch.equal(weight, weight.T)
    given_norm = torch.linalg.matrix_norm((chosen.raw + chosen.raw.T).detach() / 2, 2)
    expected = kappa * min(1.0, float(given_norm))
    assert torch.linalg.matrix_norm(weight, 2) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def closest_in_ball(column: Tensor, radius: float) -> Tensor:
    """Euclidean projection onto the absolute-sum ball, by bisection on the threshold."""
    if column.abs().sum() <= radius:
        return column
    low, high = torch.zeros((), dtype=DOUBLE), column.abs().max()
    for _ in range(200):
        middle = (low + high) / 2
        inside = (column.abs() - middle).clamp_min(0).sum() <= radius
        low, high = (low, middle) if inside else (middle, high)
    return column.sign() * (column.abs() - high).clamp_min(0)


@given(*ANY)
def test_projection_is_the_closest_matrix_within_the_bound(width, kappa, size, seed):
    chosen = parametrization("projection", width, kappa).to(DOUBLE)
    before = size * torch.randn(
        width, width, dtype=DOUBLE, generator=torch.Generator().manual_seed(seed)
    )
    with torch.no_grad():
        chosen.raw.copy_(before)
    chosen.project_()
    expected = torch.stack([closest_in_ball(column, kappa) for column in before.T], 1)
    torch.testing.assert_close(chosen().detach(), expected, rtol=1e-9, atol=1e-9)
    assert chosen().abs().sum(0).max() <= kappa
    again = chosen().detach().clone()
    chosen.project_()
    assert torch.equal(chosen(), again)


@pytest.mark.parametrize("kind", PARAMETRIZATIONS)
def test_single_precision_keeps_the_bound_to_rounding(kind):
    chosen = parametrization(kind, 64, 0.95)
    with torch.no_grad():
        chosen.raw.mul_(10)
        chosen.project_()
        weight = chosen()
    rows = torch.randn(200, 64)
    order = {"2": 2.0, "inf": torch.inf}[chosen.contraction.norm]
    grown = torch.linalg.vector_norm(rows @ weight, order, dim=1)
    bound = 0.95 * torch.linalg.vector_norm(rows, order, dim=1)
    assert (grown <= bound * (1 + 1e-5)).all()


@pytest.mark.parametrize("kind", PARAMETRIZATIONS)
def test_gradients_flow_to_the_free_parameters(kind):
    chosen = made(kind, 4, 0.8, 0.3, 0)
    target = torch.randn(4, 4, dtype=DOUBLE)

    def loss(raw: Tensor) -> Tensor:
        return (torch.func.functional_call(chosen, {"raw": raw}, ()) * target).sum()

    assert torch.autograd.gradcheck(loss, chosen.raw.detach().clone().requires_grad_())


@pytest.mark.parametrize("kind", PARAMETRIZATIONS)
def test_reset_draws_anew_within_the_bound(kind):
    chosen = parametrization(kind, 6, 0.5)
    before = chosen().detach().clone()
    chosen.reset_parameters()
    assert not torch.equal(chosen(), before)
    norm = "inf" if kind == "projection" else "2"
    assert chosen.contraction == Contraction(0.5, norm)
    assert repr(chosen) == f"{type(chosen).__name__}(6, kappa=0.5)"
    if kind == "projection":
        assert chosen().abs().sum(0).max() <= 0.5


@pytest.mark.parametrize("kind", PARAMETRIZATIONS)
@pytest.mark.parametrize("kappa", [0.0, 1.0, -0.5, 1.5, float("nan")])
def test_kappa_outside_the_open_interval_is_refused(kind, kappa):
    with pytest.raises(InputError, match=f"kappa must lie strictly between 0 and 1, not {kappa}"):
        parametrization(kind, 3, kappa)


def test_an_unknown_parametrization_is_refused():
    with pytest.raises(InputError, match="'qr': choose one of cayley, projection, symmetric"):
        parametrization("qr", 3, 0.5)
