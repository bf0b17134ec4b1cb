import pytest
import torch

from graph_sets import rings_and_stars
from ignn_solver.datasets import folds
from ignn_solver.experiments.graph_solver import (
    ChosenWeights,
    compare_solvers,
    solver_figures,
    solver_note,
)
from ignn_solver.nn.graph_classifier import GraphIGNN
from ignn_solver.tasks.graph import evaluate, fold_batches, train_fold
from ignn_solver.tasks.protocols import nested


@pytest.fixture(scope="module")
def trained():
    dataset = rings_and_stars(40, features=2)
    parts = folds(dataset, 4, 0)[0]
    torch.manual_seed(0)
    model = GraphIGNN(2, 8, 2, kappa=0.8, hops=1)
    batches = fold_batches(dataset, parts, 8)
    kept = ChosenWeights(model)
    curves = train_fold(model, batches, epochs=6, on_epoch=kept)
    kept.restore()
    return model, dataset, parts, batches, curves, kept


def test_the_weights_are_those_of_the_epoch_that_nested_chooses(trained):
    model, _, _, batches, curves, kept = trained
    assert [kept.epoch] == nested([curves])
    assert evaluate(model, batches.test)[0] == curves.test[kept.epoch]


def test_a_solver_learned_on_training_graphs_answers_as_the_exact_equilibrium(trained):
    model, dataset, parts, _, curves, kept = trained
    found = compare_solvers(model, dataset, parts, seed=0)
    assert found["plain"]["accuracy"] == pytest.approx(curves.test[kept.epoch], abs=1e-5)
    assert found["learned"]["different"] == 0
    assert found["learned"]["accuracy"] == found["exact"]["accuracy"]
    assert found["learned"]["evals"] < found["plain"]["evals"] < found["exact"]["evals"]
    assert found["fit_seconds"] > 0


def test_figures_are_means_over_folds_and_the_note_counts_what_differs():
    def fold(accuracy, evals, different):
        one = {"accuracy": accuracy, "evals": evals, "different": different}
        return {"learned": one, "plain": {**one, "evals": 2 * evals}, "exact": one}

    row = solver_figures([fold(0.5, 4.0, 0), fold(0.7, 5.0, 1)])
    assert row["learned_mean"] == 60.0
    assert (row["learned_evals"], row["plain_evals"]) == (4.5, 9.0)
    assert row["learned_different"] == 1
    note = solver_note([{"dataset": "mutag"}, {"dataset": "mutag", **row}], {"mutag": "MUTAG"})
    assert "all but 1 test graphs" in note
    assert "MUTAG 4.5 instead of 9.0" in note
    assert solver_note([{"dataset": "mutag"}], {}) is None
