"""Verdicts follow from the rows, claim by claim."""

import json

import pytest

from ignn_solver.pages import curves, findings
from ignn_solver.pages.paper import CLAIMS, SMALL, stated, statements

BY_NAME = {claim.name: claim for claim in CLAIMS}


def test_without_results_nothing_is_claimed(tmp_path):
    lines = statements(tmp_path).splitlines()[2:]
    assert len(lines) == len(CLAIMS) == 11
    assert all("**not measured yet**" in line for line in lines)


def test_the_files_are_read(tmp_path):
    rows = accuracies(dict.fromkeys(SMALL, (76.0, 75.6)))
    (tmp_path / "table2.json").write_text(json.dumps({"rows": rows}))
    (line,) = [line for line in statements(tmp_path).splitlines() if "Table II " in line]
    assert "**reproduced**" in line
    assert "citeseer 76.0 (published 75.6)" in line
    assert "any other model" not in line


def accuracies(figures):
    return [
        {"dataset": name, "model": model, "protocol": "paper", "mean": mean, "published": theirs}
        for name, (ours, theirs) in figures.items()
        for model, mean in (("learned-paper", ours), ("learned", 99.0), ("gcn", None))
    ]


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        (dict.fromkeys(SMALL, (75.0, 75.6)), "reproduced"),
        (dict.fromkeys(SMALL, (74.5, 75.6)), "not reproduced"),
        (dict.fromkeys(SMALL[:4], (75.0, 75.6)), "partly"),
        ({**dict.fromkeys(SMALL, (75.0, 75.6)), "acm": (80.0, 91.2)}, "partly"),
        ({"corafull-knn": (60.0, None)}, "not measured"),
    ],
)
def test_a_verdict_on_accuracy(figures, verdict):
    assert stated(BY_NAME["Table II"], {"rows": accuracies(figures)})[0] == verdict


def test_the_reason_names_what_fails_and_what_is_missing():
    figures = {"citeseer": (75.0, 75.6), "acm": (80.0, 91.2)}
    _, why = stated(BY_NAME["Table II"], {"rows": accuracies(figures)})
    assert "Does not hold on acm." in why
    assert "Not measured: corafull, blogcatalog, flickr." in why


def test_only_the_protocol_that_compares_counts():
    rows = accuracies({"citeseer": (80.0, 75.6)})
    chosen = [{**row, "protocol": "validation"} for row in rows]
    assert stated(BY_NAME["Table II"], {"rows": rows})[0] == "partly"
    assert stated(BY_NAME["Table II"], {"rows": chosen})[0] == "not measured"


def test_a_better_rival_is_counted():
    rows = [*accuracies({"acm": (91.0, 91.2)})]
    rows.append({**rows[0], "model": "am-gcn", "mean": 92.0, "published": 89.6})
    assert "not below any other model measured here on 0 of 1" in findings.accuracy(rows).sentence


def pareto_row(dataset, variant, ms, residual=1e-2, accuracy=0.75):
    row = {"dataset": dataset, "variant": variant, "ms": ms}
    return {**row, "residual": residual, "accuracy": accuracy}


def test_large_and_small_graphs_are_judged_apart_though_in_one_file():
    rows = [
        pareto_row("citeseer", "ignn-published", 10.0, residual=0.1),
        pareto_row("citeseer", "ignn-published", 30.0),
        pareto_row("citeseer", "ignn-published", 60.0, residual=1e-3),
        pareto_row("citeseer", "learned-paper", 10.0),
        pareto_row("citeseer", "learned", 5.0),
        pareto_row("com-amazon", "ignn-published", 30.0),
        pareto_row("com-amazon", "learned-paper", 29.0),
    ]
    small, why = stated(BY_NAME["Figure 3"], {"rows": rows})
    assert small == "partly"
    assert "citeseer 3.0 / 6.0" in why
    assert "com-amazon" not in why
    large, why = stated(BY_NAME["Figure 2"], {"rows": rows, "quick": True})
    assert large == "not reproduced"
    assert "com-amazon 1.0 / never" in why
    assert why.endswith("Quick settings.")


def test_speed_bought_with_accuracy_does_not_count():
    rows = [
        pareto_row("acm", "ignn-published", 30.0, accuracy=0.90),
        pareto_row("acm", "learned-paper", 10.0, accuracy=0.85),
    ]
    assert findings.pareto(rows).held == {"acm": False}


def test_a_solver_that_stalls_does_not_converge():
    rows = [
        {"dataset": name, "solver": solver, "evaluation": k, "residual": residual}
        for name, solver, residuals in (
            ("mutag", "picard", (1e-1, 1e-2, 1e-3, 1e-4)),
            ("mutag", "learned-paper", (1e-2, 1e-3, 1e-4, 1e-5)),
            ("cox2", "picard", (1e-1, 1e-2, 1e-3, 1e-4)),
            ("cox2", "learned-paper", (1e-2, 2e-2, 1e0, None)),
        )
        for k, residual in enumerate(residuals, 1)
    ]
    found = curves.convergence(rows)
    assert found.held == {"mutag": True, "cox2": False}
    assert "mutag 3 / 2 / never, cox2 3 / never / never" in found.sentence


def test_overhead_is_judged_by_the_published_solver():
    rows = [
        {"dataset": "citeseer", "preset": preset, "share_seconds": share, "share_parameters": 0.02}
        for preset, share in (("learned-paper", 0.2), ("learned", 0.001))
    ]
    assert findings.overhead(rows).held == {"citeseer": False}


def test_the_graph_mixer_must_end_lowest():
    rows = [
        {"dataset": "citeseer", "phase": phase, "mixer": mixer, "step": step, "value": value}
        for phase, graph in (("warm-up", 0.1), ("inference", 0.3))
        for mixer, last in (("gn", graph), ("nn", 0.2), ("gru", None))
        for step, value in ((1, 1.0), (2, last))
    ]
    held = curves.mixers(rows).held
    assert held == {"citeseer, warm-up": True, "citeseer, inference": False}


def test_an_ablation_compares_whole_curves():
    rows = [
        {"dataset": "acm", "setting": setting, "evaluation": k, "residual": value}
        for setting, values in (
            ("IGNN-Solver (as published)", (1e-1, 1e-3, 1e-5)),
            ("without initializer", (1e-1, 1e-1, 1e-6)),
            ("last step only", (1e-1, 1e-1, None)),
        )
        for k, value in enumerate(values, 1)
    ]
    found = curves.ablation(rows)
    assert found.held == {"acm, without initializer": True, "acm, last step only": True}
    assert (
        "(as published) 1.0e-03, without initializer 2.2e-03, last step only inf" in found.sentence
    )


def test_a_part_that_does_not_help_is_named():
    rows = [
        {"dataset": "acm", "setting": setting, "evaluation": 1, "residual": value}
        for setting, value in (("x (as published)", 0.2), ("without solver", 0.9), ("last", 0.1))
    ]
    verdict, why = stated(BY_NAME["Figure 7"], {"rows": rows})
    assert verdict == "partly"
    assert "Does not hold on acm, last." in why
    assert "Not measured: amazon-all, reddit, ogbn-arxiv, ogbn-products, citeseer, corafull" in why


def test_epochs_must_be_faster_in_training_and_in_inference():
    rows = [
        {"dataset": "acm", "variant": "IGNN", "train_ms": 10.0, "inference_ms": 4.0},
        {"dataset": "acm", "variant": "IGNN-Solver", "train_ms": 12.0, "inference_ms": 2.0},
    ]
    found = curves.dynamics(rows)
    assert found.held == {"acm": False}
    assert "0.83 and 2.00 times" in found.sentence


def test_chains_are_judged_at_the_longest():
    rows = [
        {"model": model, "length": length, "accuracy": value}
        for model, values in (("ignn", (1.0, 1.0)), ("gcn", (1.0, 0.6)), ("gtn", (1.0, 0.97)))
        for length, value in zip((2, 10), values, strict=True)
    ]
    assert findings.chains(rows).held == {"ignn": True, "gcn": True, "gtn": False}
