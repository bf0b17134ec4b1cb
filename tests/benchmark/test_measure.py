"""A benchmark reports who reached the tolerance, names who did not, and counts all of the time."""

import math

import pytest

from ignn_solver.benchmark import measure as module
from ignn_solver.benchmark.contenders import Contender, contenders
from ignn_solver.benchmark.machine import Watch
from ignn_solver.benchmark.measure import measure


def test_a_row_has_everything_that_the_comparison_needs(problem):
    said = []
    names = ("ignn-published", "picard", "anderson")
    report = measure(problem, contenders(problem, names, {}), 3, said.append)
    assert [row["solver"] for row in report.rows] == list(names)
    assert report.misses == []
    published, picard, anderson = report.rows
    assert picard["speedup_vs_picard"] == published["speedup_vs_published"] == 1
    assert anderson["speedup_vs_picard"] == pytest.approx(picard["ms"] / anderson["ms"])
    assert anderson["speedup_vs_published"] == pytest.approx(published["ms"] / anderson["ms"])
    for row in report.rows:
        assert row["residual"] <= 1e-3
        assert 0 < row["error"] < 0.1
        assert row["ms"] > 0
        assert 0 <= row["certified"] <= 1
    states = 200 * 8 * 4 / 2**20
    assert picard["peak_mb"] >= 2 * states
    assert anderson["peak_mb"] > picard["peak_mb"]
    assert 1 <= picard["evals_to_accuracy"] <= picard["evals"]
    assert published["evals_to_accuracy"] is None
    head = report.header
    assert (head["nodes"], head["edges"], head["hidden"], head["tol"]) == (200, 1000, 8, 1e-3)
    assert all(head[f"{name}_ms"] > 0 for name in ("eval", "torch_eval", "bias", "head", "gcn"))
    assert sum("compilation included" in line for line in said) == 4


def test_who_misses_the_tolerance_gets_no_row(problem):
    lazy = Contender("lazy", lambda max_evals, observe: (problem.f.start(), 1))
    broken = Contender("broken", lambda m, o: (problem.f.start() * math.nan, 1))
    report = measure(problem, [lazy, broken], 1)
    assert report.rows == []
    assert [miss.split()[0] for miss in report.misses] == ["lazy", "broken"]
    assert "misses the tolerance 1.0e-03" in report.misses[0]


def test_a_busy_machine_is_named(problem, monkeypatch):
    class Busy(Watch):
        def __exit__(self, *error):
            self.others = 1.5

    monkeypatch.setattr(module, "Watch", Busy)
    assert "other processes use 1.5" in measure(problem, [], 1).complaint
