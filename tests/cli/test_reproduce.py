import pytest
from typer.testing import CliRunner

from graph_sets import rings_and_stars
from ignn_solver.cli import app
from ignn_solver.experiments import table3
from ignn_solver.files import read_json


def test_list_names_the_experiments():
    result = CliRunner().invoke(app, ["reproduce", "list"])
    assert result.exit_code == 0
    assert "table3" in result.output


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
