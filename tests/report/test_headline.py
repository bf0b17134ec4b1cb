from ignn_solver.report.headline import benchmarks, headline, warnings
from ignn_solver.report.reading import read_folder
from report_results import BENCH, bench_row, write


def test_the_fastest_rival_and_the_published_loop_are_named(results):
    fastest, published, accuracy, certified = headline(read_folder(results))
    # citeseer: picard 30 / 10; blocks:arxiv: sweep 200 / 100.
    assert fastest.figure == "2.0–3.0×"
    assert fastest.label == "faster than the fastest classical solver"
    assert "over 2 datasets" in fastest.detail
    assert "residual 0.001 (picard, sweep)" in fastest.detail
    assert published.figure == "20.0–40.0×"
    # Exact 70.2 against 70.0 points.
    assert accuracy.figure == "± 0.20"
    assert certified.figure == "90.0–98.0%"
    assert [one.summary() for one in benchmarks(read_folder(results))] == [
        ("citeseer", "picard", 3.0, 20.0, 0.98),
        ("blocks:arxiv", "sweep", 2.0, 40.0, 0.9),
    ]


def test_a_loss_is_called_one(tmp_path):
    rows = [bench_row("picard", 5.0), bench_row("learned", 10.0)]
    write(tmp_path, "bench", {"dataset": "digits", "tol": 1e-3, "rows": rows})
    fastest, published, accuracy, _ = headline(read_folder(tmp_path))
    assert (fastest.figure, fastest.label) == (
        "0.5×",
        "times the speed of the fastest classical solver",
    )
    assert "on digits" in fastest.detail
    assert published.figure == accuracy.figure == ""


def test_nothing_is_invented(tmp_path):
    write(tmp_path, "empty", {"rows": []})
    for tile in headline(read_folder(tmp_path)):
        assert tile.figure == ""
        assert tile.detail.startswith("not measured yet: ")


def test_rows_without_a_time_or_a_head_do_not_count(tmp_path):
    damaged = [{"dataset": "citeseer", "solver": "learned", "ms": None}, {"solver": "picard"}]
    write(tmp_path, "bench", {**BENCH, "rows": damaged})
    write(tmp_path, "bench-x", {"datasets": [7, {"dataset": "citeseer"}], "rows": BENCH["rows"]})
    assert benchmarks(read_folder(tmp_path)) == []


def test_the_certificate_benchmark_stands_in_where_no_solver_was_timed(tmp_path):
    row = {"dataset": "citeseer", "tol": 1e-3, "rounding": "a priori", "certified": 0.975}
    rows = [row, {**row, "rounding": "exact", "certified": 1.0}]
    write(tmp_path, "certificate", {"stopping": [], "rows": rows})
    assert headline(read_folder(tmp_path))[3].figure == "97.5%"


def test_the_tolerance_of_most_datasets_counts_and_busy_machines_are_named(results):
    loose = {"dataset": "acm", "tol": 1e-2, "rows": [bench_row("learned", 1.0)]}
    write(results, "bench-loose", loose)
    measured = benchmarks(read_folder(results))
    assert {one.dataset for one in measured} == {"citeseer", "blocks:arxiv"}
    assert warnings(measured) == [
        "blocks:arxiv was timed while other processes used 0.7 cores: its times mean little"
    ]
