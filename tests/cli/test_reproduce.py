from importlib import import_module
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from graph_sets import rings_and_stars
from ignn_solver import InputError
from ignn_solver.cli import app
from ignn_solver.experiments import table3
from ignn_solver.experiments.request import Report
from ignn_solver.files import read_json


def test_list_names_the_experiments():
    result = CliRunner().invoke(app, ["reproduce", "list"])
    assert result.exit_code == 0
    assert "table3" in result.output
    assert "figure-pareto" in result.output
    assert "data missing" in result.output


def test_all_goes_on_where_one_experiment_cannot_run(tmp_path, monkeypatch):
    handed = []

    def fine(request):
        handed.append(request)
        return Report("fine", [{"a": 1}], [tmp_path / "fine.json"])

    def fails(request):
        raise InputError("nothing to see")

    common = {"TITLE": "", "DATASETS": {"digits": ""}, "QUICK": {"epochs": 1}}
    modules = {
        "fails": SimpleNamespace(run=fails, **common),
        "missing": SimpleNamespace(run=fails, **{**common, "DATASETS": {"citeseer": ""}}),
        "fine": SimpleNamespace(run=fine, **common),
    }
    monkeypatch.setattr(import_module("ignn_solver.cli.reproduce"), "EXPERIMENTS", modules)
    monkeypatch.setattr("ignn_solver.experiments.request.experiment", modules.get)
    monkeypatch.setattr("ignn_solver.datasets.fetch.user_cache", lambda: tmp_path)
    rows = tmp_path / "rows.json"
    options = ["--quick", "--data-dir", str(tmp_path), "--json", str(rows)]
    result = CliRunner().invoke(app, ["reproduce", "all", *options])
    assert result.exit_code == 0, result.output
    assert "fails is left out: nothing to see" in result.stderr
    assert "missing is left out: none of its datasets is on this machine" in result.stderr
    assert result.stdout.startswith("fine")
    assert read_json(rows, "rows") == {"fine": [{"a": 1}]}
    (request,) = handed
    assert (request.quick, request.epochs, str(request.output)) == (True, 1, "results/quick")
    refused = CliRunner().invoke(app, ["reproduce", "all", "--dataset", "digits"])
    assert "leave out --dataset" in str(refused.exception)


def test_a_part_of_a_table(tmp_path, monkeypatch):
    dataset = rings_and_stars(24, features=2)
    monkeypatch.setattr(table3, "_dataset", lambda name, data_dir: dataset)
    options = ["--dataset", "mutag", "--model", "fdgnn", "--protocol", "nested", "--folds", "3"]
    rows = tmp_path / "rows.json"
    result = CliRunner().invoke(
        app, ["reproduce", "table3", *options, "--output", str(tmp_path), "--json", str(rows), "-q"]
    )
    assert result.exit_code == 0, result.output
    assert "protocol nested" in result.output
    assert "protocol gin" not in result.output
    assert {row["model"] for row in read_json(rows, "rows")} == {"fdgnn"}
    assert (tmp_path / "table3.tex").read_text().startswith(r"\begin{table}")


def test_an_unknown_experiment_is_one_sentence():
    result = CliRunner().invoke(app, ["reproduce", "table9"])
    assert result.exit_code != 0
    with pytest.raises(
        ValueError, match="no experiment 'table9': choose one of table1, table2, table3"
    ):
        raise result.exception
