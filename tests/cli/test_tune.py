import pytest

from ignn_solver.files import read_json
from ignn_solver.recipe import load_recipe

pytest.importorskip("optuna")


def test_a_recipe_is_written_where_train_can_take_it(cli, tmp_path):
    options = ["--budget", 1, "--output", "mine.toml", "--json", "tuned.json", "-q"]
    shown = cli("tune", "chains:4", "--model", "sgc", *options)
    assert shown.status == 0, shown.err
    assert "validation accuracy" in shown.out
    record = read_json(tmp_path / "tuned.json", "results")
    recipe = load_recipe("chains", str(tmp_path / "mine.toml"))
    assert record["settings"] == recipe.model | recipe.training
    assert (tmp_path / "studies" / "chains-4-sgc.log").exists()


def test_a_set_of_graphs_is_refused(cli):
    shown = cli("tune", "nowhere")
    assert shown.status == 2
    assert "no dataset 'nowhere'" in shown.err
