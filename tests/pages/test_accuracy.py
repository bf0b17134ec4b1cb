from ignn_solver.pages import accuracy


def test_ours_stands_before_what_was_published():
    rows = [
        {"dataset": "acm", "model": "gcn", "protocol": "validation", "mean": 88.0, "std": 0.5},
        {"dataset": "acm", "model": "gat", "protocol": "validation", "mean": None, "std": None},
        {"dataset": "acm", "model": "gcn", "protocol": "paper", "mean": 89.0, "std": 0.5},
        {"dataset": "com-amazon", "model": "gcn", "protocol": "validation", "mean": 9, "std": 1},
    ]
    rows = [{**row, "trials": trials} for row, trials in zip(rows, (5, 0, 5, 3), strict=True)]
    rows[0]["published"] = 83.78
    lines = accuracy.table({"rows": rows}, "validation").splitlines()
    assert lines[0] == "| accuracy in % (published) | acm | com-amazon\\* |"
    assert lines[2:4] == ["| gcn | 88.0 ± 0.5 (83.8) | 9.0 ± 1.0 |", "| gat | not run | - |"]
    assert "stand-in" in lines[-3]
    assert lines[-1] == "Mean ± standard deviation over 3 to 5 trials."


def test_chains_by_length():
    rows = [
        {"model": "ignn", "length": 2, "accuracy": 1.0},
        {"model": "ignn", "length": 10, "accuracy": 0.995},
        {"model": "gcn", "length": 10, "accuracy": 0.62},
    ]
    lines = accuracy.chains({"rows": rows}).splitlines()
    assert lines[2:] == ["| ignn | 100 | 100 |", "| gcn | - | 62 |"]
