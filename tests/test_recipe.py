"""Recipes: found by name, read from files, refused with a sentence."""

import inspect
from importlib.resources import files

import pytest

from ignn_solver import fit
from ignn_solver.cli.train import _TRAINING, _training_options
from ignn_solver.errors import InputError
from ignn_solver.learning.fit import fit_solver
from ignn_solver.nn.classifiers import IGNN
from ignn_solver.recipe import Recipe, load_recipe

BUILT_IN = sorted(
    path.name.removesuffix(".toml") for path in (files("ignn_solver") / "recipes").iterdir()
)
PAPER = [name for name in BUILT_IN if not name.endswith("-tuned")]


def test_the_papers_recipe_of_every_dataset_makes_a_model_and_a_training():
    assert {"citeseer", "acm", "corafull", "blogcatalog", "flickr"} <= set(PAPER)
    for name in PAPER:
        recipe = load_recipe(name, "paper")
        assert recipe.source == f"paper recipe for {name}"
        model = IGNN(3, num_classes=2, **{**recipe.model, "hidden_channels": 4})
        assert 0 < model.config["kappa"] < 1
        inspect.signature(fit).bind(model, None, **_training_options(recipe))
        assert recipe.solver.keys() <= {
            "steps",
            "lambda_reconstruction",
            "lambda_initial",
            "lambda_alpha",
        }
        inspect.signature(fit_solver).bind(model, None, **recipe.solver)


@pytest.mark.parametrize("name", ["citeseer", "acm", "blogcatalog", "flickr"])
def test_a_tuned_recipe_trains_otherwise_and_keeps_what_the_paper_says_of_the_solver(name):
    tuned, paper = load_recipe(name), load_recipe(name, "paper")
    assert tuned.source == f"tuned recipe for {name}"
    assert tuned.solver == paper.solver
    assert tuned.training != paper.training
    model = IGNN(3, num_classes=2, **{**tuned.model, "hidden_channels": 4})
    inspect.signature(fit).bind(model, None, **_training_options(tuned))


def test_the_settings_a_recipe_may_have_are_those_of_fit():
    assert set(_TRAINING) <= inspect.signature(fit).parameters.keys()


def test_by_default_tuned_comes_before_paper_and_defaults_last():
    assert load_recipe("chains:10").source == "tuned recipe for chains"
    assert load_recipe("chains:10") == load_recipe("chains", "tuned")
    assert load_recipe("corafull").source == "paper recipe for corafull"
    assert load_recipe("CoraFull") == load_recipe("corafull")
    nothing = load_recipe("my graph")
    assert nothing.source == "defaults"
    assert IGNN(3, num_classes=2, **nothing.model).hidden_channels == 128
    assert not nothing.training


def test_other_models_take_their_own_recipe_or_what_they_can_use_of_ours(tmp_path, monkeypatch):
    (tmp_path / "recipes").mkdir()
    monkeypatch.setattr("ignn_solver.recipe.files", lambda package: tmp_path)
    ours = "[model]\nhidden_channels = 8\ndropout = 0.1\nkappa = 0.5\n[training]\nlr = {}\n[solver]\nsteps = 3\n"
    (tmp_path / "recipes" / "town-tuned.toml").write_text(ours.format(0.1))
    shared = load_recipe("town", model="gcn")
    assert shared.model == {"hidden_channels": 8, "dropout": 0.1}
    assert (shared.training, shared.solver) == ({"lr": 0.1}, {})
    assert shared.source == "tuned recipe for town, of ignn"
    (tmp_path / "recipes" / "town.toml").write_text(ours.format(0.2))
    assert load_recipe("town", model="gcn").training == {"lr": 0.2}
    assert load_recipe("town", "tuned", "gcn") == shared
    (tmp_path / "recipes" / "town-gcn-tuned.toml").write_text("[model]\ndropout = 0.7\n")
    own = load_recipe("town", model="gcn")
    assert (own.model, own.source) == ({"dropout": 0.7}, "tuned recipe of gcn for town")
    assert load_recipe("town", model="gat").training == {"lr": 0.2}
    assert load_recipe("town").model["kappa"] == 0.5


def test_a_recipe_of_ones_own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[model]\nkappa = 0.5\n\n[training]\nloss = "bce"\n')
    assert load_recipe("citeseer", str(path)) == Recipe(
        model={"kappa": 0.5}, training={"loss": "bce"}, solver={}, source=str(path)
    )
    path.write_text("")
    assert load_recipe("citeseer", str(path)) == Recipe(source=str(path))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"[model\n", "mine.toml is not valid TOML"),
        (b"[modle]\nkappa = 0.5\n", "unknown section 'modle': known are model, training, solver"),
        (b"model = 3\n", r"mine.toml sets model = 3: it must be a section, \[model\]"),
        (b"\xff\xfe\x00", "mine.toml is not a readable text file"),
    ],
)
def test_what_is_no_recipe_is_one_sentence(tmp_path, content, sentence):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=sentence) as refused:
        load_recipe("citeseer", str(path))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("dataset", "which", "sentence"),
    [
        ("citeseer", "nowhere.toml", "no recipe 'nowhere.toml': say tuned, paper, or the path"),
        ("chains", "paper", "there is no paper recipe for chains: leave the recipe out"),
        ("reddit", "tuned", "there is no tuned recipe for reddit"),
    ],
)
def test_a_recipe_that_is_not_there_is_said(dataset, which, sentence):
    with pytest.raises(InputError, match=sentence):
        load_recipe(dataset, which)
