import numpy as np
import pytest
import torch

from graph_sets import rings_and_stars
from ignn_solver import InputError
from ignn_solver.baselines.graphs.fdgnn import CANDIDATES, FDGNN
from ignn_solver.baselines.graphs.gin import GraphGIN
from ignn_solver.datasets import folds
from ignn_solver.nn.graph_classifier import GraphIGNN
from ignn_solver.tasks.graph import candidate_fold, evaluate, fold_batches, make_batches, train_fold


@pytest.fixture(scope="module")
def dataset():
    return rings_and_stars(40, features=2)


def trained(dataset, kind=GraphIGNN, epochs=4, **options):
    torch.manual_seed(0)
    model = kind(2, 8, 2, dropout=0.0, **({"kappa": 0.6, "hops": 1} if kind is GraphIGNN else {}))
    parts = folds(dataset, 4, 0)[0]
    batches = fold_batches(dataset, parts, 8)
    return model, batches, train_fold(model, batches, epochs=epochs, lr=0.05, **options)


@pytest.mark.parametrize("kind", [GraphIGNN, GraphGIN])
def test_rings_are_learnt_from_stars(dataset, kind):
    model, batches, curves = trained(dataset, kind, epochs=10)
    assert len(curves) == len(curves.train) == len(curves.val) == len(curves.val_loss) == 10
    assert max(curves.test) == 1
    accuracy, loss = evaluate(model, batches.val)
    assert (accuracy, loss) == (curves.val[-1], pytest.approx(curves.val_loss[-1], rel=1e-5))


def test_the_same_seed_gives_the_same_curves(dataset):
    first, second = trained(dataset)[2], trained(dataset)[2]
    assert first.test == second.test
    assert first.val_loss == second.val_loss
    assert trained(dataset, seed=1)[2].val_loss != first.val_loss


def test_warm_starts_save_evaluations_and_change_little(dataset):
    totals = {}
    for warm in (True, False):
        spent = []
        torch.manual_seed(0)
        model = GraphIGNN(2, 8, 2, kappa=0.9)
        batches = fold_batches(dataset, folds(dataset, 4, 0)[0], 8)

        def note(epoch, curves, model=model, spent=spent, batches=batches):
            model.train()
            model(batches.train[0])
            spent.append(model.evaluations()[0])

        curves = train_fold(model, batches, epochs=4, lr=1e-3, warm_start=warm, on_epoch=note)
        totals[warm] = (sum(spent), curves.val_loss[-1])
        assert model.warm_start is None
    assert totals[True][0] < totals[False][0]
    assert totals[True][1] == pytest.approx(totals[False][1], rel=0.02)


def test_no_graph_is_in_two_parts_and_batches_hold_them_all(dataset):
    parts = folds(dataset, 4, 0)[1]
    batches = fold_batches(dataset, parts, 7)
    sizes = [batch.num_graphs for batch in batches.train]
    assert sum(sizes) == len(parts.train)
    assert max(sizes) <= 7
    assert max(sizes) - min(sizes) <= 1
    everything = [batches.train, batches.val, batches.test]
    assert sum(batch.num_graphs for part in everything for batch in part) == len(dataset)


def test_large_sets_are_cut_by_nodes(dataset, monkeypatch):
    graphs = list(dataset)
    assert len(make_batches(graphs)) == 1
    monkeypatch.setattr("ignn_solver.tasks.graph._MOST_NODES", 100)
    cut = make_batches(graphs)
    assert len(cut) == -(-sum(graph.num_nodes for graph in graphs) // 100)
    assert sum(batch.num_graphs for batch in cut) == len(graphs)


def test_an_empty_part_is_named(dataset):
    parts = folds(dataset, 4, 0, validation=False)[0]
    with pytest.raises(InputError, match="the val part of the fold is empty"):
        fold_batches(dataset, parts, 8)


def test_a_model_without_epochs_has_a_point_for_each_candidate(dataset):
    parts = folds(dataset, 4, 0)[0]
    curves = candidate_fold(FDGNN(units=10, layers=1, expansion=40), dataset, parts)
    assert len(curves) == len(CANDIDATES)
    assert np.allclose(np.add(curves.val, curves.val_loss), 1)
    assert max(curves.test) == 1
