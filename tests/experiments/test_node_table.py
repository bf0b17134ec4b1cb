import json
import time

import pytest

from ignn_solver import InputError, datasets
from ignn_solver.experiments import node_cell, table1, table2
from ignn_solver.experiments.node_models import FORMS, NETWORKS, TITLES
from ignn_solver.experiments.published import published
from ignn_solver.experiments.request import Request
from ignn_solver.files import read_json
from ignn_solver.recipe import Recipe


@pytest.fixture
def handmade(monkeypatch):
    """A small block model under the name of every dataset, and short fits: the rest is the real thing."""
    data = datasets.load("blocks:120", classes=3, features=8)
    quick = Recipe(solver={"steps": 2, "iterations": 2})
    monkeypatch.setattr(node_cell, "load_data", lambda name, data_dir: data)
    monkeypatch.setattr(node_cell, "load_recipe", lambda dataset: quick)
    return data


def asked(tmp_path, **options):
    defaults = {"datasets": ("citeseer",), "trials": 2, "epochs": 2, "progress": False}
    return Request(**{**defaults, "output": tmp_path, **options})


def test_every_row_is_there_under_both_protocols(handmade, tmp_path):
    report = table2.run(asked(tmp_path, trials=1, protocols=("validation", "paper")))
    assert len(report.rows) == 16 * 2
    by_place = {(row["model"], row["protocol"]): row for row in report.rows}
    for model in TITLES:
        row = by_place[model, "validation"]
        assert row["mean"] <= by_place[model, "paper"]["mean"] + row.get("exact_gap", 0)
        assert 0 <= row["mean"] <= 100
        assert row["published"] is not None
        assert min(row["seconds"], row["inference_seconds"], row["parameters"], row["peak_mb"]) > 0
    default = by_place["learned", "validation"]
    assert default["published"] == by_place["learned-paper", "validation"]["published"] == 75.6
    assert default["exact_gap"] == pytest.approx(abs(default["mean"] - default["exact"]), abs=0.011)
    assert report.text.count("### ") == 2
    stored = read_json(report.files[0], "results")
    assert stored["rows"] == report.rows
    assert stored["trials"] == 1


def test_the_forms_share_one_training_a_seed(handmade, tmp_path, monkeypatch):
    ran = []
    real = node_cell.run_cell

    def counted(arguments, *others):
        ran.append((arguments["network"], arguments["seed"]))
        return real(arguments, *others)

    monkeypatch.setattr(node_cell, "run_cell", counted)
    first = table2.run(asked(tmp_path, models=("learned", "learned-aa")))
    assert ran == [("ignn", 0), ("ignn", 1)]
    assert {row["model"] for row in first.rows} == set(FORMS)
    assert {row["trials"] for row in first.rows} == {2}
    again = table2.run(asked(tmp_path, models=("learned", "gcn")))
    assert ran[2:] == [("gcn", 0), ("gcn", 1)]
    assert [row for row in again.rows if row["model"] == "learned"] == [
        row for row in first.rows if row["model"] == "learned"
    ]


def test_large_graphs_have_as_many_epochs_for_every_model(tmp_path):
    request = asked(tmp_path, epochs=None)
    for dataset, epochs in table1.EPOCHS.items():
        cells = [table1.TABLE.cell(dataset, network, 0, request) for network in NETWORKS]
        assert {cell.arguments["training"]["epochs"] for cell in cells} == {epochs}
    shorter = table1.TABLE.cell("wordnet", "gcn", 0, asked(tmp_path, epochs=3))
    assert shorter.arguments["training"]["epochs"] == 3


def test_the_two_protocols_read_one_training(handmade, tmp_path):
    cell = table2.TABLE.cell("citeseer", "gcn", 3, asked(tmp_path, epochs=30))
    result = node_cell.run_cell(cell.arguments)
    assert result["best_test"] >= result["test"]
    assert result["best_epoch"] < result["epochs"] <= 30
    assert result["val"] > 1 / 3
    assert node_cell.run_cell(cell.arguments)["test"] == result["test"]


def test_what_takes_too_long_is_said_and_not_tried_with_other_seeds(handmade, tmp_path):
    request = asked(tmp_path, models=("sgc",), epochs=50, hours=1e-7)
    report = table2.run(request)
    assert all(row["mean"] is None and row["trials"] == 0 for row in report.rows)
    assert "SGC on Citeseer was not run: " in report.text
    second = read_json(tmp_path / "table2" / "citeseer" / "sgc" / "seed-1-epochs-50.json", "cell")
    assert "limit" in second["result"]["skipped"]


def test_a_form_that_takes_too_long_leaves_the_others(handmade, tmp_path, monkeypatch):
    measure, tried = node_cell._measure, []

    def slow_on_paper(network, data, form, *rest):
        tried.append(form)
        if form == "learned-paper":
            time.sleep(60)
        return measure(network, data, "learned", *rest)

    monkeypatch.setattr(node_cell, "_measure", slow_on_paper)
    report = table2.run(asked(tmp_path, models=("learned",), epochs=2, hours=5 / 3600))
    found = {row["model"]: row for row in report.rows if row["protocol"] == "validation"}
    assert "not done after 5 s" in found["learned-paper"]["skipped"]
    assert found["learned"]["mean"] > 0
    assert "IGNN-Solver (as published) on Citeseer was not run" in report.text
    # With the second seed it is not tried again.
    assert tried.count("learned-paper") == 1
    assert tried.count("learned") == 2


def test_a_form_that_takes_too_long_with_one_seed_is_averaged_over_the_others(handmade, tmp_path):
    request = asked(tmp_path, models=("learned",), epochs=2)
    table2.run(request)
    path = tmp_path / "table2" / "citeseer" / "ignn" / "seed-1-epochs-2.json"
    cell = read_json(path, "cell")
    cell["result"]["forms"]["learned-paper"] = {"skipped": "not done after 15 min"}
    path.write_text(json.dumps(cell))
    report = table2.run(request)
    found = {row["model"]: row for row in report.rows if row["protocol"] == "validation"}
    assert found["learned-paper"]["trials"] == 1
    assert found["learned-paper"]["std"] == 0
    assert found["learned"]["trials"] == 2
    assert "was not run" not in report.text


def test_settings_are_the_recipes_and_no_model_is_wider_than_another():
    for dataset in table2.TABLE.datasets:
        settings = {name: one.settings(dataset, large=False) for name, one in NETWORKS.items()}
        assert {one["model"]["hidden_channels"] for one in settings.values()} == {128}
        assert "kappa" not in settings["gcn"]["model"]
    assert NETWORKS["jknet"].settings("wordnet", large=True)["model"]["num_layers"] == 8
    assert "num_layers" not in NETWORKS["jknet"].settings("acm", large=False)["model"]
    assert NETWORKS["gcn"].settings("acm", large=False, epochs=7)["training"]["epochs"] == 7


def test_the_published_figures_are_the_papers():
    small, large = published("table2"), published("table1")
    assert len(small) == 15 * 5
    assert len(large) == 15 * 4
    assert small["citeseer", "learned-paper"] == (75.6, 0.22)
    assert small["flickr", "gcnii"] == (79.92, 2.14)
    assert small["blogcatalog", "acm-gcn"] == (78.18, 1.75)
    assert small["corafull", "appnp"] == (21.24, 4.76)
    assert large["ogbn-products", "mignn"] == (74.62, 0.32)
    assert large["reddit", "learned-paper"] == (93.91, 0.31)


def test_wrong_names_and_counts_are_refused_before_anything_runs(tmp_path):
    with pytest.raises(InputError, match="no dataset 'cora'"):
        table2.run(Request(datasets=("cora",), output=tmp_path))
    with pytest.raises(InputError, match="no model 'wl'"):
        table1.run(Request(models=("wl",), output=tmp_path))
    with pytest.raises(InputError, match="at least 1 trial, not 0"):
        table1.run(Request(trials=0, output=tmp_path))
