"""The scripts in benchmarks/ run, and write what they say they do."""

import json
import runpy
import sys
from pathlib import Path

import pytest

from graph_sets import rings_and_stars

FOLDER = Path(__file__).parents[2] / "benchmarks"


def run(name, arguments, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    code = 0
    try:
        runpy.run_path(str(FOLDER / name), run_name="__main__")
    except SystemExit as stopped:
        code = stopped.code
    return code


def test_loop_overhead(tmp_path, monkeypatch):
    target = tmp_path / "loop.json"
    arguments = ["--nodes", 500, "--hidden", 8, "--rounds", 1, "--json", target]
    # On a tiny graph the bar may be missed: that is status 1, and all is written still.
    assert run("loop_overhead.py", arguments, monkeypatch) in (0, 1)
    record = json.loads(target.read_text())
    expected = record["solve_ms"] / (record["evals"] * record["bare_ms"])
    assert record["ratio"] == pytest.approx(expected)
    assert record["bar"] == 1.15


def test_roofline(tmp_path, monkeypatch):
    target = tmp_path / "roofline.json"
    arguments = ["--dataset", "blocks:500", "--hidden", 8, "--rounds", 1, "--json", target]
    assert run("roofline.py", arguments, monkeypatch) == 0
    (row,) = json.loads(target.read_text())["rows"]
    assert row["bytes_cold"] > row["bytes_once"] > 0
    assert row["roofline_cold_ms"] > row["roofline_once_ms"] > 0
    assert row["ratio_cold"] == pytest.approx(row["eval_ms"] / row["roofline_cold_ms"])


def test_scaling(tmp_path, monkeypatch):
    target, figure = tmp_path / "scaling.json", tmp_path / "scaling.png"
    arguments = ["--axis", "edges", "--axis", "threads", "--max-nodes", 5000, "--rounds", 1]
    arguments += ["--json", target, "--figure", figure]
    assert run("scaling.py", arguments, monkeypatch) == 0
    record = json.loads(target.read_text())
    assert {row["solver"] for row in record["rows"]} == {"picard", "sweep", "learned"}
    assert all(row["residual"] <= record["tol"] for row in record["rows"])
    assert figure.stat().st_size > 1000


def test_an_exponent_is_the_slope_between_sizes(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    fitted = runpy.run_path(str(FOLDER / "scaling.py"))["fitted"]
    rows = [
        {
            "axis": "edges",
            "solver": "picard",
            "value": x,
            "ms_an_evaluation": 3 * x**1.5,
            "peak_mb": x,
        }
        for x in (10.0, 100.0, 10_000.0)
    ]
    time, memory = fitted(rows)
    assert time["exponent"] == pytest.approx(1.5)
    assert memory["exponent"] == pytest.approx(1.0)
    assert fitted(rows[:1]) == []


def test_nci1_inference(tmp_path, monkeypatch):
    monkeypatch.setattr("ignn_solver.datasets.load", lambda *_, **__: rings_and_stars(40))
    target, weights = tmp_path / "nci1.json", tmp_path / "model.safetensors"
    arguments = ["--epochs", 1, "--rounds", 1, "--batch-size", 16, "--batch-size", 0]
    arguments += ["--json", target, "--run", weights, "--kappa", 0.8]
    # On forty tiny graphs the bars may be missed: that is status 1, and all is written still.
    assert run("nci1_inference.py", arguments, monkeypatch) in (0, 1)
    assert weights.with_stem("model-kappa-0.8").exists()
    record = json.loads(target.read_text())
    assert record["graphs"] == 40
    assert [ratio["kappa"] for ratio in record["ratios"]] == [0.8]
    rows = {(row["batches"], row["name"]): row for row in record["rows"]}
    assert {batches for batches, _ in rows} == {1, 3}
    for batches in (1, 3):
        learned, picard = rows[batches, "learned"], rows[batches, "picard"]
        assert max(learned["graph_residual"], picard["graph_residual"]) <= record["tol"]
        assert learned["graphs_within"] == picard["graphs_within"] == 1
        assert learned["different_classes"] == picard["different_classes"] == 0
    # Graphs stop on their own: how they are cut into batches does not matter.
    assert rows[1, "learned"]["evals"] == rows[3, "learned"]["evals"]
    best = {name: max(r["graphs_per_second"] for (_, n), r in rows.items() if n == name)
            for name in ("learned", "picard")}  # fmt: skip
    assert record["ratios"][0]["learned_over_picard"] == pytest.approx(
        best["learned"] / best["picard"]
    )
