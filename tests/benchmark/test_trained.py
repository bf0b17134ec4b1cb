"""A run is trained once, by the recipe, and then read from its folder."""

import json
from functools import partial

import pytest
import torch

from ignn_solver import IGNN, InputError, datasets, fit, load_model
from ignn_solver.baselines.mlp import MLP
from ignn_solver.benchmark import trained as module
from ignn_solver.benchmark.trained import trained
from ignn_solver.recipe import Recipe
from ignn_solver.tasks.checkpoint import CONFIG, RESUME, read_config, save_model
from ignn_solver.tasks.node import read_result

RECIPE = Recipe({"hidden_channels": 4, "kappa": 0.5}, {"epochs": 5}, source="a test")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(module, "load_recipe", lambda *asked: RECIPE)


@pytest.fixture(scope="module")
def data():
    return datasets.load("blocks:200")


def stop(monkeypatch, data, folder, last, **options):
    """Train until the end of epoch ``last``, as counted from 0, and press Ctrl-C there."""

    def on_epoch(epoch, entry):
        if epoch == last:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "fit", partial(fit, on_epoch=on_epoch))
        with pytest.raises(KeyboardInterrupt):
            trained("blocks:200", data, folder, progress=False, **options)


def same(model, other):
    pairs = zip(model.parameters(), other.parameters(), strict=True)
    return all(torch.equal(one, two) for one, two in pairs)


def test_trained_once_then_read(tmp_path, data):
    said = []
    folder = tmp_path / "run"
    first = trained("blocks:200", data, folder, progress=False, say=said.append)
    assert len(said) == 1
    second = trained("blocks:200", data, folder, progress=False, say=said.append)
    assert len(said) == 1
    assert second.config["kappa"] == 0.5
    assert same(first, second)
    with pytest.raises(InputError, match="is of blocks:200, not of digits"):
        trained("digits", data, folder)


def test_an_explicit_model_has_nothing_to_solve(tmp_path):
    save_model(tmp_path, MLP(4, 4, 2))
    with pytest.raises(InputError, match="nothing to solve"):
        trained("digits", None, tmp_path)


def test_a_training_that_was_stopped_goes_on_to_the_same_end(tmp_path, monkeypatch, data):
    whole = trained("blocks:200", data, tmp_path / "whole", progress=False)
    folder = tmp_path / "run"
    stop(monkeypatch, data, folder, last=1)
    assert not same(load_model(folder), whole)
    before, said = read_config(folder), []
    model = trained("blocks:200", data, folder, progress=False, say=said.append)
    assert said == [f"the training in {folder} was stopped: it goes on"]
    assert same(model, whole)
    assert same(load_model(folder), whole)
    assert not model.training
    assert read_config(folder) == before
    assert read_result(folder).epochs == 5
    trained("blocks:200", data, folder, progress=False, say=said.append)
    assert len(said) == 1


def test_a_training_killed_before_it_kept_anything_begins_again(tmp_path, monkeypatch, data):
    whole = trained("blocks:200", data, tmp_path / "whole", progress=False)
    folder = tmp_path / "run"
    stop(monkeypatch, data, folder, last=1)
    (folder / RESUME).unlink()
    assert same(trained("blocks:200", data, folder, progress=False), whole)


def test_a_stopped_training_keeps_its_own_settings(tmp_path, monkeypatch, data):
    folder = tmp_path / "run"
    options = {"model_options": {"hidden_channels": 6}, "training_options": {"epochs": 3}}
    stop(monkeypatch, data, folder, last=1, **options)
    assert trained("blocks:200", data, folder, progress=False).hidden_channels == 6
    assert read_result(folder).epochs == 3


def test_a_training_that_ran_out_of_patience_is_over(tmp_path, data):
    folder = tmp_path / "run"
    settings = {"epochs": 1000, "patience": 1, "lr": 0.1}
    said = []
    trained("blocks:200", data, folder, progress=False, training_options=settings)
    assert read_result(folder).epochs < 1000
    trained("blocks:200", data, folder, progress=False, say=said.append)
    assert said == []


def test_a_model_that_was_only_saved_is_taken_as_it_is(tmp_path, data):
    model = IGNN(data.num_features, 4, data.num_classes)
    save_model(tmp_path, model, source={"dataset": "blocks:200"})
    assert same(trained("blocks:200", data, tmp_path), model)


def test_a_training_stopped_on_another_split_is_refused(tmp_path, monkeypatch, data):
    stop(monkeypatch, data, tmp_path, last=1)
    config = read_config(tmp_path)
    config["source"]["split"] = "20"
    (tmp_path / CONFIG).write_text(json.dumps(config))
    with pytest.raises(InputError, match="was stopped, on another split: finish it first"):
        trained("blocks:200", data, tmp_path)
