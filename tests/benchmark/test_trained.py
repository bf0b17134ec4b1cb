"""A run is trained once, by the recipe, and then read from its folder."""

import pytest
import torch

from ignn_solver import InputError, datasets
from ignn_solver.baselines.mlp import MLP
from ignn_solver.benchmark import trained as module
from ignn_solver.benchmark.trained import trained
from ignn_solver.recipe import Recipe
from ignn_solver.tasks.checkpoint import save_model


def test_trained_once_then_read(tmp_path, monkeypatch):
    recipe = Recipe({"hidden_channels": 4, "kappa": 0.5}, {"epochs": 2}, source="a test")
    monkeypatch.setattr(module, "load_recipe", lambda *asked: recipe)
    data = datasets.load("blocks:200")
    said = []
    folder = tmp_path / "run"
    first = trained("blocks:200", data, folder, progress=False, say=said.append)
    assert len(said) == 1
    second = trained("blocks:200", data, folder, progress=False, say=said.append)
    assert len(said) == 1
    assert second.config["kappa"] == 0.5
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)
    with pytest.raises(InputError, match="is of blocks:200, not of digits"):
        trained("digits", data, folder)


def test_an_explicit_model_has_nothing_to_solve(tmp_path):
    save_model(tmp_path, MLP(4, 4, 2))
    with pytest.raises(InputError, match="nothing to solve"):
        trained("digits", None, tmp_path)
