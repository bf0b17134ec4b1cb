import torch

import ignn_solver as ig
from ignn_solver.learning.alternate import Alternating


def test_the_solver_is_fitted_after_the_warm_up_and_then_less_and_less_often(graph):
    torch.manual_seed(0)
    model = ig.IGNN(graph.num_features, 16, graph.num_classes)
    alternating = Alternating(model, graph, warm_up=3, every=4, steps=3)
    fitted = []
    for epoch in range(20):
        before = alternating.solver
        alternating.before(epoch)
        if alternating.solver is not before:
            fitted.append(epoch)
    assert fitted == [3, 7, 15]
    assert model.conv.solver is model.conv.backward_solver is alternating.solver


def test_it_needs_fewer_evaluations_and_learns_as_much(graph):
    results = {}
    for solver in (None, "alternating"):
        torch.manual_seed(0)
        model = ig.IGNN(graph.num_features, 16, graph.num_classes)
        results[solver] = ig.fit(model, graph, epochs=20, solver=solver, progress=False)
    evaluations = {
        solver: sum(e["forward_evals"] + e["backward_evals"] for e in result.history[6:])
        for solver, result in results.items()
    }
    assert evaluations["alternating"] < 0.8 * evaluations[None]
    assert results["alternating"].val_accuracy >= results[None].val_accuracy - 0.05


def test_the_model_trains_with_the_papers_solver_frozen(graph):
    """Algorithm 3: every solve starts from the initializer and steps with the frozen mixer."""
    torch.manual_seed(0)
    model = ig.IGNN(graph.num_features, 16, graph.num_classes, dropout=0.0)
    plain = ig.fit(model, graph, epochs=3, warm_start=False, progress=False)
    options = {"steps": 4, "iterations": 20, "lr": 0.02, "safeguard": True}
    model.conv.solver = solver = ig.fit_solver(model, graph, "learned-paper", **options)
    frozen = ig.fit(model, graph, epochs=3, warm_start=False, progress=False)
    assert model.conv.solver is solver
    assert frozen.history[-1]["loss"] < plain.history[0]["loss"]
