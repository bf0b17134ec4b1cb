import pytest

from graph_sets import rings_and_stars
from ignn_solver import InputError
from ignn_solver.experiments import table3
from ignn_solver.experiments.graph_models import MODELS, sort_pooling_size
from ignn_solver.experiments.request import Request
from ignn_solver.files import read_json


@pytest.fixture
def handmade(monkeypatch):
    """Rings and stars under the name of every dataset: the rest is the real thing."""
    dataset = rings_and_stars(24, features=2)
    monkeypatch.setattr(table3, "_dataset", lambda name, data_dir: dataset)
    return dataset


def asked(tmp_path, **options):
    return Request(
        datasets=("mutag",), folds=3, epochs=2, output=tmp_path, progress=False, **options
    )


def test_every_model_runs_and_every_protocol_is_reported(handmade, tmp_path):
    report = table3.run(asked(tmp_path))
    assert len(report.rows) == 12 * 3
    for row in report.rows:
        assert row["dataset"] == "mutag"
        assert (row["published"] is not None) == (row["protocol"] == "ignn")
        assert 0 <= row["mean"] <= 100
    by_place = {(row["model"], row["protocol"]): row["mean"] for row in report.rows}
    for model in MODELS:
        assert by_place[model, "ignn"] >= by_place[model, "gin"]
        assert by_place[model, "ignn"] >= by_place[model, "nested"]
    assert report.text.count("### ") == 3
    assert [path.name for path in report.files] == ["table3.json", "table3.md", "table3.tex"]
    stored = read_json(report.files[0], "results")
    assert stored["rows"] == report.rows
    assert {"versions", "threads"} <= stored["environment"].keys()


def test_a_table_grows_with_what_is_finished(handmade, tmp_path, monkeypatch):
    first = table3.run(asked(tmp_path, models=("gcn",), protocols=("nested",)))
    assert {row["model"] for row in first.rows} == {"gcn"}
    assert first.text.count("### ") == 1
    second = table3.run(asked(tmp_path, models=("wl",)))
    assert {row["model"] for row in second.rows} == {"gcn", "wl"}

    def never(arguments, data_dir=None):
        raise AssertionError(f"ran {arguments} again")

    monkeypatch.setattr(table3, "run_fold", never)
    assert table3.run(asked(tmp_path, models=("gcn", "wl"))).rows == second.rows
    with pytest.raises(AssertionError, match="again"):
        table3.run(asked(tmp_path, models=("gcn",), resume=False))


def test_a_quick_try_does_not_touch_the_real_cells(handmade):
    request = Request(folds=3)
    quick = Request(folds=3, epochs=2)
    names = {cell.place for cell in table3.cells("mutag", "gin", request)}
    assert not names & {cell.place for cell in table3.cells("mutag", "gin", quick)}


def test_wrong_names_are_refused_before_anything_runs(tmp_path):
    with pytest.raises(InputError, match="no dataset 'cora'"):
        table3.run(Request(datasets=("cora",), output=tmp_path))
    with pytest.raises(InputError, match="no model 'gat'"):
        table3.run(Request(models=("gat",), output=tmp_path))
    with pytest.raises(InputError, match="no protocol 'best'"):
        table3.run(Request(protocols=("best",), output=tmp_path))


def test_sort_pooling_keeps_what_six_graphs_in_ten_have(handmade):
    assert sort_pooling_size(handmade) == 10
