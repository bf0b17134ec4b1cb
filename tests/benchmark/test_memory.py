"""The estimate is not exceeded, and is no wild guess; what does not fit is refused with a remedy."""

from copy import copy
from dataclasses import replace

import pytest
import torch

from ignn_solver import IGNN, EquilibriumMap, InputError, Picard, datasets
from ignn_solver.benchmark.contenders import NAMES, contenders
from ignn_solver.benchmark.memory import GIBIBYTE, HALF_STATES, STATES, check, estimate
from ignn_solver.benchmark.problem import Problem
from ignn_solver.benchmark.timing import peak_bytes
from ignn_solver.learning.initializer import ZeroInitializer
from ignn_solver.learning.mixer import Mixer
from ignn_solver.learning.momentum import MomentumOptions, fit_momentum
from ignn_solver.solvers.mixed import MixedAnderson


@pytest.fixture(scope="module")
def wide():
    data = datasets.load("blocks:200")
    model = IGNN(data.num_features, 64, data.num_classes)
    return Problem("blocks:200", model, data, tol=1e-3)


def test_everyone_has_an_estimate():
    assert set(STATES) == set(NAMES)


@pytest.mark.parametrize(
    "name", [n for n in NAMES if n not in ("learned-paper", "torchdeq-broyden")]
)
def test_no_solve_takes_more_than_estimated_nor_much_less(wide, name):
    learned = fit_momentum(wide.f, wide.reference.float(), MomentumOptions(rank=2))
    solvers = {"learned": learned, "learned-paper": Picard()}
    (one,) = contenders(wide, (name,), solvers)
    states = peak_states(wide, one)
    assert states <= STATES[name] <= 3 * states


@pytest.mark.parametrize("name", HALF_STATES)
def test_nor_does_one_with_a_history_in_half_precision(wide, name):
    torch.manual_seed(0)
    mixed = MixedAnderson(ZeroInitializer(), Mixer("gn", 64), history="half")
    problem = copy(wide)
    problem.tol = 1e-6  # far enough to fill the history
    (one,) = contenders(problem, (name,), {"learned-paper": mixed}, tuple(HALF_STATES))
    states = peak_states(problem, one)
    assert states <= HALF_STATES[name] < 1.5 * states
    (one,) = contenders(problem, (name,), {"learned-paper": replace(mixed, history="full")})
    assert states + STATES[name] - HALF_STATES[name] - 3 <= peak_states(problem, one)


def peak_states(problem, one):
    """The peak of a solve, b included, in arrays of the size of the states."""
    f = problem.f
    one.run(None, None)
    # Without what an earlier solve of the same map left behind.
    fresh = EquilibriumMap(f.adjacency, f.weight, f.bias, f.contraction)
    kept, problem.f = problem.f, fresh
    try:
        peak = peak_bytes(lambda: one.run(None, None))
    finally:
        problem.f = kept
    return peak / (f.bias.numel() * f.bias.element_size()) + 1


def test_the_largest_graph_of_the_paper_fits_into_20_gibibytes():
    nodes, entries = 2_449_029, 2 * 61_859_140 + 2_449_029
    assert check(nodes, entries, 128, ("picard", "learned"), 20) == {}
    assert estimate(nodes, entries, 128, "picard") > 10 * 2**30


def test_what_does_not_fit_is_refused_with_what_would():
    nodes, entries = 2_449_029, 126_167_309
    with pytest.raises(
        InputError, match=r"broyden, .* needs about .* choose picard, or lower the hidden"
    ):
        check(nodes, entries, 128, ("picard", "broyden"), 20)
    with pytest.raises(InputError, match=r"allows 1: lower the hidden size or raise --memory"):
        check(nodes, entries, 128, ("picard",), 1)


def test_half_the_history_is_tried_before_anyone_is_refused():
    sizes = 1_000_000, 10_000_000, 128
    names = ("picard", "anderson", "broyden")
    full = {name: estimate(*sizes, name) / GIBIBYTE for name in names}
    half = {
        name: estimate(*sizes, name, history="half") / GIBIBYTE for name in ("anderson", "broyden")
    }
    assert half["anderson"] < full["anderson"] < half["broyden"] < full["broyden"]
    assert check(*sizes, names, full["broyden"]) == {}
    assert check(*sizes, names, half["broyden"]) == {"broyden": full["broyden"]}
    with pytest.raises(
        InputError,
        match=r"broyden, its history in half precision, needs .* choose picard, anderson",
    ):
        check(*sizes, names, half["anderson"])
    two = ("picard", "anderson")
    assert check(*sizes, two, half["anderson"]) == {"anderson": full["anderson"]}
