"""Histories in half precision: what they store, what they hold, and that solves go as before."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

import ignn_solver as ig
from ignn_solver.equilibrium import EquilibriumMap
from ignn_solver.learning.initializer import ZeroInitializer
from ignn_solver.learning.mixer import Mixer
from ignn_solver.solvers import Anderson, Broyden
from ignn_solver.solvers import half as module
from ignn_solver.solvers.half import Half, HalfSteps, add_scaled_, blocks, row_dots
from ignn_solver.solvers.mixed import MixedAnderson
from ignn_solver.solving import solve
from problems import GRAPHS, linear, nonlinear

#: Half a unit in the last of 11 bits.
ROUNDING = 2.0**-11


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of a few rows, so that the tests see several."""
    monkeypatch.setattr(module, "_BLOCK_BYTES", 64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_row_keeps_its_relative_precision_whatever_its_size(dtype):
    x = torch.randn(9, 5, dtype=dtype) * torch.logspace(-30, 30, 9, dtype=dtype).unsqueeze(1)
    x[4] = 0
    stored = Half(x)
    assert stored.numbers.dtype == torch.float16
    for rows in blocks(x):
        assert stored[rows].dtype == dtype
        error = (stored[rows] - x[rows]).abs().amax(1)
        assert bool((error <= ROUNDING * x[rows].abs().amax(1)).all())


def test_a_row_does_not_depend_on_the_others():
    x = torch.randn(9, 5)
    alone = Half(x[3:4])[0:1]
    x[5], x[6], x[7] = 1e30, torch.nan, torch.inf
    assert torch.equal(Half(x)[3:4], alone)
    assert not Half(x)[6:8].isfinite().any(1).any()


def test_arithmetic_in_blocks_is_that_on_the_whole():
    x, y, weight = torch.randn(9, 5), torch.randn(9, 5), torch.randn(9, 1)
    stored = Half(x, y)
    whole = stored[0:9]
    torch.testing.assert_close(whole, x - y, rtol=0, atol=5 * ROUNDING)
    torch.testing.assert_close(row_dots(stored, y), (whole * y).sum(1))
    torch.testing.assert_close(row_dots(stored, stored), whole.square().sum(1))
    for one in (weight, weight[:1]):
        result = y.clone()
        add_scaled_(result, one, stored)
        torch.testing.assert_close(result, y + one * whole)


def test_only_differences_are_rounded():
    """Steps that differ little are combined far more exactly than images could be stored."""
    steps, points = HalfSteps(2), []
    base = torch.randn(6, 4, dtype=torch.float64)
    for _ in range(5):
        z, fz = (base + 1e-4 * torch.randn_like(base) for _ in range(2))
        steps.push(z, fz.clone())
        points = [*points, (z, fz)][-3:]
    assert len(steps.residuals) == 3
    assert len(steps.changes) == 2
    alpha, beta = torch.randn(6, 3, dtype=torch.float64), torch.rand(6, 1, dtype=torch.float64)
    alpha += (1 - alpha.sum(1, keepdim=True)) / 3
    expected = sum(
        alpha[:, i : i + 1] * (beta * fz + (1 - beta) * z) for i, (z, fz) in enumerate(points)
    )
    error = (steps.combine(alpha, beta) - expected).abs().amax()
    assert float(error) <= 1e-4 * 30 * ROUNDING


def bytes_of(held: object) -> int:
    """What the tensors of a state take; the graph is not the solver's."""
    if isinstance(held, Tensor):
        return held.numel() * held.element_size()
    if isinstance(held, list | tuple):
        return sum(map(bytes_of, held))
    if isinstance(held, dict):
        return sum(bytes_of(one) for name, one in held.items() if "adjacency" not in name)
    return bytes_of(vars(held)) if hasattr(held, "__dict__") else 0


@pytest.mark.parametrize("solver", [Anderson(), Anderson(window=10), Broyden()], ids=str)
def test_the_state_takes_about_half_the_memory(solver):
    f = nonlinear("chain", width=128).f
    f = EquilibriumMap(
        f.adjacency.to(torch.float32), f.weight.float(), f.bias.float(), f.contraction
    )
    held = {}
    for history in ("full", "half"):
        one = replace(solver, history=history)
        z = f.start()
        state = one.init(f, z)
        for _ in range(13):
            z, state = one.step(z, f.evaluate(z).value.clone(), state)
        held[history] = bytes_of(state)
    assert 0.45 * held["full"] < held["half"] < 0.59 * held["full"]


def maps() -> dict[str, EquilibriumMap]:
    """Test graphs with weights of both spectra, and a larger graph, in single and double precision."""
    found = {}
    for name in GRAPHS:
        for kind in ("cayley", "symmetric"):
            for make in (linear, nonlinear):
                found[f"{name} {kind} {make.__name__}"] = make(name, kind, kappa=0.95).f
    data = ig.datasets.load("blocks:300")
    for kind in ("cayley", "symmetric"):
        torch.manual_seed(0)
        model = ig.IGNN(data.num_features, 16, data.num_classes, 0.95, parametrization=kind)
        found[f"blocks {kind}"] = model.equilibrium_map(data).detach()
    return found


@pytest.mark.parametrize("tol", [1e-3, 1e-5])
@pytest.mark.parametrize(
    ("solver", "most"), [(Anderson(), 4), (Anderson(beta=0.7), 4), (Broyden(), 10)]
)
def test_it_converges_as_with_a_full_history_and_to_the_same_answer(solver, most, tol):
    more = []
    for name, f in maps().items():
        full = solve(f, solver, tol=tol, on_failure="raise")
        half = solve(f, replace(solver, history="half"), tol=tol, on_failure="raise")
        more.append(half.num_evals - full.num_evals)
        assert more[-1] <= most, name
        error = float((half.value - full.value).norm() / full.value.norm())
        assert error <= 2 * tol / (1 - f.contraction.factor), name
    # That many only where a full history ends in a handful of steps, exactly, or where Broyden strays.
    assert sum(more) <= len(more)


@pytest.mark.parametrize("mixer", ["gn", None])
def test_the_papers_solver_takes_the_same_steps(mixer):
    f = maps()["blocks cayley"]
    torch.manual_seed(0)
    network = None if mixer is None else Mixer(mixer, 16, window=3)
    if network is not None:
        torch.nn.init.normal_(network.out.weight, std=0.05)
    full = MixedAnderson(ZeroInitializer(), network, safeguard=True)
    for tol in (1e-3, 1e-5):
        one = solve(f, full, tol=tol, on_failure="raise")
        other = solve(f, replace(full, history="half"), tol=tol, on_failure="raise")
        assert abs(other.num_evals - one.num_evals) <= 2
        torch.testing.assert_close(other.value, one.value, rtol=0, atol=20 * tol)
