from ignn_solver.pages import speed


def row(dataset, solver, ms, evals, certified=0.5):
    return {
        "dataset": dataset,
        "solver": solver,
        "ms": ms,
        "evals": evals,
        "certified": certified,
        "accuracy": 0.75,
    }


CONTENT = {
    "datasets": [
        {"dataset": "citeseer", "stand_in": ""},
        {
            "dataset": "com-amazon",
            "stand_in": "synthetic labels",
            "misses": ["learned-certified is not reported: it stopped at 1e-2"],
        },
    ],
    "rows": [
        row("citeseer", "ignn-published", 100.0, 60),
        row("citeseer", "torchdeq-anderson", 40.0, 20),
        row("citeseer", "torchdeq-fixed_point_iter", 30.0, 22),
        row("citeseer", "picard", 20.0, 22),
        row("citeseer", "sweep", 15.0, 14),
        row("citeseer", "learned", 10.0, 7, certified=0.987),
        row("citeseer", "learned-certified", 8.0, 5, certified=0.99),
        row("com-amazon", "picard", 900.0, 15),
        row("com-amazon", "learned", 1000.0, 6),
    ],
}


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_speed_up_names_its_rival_and_may_be_below_one():
    lines = speed.speedups(CONTENT).splitlines()
    expected = ["citeseer", "10.00", "7", "1.50 (sweep)", "3.00 (fixed_point_iter)", "10.00"]
    assert cells(lines[2]) == [*expected, "98.7%"]
    assert cells(lines[3])[3:6] == ["0.90 (picard)", "-", "-"]


def test_a_stand_in_is_marked_and_explained():
    text = speed.speedups(CONTENT)
    assert "| com-amazon\\* |" in text
    assert "stand-in" in text.splitlines()[-1]
    real = {"datasets": CONTENT["datasets"][:1], "rows": CONTENT["rows"][:7]}
    assert "stand-in" not in speed.speedups(real)


def test_the_fastest_is_bold_and_who_missed_is_named():
    lines = {cells(line)[0]: cells(line)[1:] for line in speed.times(CONTENT).splitlines() if line}
    assert lines["learned-certified"] == ["**8.00 (5)**", "missed"]
    assert lines["picard"] == ["20.00 (22)", "**900.00 (15)**"]
    assert lines["sweep"] == ["15.00 (14)", "-"]
    assert "broyden" not in lines


def test_of_two_measurements_of_a_dataset_the_later_counts():
    again = [{"solver": name, "ms": ms, "evals": 3, "certified": 0.5} for name, ms in
             (("picard", 700.0), ("learned", 350.0))]  # fmt: skip
    single = {"dataset": "com-amazon", "stand_in": "", "rows": again, "created": "2026-02"}
    for files in (
        [{**CONTENT, "created": "2026-01"}, single],
        [single, {**CONTENT, "created": ""}],
    ):
        lines = speed.speedups(speed.joined(files)).splitlines()
        assert cells(lines[2])[:2] == ["citeseer", "10.00"]
        assert cells(lines[3])[:4] == ["com-amazon", "350.00", "3", "2.00 (picard)"]
    earlier = speed.joined([{**CONTENT, "created": "2026-03"}, single])
    assert cells(speed.speedups(earlier).splitlines()[2])[1] == "1000.00"


def test_a_file_of_one_dataset_has_it_at_the_top():
    rows = [{k: v for k, v in one.items() if k != "dataset"} for one in CONTENT["rows"][:7]]
    text = speed.speedups({"dataset": "citeseer", "stand_in": "", "rows": rows})
    assert cells(text.splitlines()[2])[:3] == ["citeseer", "10.00", "7"]


def test_stopping_at_a_proof_stands_beside_stopping_at_a_residual():
    lines = speed.certified(CONTENT).splitlines()
    assert cells(lines[3]) == ["citeseer", "learned-certified", "8.00", "5", "99.0%", "75.00%"]
