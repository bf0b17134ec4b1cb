import pytest
import torch

import ignn_solver as ig
from ignn_solver.errors import InputError
from ignn_solver.learning.initializer import ZeroInitializer
from ignn_solver.learning.mixer import MIXERS, Mixer
from ignn_solver.solvers import Anderson
from ignn_solver.solvers.mixed import MixedAnderson, Window
from learning.conftest import f, graph, model, solution

__all__ = ["f", "graph", "model", "solution"]


def test_least_squares_weights_are_classical_anderson_exactly(f):
    variant = MixedAnderson(ZeroInitializer(), None, window=4, safeguard=False)
    mine, classical = ig.solve(f, variant, tol=1e-5), ig.solve(f, Anderson(window=4), tol=1e-5)
    assert torch.equal(mine.trace, classical.trace)
    assert torch.equal(mine.value, classical.value)


def test_an_untrained_mixer_steps_as_plain_iteration(f):
    variant = MixedAnderson(ZeroInitializer(), Mixer("gn", 16), safeguard=False)
    mine, plain = ig.solve(f, variant, tol=1e-5), ig.solve(f, tol=1e-5)
    assert mine.num_evals == plain.num_evals
    torch.testing.assert_close(mine.value, plain.value)


@pytest.mark.parametrize("kind", MIXERS)
@pytest.mark.parametrize("scale", [1.0, 1e3, float("nan")])
def test_a_mixer_with_wild_weights_still_converges(f, kind, scale):
    mixer = Mixer(kind, 16, window=3)
    for parameter in mixer.parameters():
        torch.nn.init.normal_(parameter)
        parameter.data.mul_(scale)
    wild = MixedAnderson(ZeroInitializer(), mixer, safeguard=True)
    found = ig.solve(f, wild, tol=1e-4, on_failure="raise")
    assert found.num_evals <= 1.5 * ig.solve(f, tol=1e-4).num_evals + 6


def test_the_combination_is_the_papers_formula(f):
    mixer = Mixer("nn", 16, window=2)
    window = Window(f.adjacency, None)
    points = [torch.randn_like(f.bias) for _ in range(5)]
    for z in points:
        window.push(mixer, z, f(z))
    alpha, beta = torch.randn(400, 3), torch.rand(400, 1)
    expected = sum(
        alpha[:, i : i + 1] * (beta * f(z) + (1 - beta) * z) for i, z in enumerate(points[-3:])
    )
    torch.testing.assert_close(window.combine(alpha, beta), expected, rtol=1e-4, atol=1e-4)


def test_an_unknown_history_is_refused():
    with pytest.raises(InputError, match='history must be "full" or "half"'):
        MixedAnderson(ZeroInitializer(), None, history="double")


def test_a_model_of_another_width_is_refused(f):
    variant = MixedAnderson(ZeroInitializer(), None, details={"width": 8})
    with pytest.raises(InputError, match="width 8, but the model has width 16"):
        ig.solve(f, variant)


def test_a_step_is_charged_by_its_share_of_the_products(f):
    mixer = Mixer("gn", 16, hidden=4)
    whole = MixedAnderson(ZeroInitializer(), mixer, density=1.0)
    assert whole.step_cost(f.adjacency) == pytest.approx(4 / 16)
    sparse = MixedAnderson(ZeroInitializer(), mixer, density=0.3)
    share = sparse.sparse_graph(f.adjacency).num_entries / f.adjacency.num_entries
    assert sparse.step_cost(f.adjacency) == pytest.approx(share * 4 / 16)
    for without in (Mixer("nn", 16), None):
        assert MixedAnderson(ZeroInitializer(), without).step_cost(f.adjacency) == 0
