from ignn_solver.pages import graphs


def row(protocol, mean, model="ignn-solver", dataset="mutag", **more):
    return {
        "dataset": dataset, "model": model, "protocol": protocol, "mean": mean, "std": 1.0, **more
    }  # fmt: skip


def test_our_model_stands_under_each_protocol():
    rows = [row("nested", 80.0), row("gin", 85.0), row("ignn", 90.0, published=90.5)]
    rows.append(row("ignn", 99.0, model="gin"))
    lines = graphs.protocols({"rows": rows}).splitlines()
    assert lines[2:] == [
        "| `nested` | 80.0 ± 1.0 |",
        "| `gin` | 85.0 ± 1.0 |",
        "| `ignn` | 90.0 ± 1.0 (90.5) |",
    ]


def test_only_rows_with_a_learned_solver_are_shown():
    figures = {"learned_mean": 80.0, "exact_mean": 80.5, "learned_different": 1}
    figures |= {"learned_evals": 4.24, "plain_evals": 9.3, "exact_evals": 19.0}
    rows = [row("nested", 80.0, **figures), row("gin", 85.0)]
    lines = graphs.unseen({"rows": rows}).splitlines()
    assert lines[2:] == ["| mutag | 80.00 | 80.50 | 1 | 4.2 | 9.3 | 19.0 |"]


def test_everyone_is_shown_in_his_best_batches():
    learned = {
        "name": "learned",
        "kappa": 0.9,
        "evals": 4.6,
        "graphs_within": 1.0,
        "different_classes": 0,
    }
    rows = [
        {**learned, "batches": 9, "graphs_per_second": 6400.0},
        {"name": "pyg-gin", "kappa": 0.9, "batches": 9, "graphs_per_second": 12800.0},
        {**learned, "batches": 1, "graphs_per_second": 4000.0},
    ]
    rows += [{**row, "kappa": 0.7, "graphs_per_second": 1.0} for row in rows]
    ratios = [{"kappa": 0.9, "learned_over_picard": 1.5, "learned_over_gin": 0.5}]
    ratios.append({"kappa": 0.7, "learned_over_picard": 1.2, "learned_over_gin": 0.8})
    bars = {"learned_over_picard": 2.0, "learned_over_gin": 1 / 3}
    content = {"graphs": 4110, "rows": rows, "ratios": ratios, "bars": bars}
    lines = graphs.inference(content).splitlines()
    assert lines[2:4] == [
        "| learned | 6,400 | 9 | 4.6 | 100.0% | 0 |",
        "| pyg-gin | 12,800 | 9 | - | - | - |",
    ]
    assert "1.50 times as fast" in lines[5]
    assert "takes 2.0 times as long" in lines[5]
    assert lines[7].startswith("| 4,110 graphs, kappa 0.7 |")
    assert lines[9] == "| learned | 1 | 9 | 4.6 | 100.0% | 0 |"
