"""The scripts in benchmarks/ run, and write what they say they do."""

import json
import runpy
import sys
from pathlib import Path

import pytest

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
