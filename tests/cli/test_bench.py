"""``ignn-solver bench`` from the shell."""

import json
import sys

import pytest
import torch
from typer.testing import CliRunner

from ignn_solver import IGNN, InputError, datasets
from ignn_solver.benchmark.memory import GIBIBYTE, estimate
from ignn_solver.cli import app, main
from ignn_solver.tasks.checkpoint import save_model

SOLVERS = ["--solver", "picard", "--solver", "learned"]


@pytest.fixture
def run(tmp_path):
    data = datasets.load("blocks:200")
    torch.manual_seed(0)
    model = IGNN(data.num_features, 8, data.num_classes)
    save_model(tmp_path / "run", model, source={"dataset": "blocks:200"})
    return tmp_path / "run"


def invoke(*arguments):
    return CliRunner().invoke(app, ["bench", *map(str, arguments)], catch_exceptions=False)


def test_one_dataset(run, tmp_path):
    target = tmp_path / "bench.json"
    result = invoke("blocks:200", "--run", run, "--rounds", 2, "--json", target, "-q", *SOLVERS)
    assert result.exit_code == 0
    assert "picard" in result.output
    record = json.loads(target.read_text())
    assert record["dataset"] == "blocks:200"
    assert [row["solver"] for row in record["rows"]] == ["picard", "learned"]
    assert {"nodes", "edges", "hidden", "kappa", "tol", "threads", "eval_ms", "gcn_ms"} <= set(
        record
    )
    assert record["fit_seconds_learned"] > 0
    assert record["environment"]["threads"] == torch.get_num_threads()


def test_all_leaves_out_what_is_not_here(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run.rename(tmp_path / "moved")
    (tmp_path / "runs").mkdir()
    (tmp_path / "moved").rename(tmp_path / "runs" / "blocks-200-ignn-0")
    monkeypatch.setattr(sys.modules["ignn_solver.cli.bench"], "ALL", ("blocks:200", "blocks:no"))
    target = tmp_path / "bench.json"
    result = invoke("all", "--rounds", 1, "--json", target, "-q", "--solver", "picard")
    assert result.exit_code == 0
    assert "blocks:no is left out" in result.output
    record = json.loads(target.read_text())
    assert [row["dataset"] for row in record["rows"]] == ["blocks:200"]
    assert len(record["datasets"]) == 1


def test_too_little_memory_is_refused_before_a_missing_run_is_trained(tmp_path):
    folder = tmp_path / "none"
    arguments = ["blocks:200", "--run", folder, "--memory", "1e-6", "--solver", "picard"]
    with pytest.raises(InputError, match=r"hidden size 128, but --memory allows"):
        invoke(*arguments)
    assert not folder.exists()


def test_too_little_memory_is_refused_before_anything_is_fitted(run):
    arguments = ["blocks:200", "--run", run, "--memory", "1e-6", "--solver", "picard"]
    with pytest.raises(InputError, match=r"picard needs about 0.0 GiB .* raise --memory"):
        invoke(*arguments)


def test_where_only_the_history_is_too_large_it_is_halved(tmp_path):
    data, run = datasets.load("blocks:200"), tmp_path / "wide"
    save_model(run, IGNN(data.num_features, 64, data.num_classes), source={"dataset": "blocks:200"})
    gib = estimate(200, data.num_edges + 200, 64, "anderson") / GIBIBYTE
    names = ["--solver", "picard", "--solver", "anderson"]
    for memory, halved in ((0.99 * gib, ["anderson"]), (1.01 * gib, [])):
        target = tmp_path / "bench.json"
        shown = invoke(
            "blocks:200", "--run", run, "--rounds", 1, "--memory", memory, "--json", target, *names
        )
        said = "anderson keeps its history in half precision: with a full one it needs about"
        assert (said in shown.output) == bool(halved)
        record = json.loads(target.read_text())
        assert record["half_history"] == halved
        assert [row["solver"] for row in record["rows"]] == ["picard", "anderson"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["digits", "--solver", "newton"], "unknown solver 'newton'"),
        (["all", "--run", "x"], "--run names the run of one dataset"),
        (["nowhere"], "nowhere"),
    ],
)
def test_wrong_input_is_one_sentence(arguments, sentence, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["ignn-solver", "bench", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert sentence in capsys.readouterr().err
