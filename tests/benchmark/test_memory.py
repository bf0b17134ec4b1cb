"""The estimate is not exceeded, and is no wild guess; what does not fit is refused with a remedy."""

import pytest

from ignn_solver import IGNN, EquilibriumMap, InputError, Picard, datasets
from ignn_solver.benchmark.contenders import NAMES, contenders
from ignn_solver.benchmark.memory import STATES, check, estimate
from ignn_solver.benchmark.problem import Problem
from ignn_solver.benchmark.timing import peak_bytes
from ignn_solver.learning.momentum import MomentumOptions, fit_momentum


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
    problem, f = wide, wide.f
    learned = fit_momentum(f, problem.reference.float(), MomentumOptions(rank=2))
    solvers = {"learned": learned, "learned-paper": Picard()}
    (one,) = contenders(problem, (name,), solvers)
    one.run(None, None)
    # Without what an earlier solve of the same map left behind.
    fresh = EquilibriumMap(f.adjacency, f.weight, f.bias, f.contraction)
    kept, problem.f = problem.f, fresh
    try:
        peak = peak_bytes(lambda: one.run(None, None))
    finally:
        problem.f = kept
    state = f.bias.numel() * f.bias.element_size()
    assert peak / state + 1 <= STATES[name]
    assert STATES[name] <= 3 * (peak / state + 1)


def test_the_largest_graph_of_the_paper_fits_into_20_gibibytes():
    nodes, entries = 2_449_029, 2 * 61_859_140 + 2_449_029
    check(nodes, entries, 128, ("picard", "learned"), 20)
    assert estimate(nodes, entries, 128, "picard") > 10 * 2**30


def test_what_does_not_fit_is_refused_with_what_would():
    nodes, entries = 2_449_029, 126_167_309
    with pytest.raises(
        InputError, match=r"broyden needs about .* choose picard, or lower the hidden"
    ):
        check(nodes, entries, 128, ("picard", "broyden"), 20)
    with pytest.raises(InputError, match=r"allows 1: lower the hidden size or raise --memory"):
        check(nodes, entries, 128, ("picard",), 1)
