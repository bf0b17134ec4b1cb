from ignn_solver.pages import measured


def test_only_the_certificate_that_is_made_by_default_is_shown():
    common = {"dataset": "acm", "tol": 0.001, "evals": 9, "certified_wrongly": 0}
    rows = [
        {**common, "rounding": "a priori", "certified": 0.978, "tightness_median": 6.0},
        {**common, "rounding": "exact", "certified": 0.99, "tightness_median": 5.0},
    ]
    lines = measured.certificate({"rows": rows}).splitlines()
    assert lines[2:] == ["| acm | 0.001 | 9 | 97.8% | 0 | 6.0 |"]


def test_what_stopping_at_a_proof_saves_and_costs():
    stop = {"dataset": "acm", "reached": 0.991, "evals": 14, "evals_at_1e-4": 21}
    checks = {"checking_over_solve": 0.031, "first_checking_over_solve": 0.1}
    lines = measured.proven_stop({"stopping": [{**stop, **checks}]}).splitlines()
    assert lines[2:] == ["| acm | 99.1% | 14 | 21 | 3.1% | 10.0% |"]


def test_growth_of_time_and_memory_side_by_side():
    fit = {"axis": "edges", "solver": "picard"}
    fits = [
        {**fit, "what": "ms_an_evaluation", "exponent": 1.02},
        {**fit, "what": "peak_mb", "exponent": 0.4},
    ]
    assert measured.scaling({"fits": fits}).splitlines()[2:] == ["| edges | picard | 1.02 | 0.40 |"]


def test_the_limit_of_the_machine_is_a_range():
    row = {"dataset": "acm", "eval_ms": 2.0, "roofline_once_ms": 1.0, "roofline_cold_ms": 1.5}
    lines = measured.roofline({"rows": [{**row, "torch_ms": 6.0}]}).splitlines()
    assert lines[2:] == ["| acm | 2.00 | 1.00 to 1.50 | 6.00 |"]


def test_a_variant_is_shown_where_it_first_arrives():
    common = {"dataset": "acm", "variant": "learned", "certified": 0.5}
    rows = [
        {**common, "residual": 0.1, "ms": 1.0, "evals": 1, "accuracy": 0.2},
        {**common, "residual": 0.009, "ms": 2.0, "evals": 2, "accuracy": 0.9},
        {**common, "residual": 0.001, "ms": 3.0, "evals": 3, "accuracy": None},
        {**common, "variant": "learned-nn", "residual": None, "ms": 1, "evals": 1, "accuracy": 0},
    ]
    lines = measured.pareto({"rows": rows}).splitlines()
    assert lines[2] == "| acm | learned | 2.00 | 2 | 90.0% | 50.0% |"
    assert lines[3] == "| acm | learned-nn | not reached |  |  |  |"
