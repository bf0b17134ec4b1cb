from ignn_solver.pages import learned


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def row(solver, seed, evals, converged=True, tol=1e-3, **more):
    share = evals / 20
    found = {"dataset": "acm", "solver": solver, "seed": seed, "tol": tol, "evals": evals}
    return {**found, "converged": converged, "charged_share": share, **more}


def test_evaluations_are_means_over_seeds_with_the_share_of_plain_iteration():
    rows = [row("picard", 0, 20), row("picard", 1, 22), row("learned", 0, 5), row("learned", 1, 6)]
    lines = learned.evaluations({"rows": rows}, 1e-3).splitlines()
    assert cells(lines[0]) == ["to 0.001", "picard", "learned"]
    assert cells(lines[2]) == ["acm", "21.0", "5.5 (28%)"]


def test_one_seed_that_missed_is_not_averaged_away():
    rows = [row("picard", 0, 20), row("learned-paper", 0, 9), row("learned-paper", 1, 400, False)]
    assert cells(learned.evaluations({"rows": rows}, 1e-3).splitlines()[2])[2] == "not reached"
    assert cells(learned.ablation({"rows": rows}).splitlines()[3])[1:] == [
        "learned-paper",
        "not reached",
        "not reached",
        "not reached",
    ]


def test_what_a_fit_costs():
    figures = {"seconds": 1.25, "share_of_training": 0.042, "parameters": 12345}
    rows = [{"dataset": "acm", "solver": "learned", **figures, "share_of_parameters": 0.5}]
    line = learned.cost({"rows": rows}).splitlines()[2]
    assert cells(line) == ["acm", "learned", "1.25", "4.2%", "12,345", "50.0%"]


def test_transfer_is_read_at_one_tolerance():
    rows = [row("learned", 0, 5, case="edges"), row("learned", 0, 2, tol=1e-2, case="edges")]
    assert cells(learned.transfer({"rows": rows}).splitlines()[2]) == ["acm", "learned", "25%"]


def test_training_along_with_a_solver():
    figures = {"val_accuracy": 0.913, "seconds": 12.0, "seconds_per_epoch": 0.12}
    rows = [{"dataset": "acm", "training": "plain", **figures, "evaluations_per_epoch": 9.5}]
    line = learned.alternating({"rows": rows}).splitlines()[2]
    assert cells(line) == ["acm", "plain", "91.3 ± 0.0", "12.0", "120", "9.5"]


def test_how_much_memory_a_fit_takes():
    row = {"dataset": "acm", "solver": "learned", "nodes": 3025, "seconds": 1.0, "evals": 8}
    line = learned.memory({"rows": [{**row, "gib_before": 0.5, "gib": 1.25}]}).splitlines()[2]
    assert cells(line) == ["acm", "learned", "3,025", "1.0", "0.5", "1.2", "8"]
