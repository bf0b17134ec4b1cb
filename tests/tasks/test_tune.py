import pytest
import torch

from ignn_solver import datasets
from ignn_solver.errors import InputError
from ignn_solver.recipe import Recipe, load_recipe
from ignn_solver.tasks import tune as module
from ignn_solver.tasks.search import TRAINING
from ignn_solver.tasks.tune import recipe_text, tune

pytest.importorskip("optuna")


@pytest.fixture
def data(monkeypatch):
    monkeypatch.setitem(TRAINING, "epochs", 25)
    return datasets.load("blocks:120", classes=3, features=8)


def search(data, path, lines=None, model="gcn", dataset="blocks", **options):
    say = (lambda line: None) if lines is None else lines.append
    return tune(dataset, data, model, path, progress=False, say=say, **options)


def test_the_best_trial_by_validation_becomes_a_recipe(data, tmp_path):
    lines: list[str] = []
    found = search(data, tmp_path / "study.log", lines, budget=3)
    assert len(lines) == found.trials == 3
    seen = [float(line.split("validation ")[1].split("%")[0]) for line in lines]
    assert 100 * found.val_accuracy == pytest.approx(max(seen), abs=0.06)
    assert f"lr {found.recipe.training['lr']:g} " in lines[found.trial]
    # First what the dataset's recipe says, then what the field usually takes.
    assert lines[0].endswith("lr 0.01  weight_decay 0  dropout 0.2")
    assert lines[1].endswith("lr 0.01  weight_decay 0.0005  dropout 0.5")
    path = tmp_path / "found.toml"
    path.write_text(recipe_text(found.recipe))
    read = load_recipe("blocks", str(path))
    assert (read.model, read.training) == (found.recipe.model, found.recipe.training)
    assert read.training.items() >= TRAINING.items()


def test_test_labels_change_nothing(data, tmp_path):
    first: list[str] = []
    search(data, tmp_path / "first.log", first, budget=2)
    data.y[data.test_mask] = torch.randint(3, (int(data.test_mask.sum()),))
    second: list[str] = []
    search(data, tmp_path / "second.log", second, budget=2)
    assert first == second
    assert data.test_mask is not None


def test_a_study_goes_on_where_it_stopped(data, tmp_path, monkeypatch):
    path = tmp_path / "studies" / "study.log"

    def stop(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune("blocks", data, "gcn", path, budget=4, progress=False, say=stop)
    lines: list[str] = []
    found = search(data, path, lines, budget=4)
    assert found.trials == 4
    assert len(lines) == 3
    assert len({line.split("%")[1] for line in lines}) == 3
    monkeypatch.setattr(module, "fit", None)  # there is nothing left to train
    assert search(data, path, budget=4).recipe.model == found.recipe.model


def test_the_best_trials_are_confirmed_with_other_seeds_and_the_mean_decides(
    data, tmp_path, monkeypatch
):
    path, lines = tmp_path / "study.log", []
    found = search(data, path, lines, budget=7, confirm=4)
    assert len(lines) == found.trials == 7
    assert [line.split(":")[0] for line in lines[:3]] == ["trial 1", "trial 2", "trial 3"]
    seen: dict[str, list[float]] = {}
    for line in lines:
        seen.setdefault(line.split("  ", 1)[1], []).append(
            float(line.split("validation ")[1].split("%")[0])
        )
    again = {settings: values for settings, values in seen.items() if len(values) == 3}
    assert len(again) == 2
    means = {settings: sum(values) / 3 for settings, values in again.items()}
    best = max(means, key=lambda settings: means[settings])
    assert 100 * found.val_accuracy == pytest.approx(means[best], abs=0.06)
    assert f"lr {found.recipe.training['lr']:g} " in best
    # The best two of the search are those that were confirmed.
    single = sorted((values[0] for values in seen.values()), reverse=True)
    assert sorted((values[0] for values in again.values()), reverse=True) == single[:2]
    assert "--confirm 4" in found.recipe.source
    assert "over 3 seeds" in found.recipe.source
    monkeypatch.setattr(module, "fit", None)  # all of it is on disk
    assert search(data, path, budget=7, confirm=4) == found


def test_a_full_study_leaves_nothing_to_confirm(data, tmp_path):
    search(data, tmp_path / "study.log", budget=3)
    with pytest.raises(InputError, match="has 3 trials, which leaves fewer than 1 of 3 to confirm"):
        search(data, tmp_path / "study.log", budget=3, confirm=1)
    assert search(data, tmp_path / "study.log", budget=4, confirm=1).trials == 4


def test_a_trial_that_diverges_is_said_and_does_not_count(data, tmp_path, monkeypatch):
    lines, fit, calls = [], module.fit, []

    def diverging(*args, **options):
        calls.append(options["seed"])
        if len(calls) == 1:
            raise InputError("training diverged: the loss of epoch 1 is nan")
        return fit(*args, **options)

    monkeypatch.setattr(module, "fit", diverging)
    found = search(data, tmp_path / "study.log", lines, budget=4, confirm=2)
    assert lines[0].startswith("trial 1: diverged  lr ")
    assert found.trial == 1
    assert calls == [0, 0, 1, 2]


def test_our_model_has_its_own_settings_and_keeps_the_solvers(data, tmp_path):
    found = search(data, tmp_path / "study.log", model="ignn", dataset="citeseer", budget=1)
    paper = load_recipe("citeseer", "paper")
    assert found.recipe.solver == paper.solver
    assert found.recipe.model == {**paper.model, "input_dropout": 0.5, "unit_features": False}
    assert found.recipe.training["lr"] == paper.training["lr"]
    assert "tol" not in found.recipe.model


def test_what_cannot_be_tuned_is_one_sentence(data, tmp_path, monkeypatch):
    path = tmp_path / "study.log"
    search(data, path, budget=1)
    with pytest.raises(InputError, match="is of blocks gcn, not of blocks sgc: name another"):
        search(data, path, model="sgc", budget=1)
    with pytest.raises(InputError, match="at least 1 trial, not 0"):
        search(data, path, budget=0)
    with pytest.raises(
        InputError, match="of 2 trials at most 1 can confirm, and no fewer than 0, not 2"
    ):
        search(data, path, budget=2, confirm=2)
    path.write_text("no study\n")
    with pytest.raises(InputError, match=r"study\.log cannot be used as a study"):
        search(data, path, budget=1)
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'ignn-solver\[tune\]'"):
        search(data, path, budget=1)


def test_a_recipe_without_a_solver_has_no_such_section():
    text = recipe_text(Recipe({"dropout": 0.5}, {"lr": 0.01}, {}, "hand"))
    assert "[solver]" not in text
    assert text.startswith("# Found by hand.\n")
