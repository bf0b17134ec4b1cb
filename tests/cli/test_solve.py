"""``ignn-solver solve``: classes, proofs and files of a trained run."""

import csv
import json
import shutil

import pandas as pd
import pytest

from ignn_solver import datasets, load_model
from ignn_solver.tasks.checkpoint import CONFIG, WEIGHTS


def test_predictions_of_every_solver_are_those_of_the_model(cli, tmp_path, trained):
    data = datasets.load("chains:4")
    expected = load_model(trained).predict(data, tol=1e-6)
    for solver in ("picard", "anderson", "broyden", "sweep"):
        shown = cli(
            "solve",
            trained,
            "--solver",
            solver,
            "--tol",
            1e-6,
            "-o",
            "out.csv",
            "--json",
            "out.json",
        )
        assert shown.status == 0, shown.err
        assert not shown.err
        assert solver in shown.out
        with (tmp_path / "out.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == ["id", "class", "probability"]
        assert [int(row["id"]) for row in rows] == list(range(data.num_nodes))
        assert [int(row["class"]) for row in rows] == expected.classes.tolist()
        probabilities = expected.probabilities.amax(1).tolist()
        assert [float(row["probability"]) for row in rows] == pytest.approx(probabilities, abs=1e-4)
        record = json.loads((tmp_path / "out.json").read_text())
        assert record["solver"] == solver
        assert record["status"] == "converged"
        assert record["residual"] <= 1e-6
        assert record["evals"] > 1
        assert record["seconds"] > 0


def test_certified_predictions_have_margin_and_bound(cli, tmp_path, trained):
    shown = cli(
        "solve", trained, "--tol", 1e-5, "--certify", "-o", "new/out.parquet", "--json", "out.json"
    )
    assert shown.status == 0, shown.err
    table = pd.read_parquet(tmp_path / "new" / "out.parquet")
    assert list(table) == ["id", "class", "probability", "margin", "bound", "certified"]
    assert (table.certified == (table.margin > table.bound)).all()
    record = json.loads((tmp_path / "out.json").read_text())
    assert record["certified"] == pytest.approx(table.certified.mean())
    assert record["certified"] <= record["certified_next_decade"] <= 1
    assert f"{100 * record['certified']:.2f}% of {len(table)} nodes are proven" in shown.out
    shown = cli("solve", trained, "--stop", "certified", "--fraction", 0.5, "--json", "out.json")
    assert shown.status == 0, shown.err
    assert json.loads((tmp_path / "out.json").read_text())["certified"] >= 0.5


def test_a_graph_of_ones_own_is_answered_under_its_own_ids_and_classes(cli, tmp_path):
    names = [f"node {letter}" for letter in "zyxwvutsrq"]
    sides = ["b", "a"] * 5
    same_side = [(a, b) for a in range(10) for b in range(a) if (a - b) % 2 == 0]
    (tmp_path / "mine.csv").write_text("".join(f"{names[a]},{names[b]}\n" for a, b in same_side))
    (tmp_path / "labels.csv").write_text(
        "".join(f"{name},side {side}\n" for name, side in zip(names, sides, strict=True))
    )
    options = ["--edges", "mine.csv", "--labels", "labels.csv", "--split", "0.6/0.2/0.2"]
    assert cli("train", *options, "--epochs", 30, "--hidden", 8, "-q").status == 0
    shown = cli("solve", "runs/mine-ignn-0", "-o", "out.csv")
    assert shown.status == 0, shown.err
    with (tmp_path / "out.csv").open() as file:
        rows = {row["id"]: row["class"] for row in csv.DictReader(file)}
    assert rows.keys() == set(names)
    data = datasets.from_files("mine.csv", labels="labels.csv", split="0.6/0.2/0.2")
    classes = load_model("runs/mine-ignn-0").predict(data).classes
    assert rows == {
        name: data.class_names[number]
        for name, number in zip(data.node_ids, classes.tolist(), strict=True)
    }
    sides = dict(zip(names, sides, strict=True))
    for node in data.train_mask.nonzero().flatten().tolist():
        name = data.node_ids[node]
        assert rows[name] == f"side {sides[name]}"


def test_too_few_evaluations_are_said_and_the_best_is_given(cli, tmp_path, trained, recwarn):
    shown = cli(
        "solve", trained, "--max-evals", 2, "--tol", 1e-6, "-o", "out.csv", "--json", "o.json"
    )
    assert shown.status == 0
    assert "ran out of evaluations" in shown.out
    assert json.loads((tmp_path / "o.json").read_text())["status"] == "max_evals"
    assert (tmp_path / "out.csv").is_file()


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--solver", "newton"], ["choose learned, picard, anderson, broyden, sweep"]),
        (["--solver", "learned"], ["has no learned solver", "ignn-solver fit-solver"]),
        (["--stop", "soon"], ['stop must be "residual" or "certified"', "soon"]),
        (["--tol", "-1"], ["tol must be at least 0"]),
        (["--max-evals", "0"], ["max_evals must be at least 1"]),
        (["-o", "out.txt"], ["written as .csv or .parquet, not out.txt"]),
        (["-o", "file/out.csv"], ["cannot write file/out.csv", "another output directory"]),
        (["--json", "file/out.json"], ["cannot write file/out.json"]),
    ],
)
def test_wrong_options_are_one_sentence(cli, tmp_path, trained, arguments, parts):
    (tmp_path / "file").touch()
    shown = cli("solve", trained, *arguments)
    assert shown.is_refusal(*parts), shown


def test_runs_that_cannot_be_solved_are_one_sentence(cli, tmp_path, trained):
    assert cli("solve", "nowhere").is_refusal("nowhere is not the folder of a run: train first")
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    whole = (run / WEIGHTS).read_bytes()
    (run / WEIGHTS).write_bytes(whole[:-1])
    assert cli("solve", "run").is_refusal("run/model.safetensors is truncated", "train again")
    (run / WEIGHTS).unlink()
    assert cli("solve", "run").is_refusal("no checkpoint at run/model.safetensors")
    (run / WEIGHTS).write_bytes(whole)
    config = json.loads((run / CONFIG).read_text())

    def with_config(**changes):
        (run / CONFIG).write_text(json.dumps({**config, **changes}))
        return cli("solve", "run")

    assert with_config(format=0).is_refusal("is not a run configuration of format 1")
    wider = {**config["config"], "hidden_channels": 9}
    assert with_config(config=wider).is_refusal("does not fit this model", "shape")
    other = with_config(source={"dataset": "digits"})
    assert other.is_refusal("64 features now, the model was trained on 100")
    del config["source"]
    assert with_config().is_refusal("does not say which graph it was trained on")
    (run / CONFIG).write_text("{")
    assert cli("solve", "run").is_refusal("run/config.json is not readable JSON")
    assert (
        cli("train", "chains:4", "--model", "gcn", "--epochs", 2, "--run", "gcn", "-q").status == 0
    )
    assert cli("solve", "gcn").is_refusal("gcn holds the model 'gcn', which has no equilibrium")
