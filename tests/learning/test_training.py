import pytest
import torch

from ignn_solver.learning.fit import make_mixed
from ignn_solver.learning.training import train_unrolled
from ignn_solver.learning.unroll import UnrollOptions, part_size, unroll


def test_training_lowers_the_error_and_leaves_the_map_alone(f, solution, untrained):
    weight = f.weight.clone()
    options = UnrollOptions(steps=4, iterations=30, lr=0.02)
    history = train_unrolled(untrained, f, solution, options, progress=False)
    guessing = [entry for entry in history if entry["steps"] == 0]
    mixing = [entry for entry in history if entry["steps"] == 4]
    assert len(mixing) == 30
    assert guessing[-1]["last_error"] < 0.8 * guessing[0]["last_error"]
    # The mixer goes on from where the initializer ends.
    assert mixing[0]["initial_error"] == pytest.approx(guessing[-1]["last_error"], rel=0.01)
    assert mixing[-1]["last_error"] < 0.8 * mixing[0]["last_error"]
    assert torch.equal(f.weight, weight)


def test_a_graph_that_does_not_fit_is_trained_on_in_parts(f, solution):
    options = UnrollOptions(steps=3, iterations=20, memory=150 * 4 * 3 * 16 * 24 / 2**30)
    details = {"width": 16, "in_channels": 12, "mixer": "gn", "initializer": "mlp"}
    errors = {}
    for name, some in {"parts": options, "whole": UnrollOptions(steps=3, iterations=20)}.items():
        torch.manual_seed(0)
        solver = make_mixed(details)
        assert part_size(f, solver, some) == (150 if name == "parts" else 400)
        train_unrolled(solver, f, solution, some, progress=False)
        with torch.no_grad():
            start, seen = solver.initializer(f), solver.sparse_graph(f.adjacency)
        iterates, _ = unroll(solver.mixer, [f] * 3, start, seen)
        errors[name] = float((iterates[-1].detach() - solution).norm() / solution.norm())
    # What is learnt on parts holds on the whole graph.
    assert errors["parts"] < 1.3 * errors["whole"]


def test_an_initializer_that_looks_along_edges_learns_on_parts_too(f, solution):
    solver = make_mixed({"width": 16, "in_channels": 12, "mixer": "aa", "initializer": "graph"})
    seen = []
    solver.initializer.register_forward_hook(lambda module, given, out: seen.append(len(out)))
    history = train_unrolled(
        solver, f, solution, UnrollOptions(iterations=6, nodes=100), progress=False
    )
    assert seen == [100] * 60
    assert history[-1]["last_error"] < history[0]["last_error"]
