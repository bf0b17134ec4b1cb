import pytest
import torch

import ignn_solver as ig
from ignn_solver.errors import InputError
from ignn_solver.learning.fit import make_mixed
from ignn_solver.learning.unroll import UnrollOptions, part_size, train_unrolled, unroll


@pytest.fixture
def untrained():
    return make_mixed({"width": 16, "in_channels": 12, "mixer": "nn", "initializer": "mlp"})


def test_unrolling_is_what_a_solve_does(f, untrained):
    _, iterates, mixed = unroll(untrained, f, 4)
    assert len(iterates) == len(mixed) == 4
    start, _ = untrained.initial(f)
    trace = ig.solve(f, untrained, start.detach(), tol=0, max_evals=5, on_failure="return").trace
    residual = torch.linalg.norm(f(iterates[-1]) - iterates[-1]) / f(iterates[-1]).norm()
    assert float(trace[-1]) == pytest.approx(float(residual.detach()), rel=1e-3)


def test_training_lowers_the_error_and_leaves_the_map_alone(f, solution, untrained):
    weight = f.weight.clone()
    options = UnrollOptions(steps=4, iterations=30, lr=0.02)
    history = train_unrolled(untrained, f, solution, options, progress=False)
    assert history[-1]["last_error"] < 0.8 * history[0]["last_error"]
    assert history[-1]["initial_error"] < 0.8 * history[0]["initial_error"]
    assert torch.equal(f.weight, weight)


def test_a_graph_that_does_not_fit_is_trained_on_in_parts(f, solution, untrained):
    options = UnrollOptions(steps=3, iterations=12, memory=150 * 4 * 3 * 16 * 24 / 2**30)
    assert part_size(f, untrained, options) == 150
    history = train_unrolled(untrained, f, solution, options, progress=False)
    assert history[-1]["initial_error"] < history[0]["initial_error"]
    with pytest.raises(InputError, match="too little to unroll"):
        part_size(f, untrained, UnrollOptions(memory=1e-6))
