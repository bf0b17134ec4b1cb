"""A results file holds all that is needed to judge it."""

import time
from datetime import datetime
from importlib import metadata

import torch

from ignn_solver.files import read_json
from ignn_solver.results import environment, write_results


def test_a_results_file_records_how_it_was_made(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/somewhere/bin/ignn-solver", "demo", "--json", "a b.json"])
    path = tmp_path / "out.json"
    started = time.perf_counter() - 2.5
    write_results(path, started, rows=[{"solver": "picard", "evals": 12}], seed=3)
    record = read_json(path, "results")
    assert record["rows"] == [{"solver": "picard", "evals": 12}]
    assert record["seed"] == 3
    assert record["command"] == "ignn-solver demo --json 'a b.json'"
    assert 2.5 <= record["wall_seconds"] < 60
    assert datetime.fromisoformat(record["created"]).utcoffset().total_seconds() == 0
    assert record["environment"] == environment()
    assert next(iter(record)) == "rows"


def test_the_environment_names_versions_threads_and_machine():
    found = environment()
    assert found["versions"]["torch"] == metadata.version("torch")
    assert found["versions"]["ignn-solver"] == metadata.version("ignn-solver")
    assert found["threads"] == torch.get_num_threads()
    assert found["cores"] >= 1
    assert found["processor"]
    assert found["machine"]
