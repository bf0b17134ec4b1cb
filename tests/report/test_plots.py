import json

import plotly.graph_objects as go
import pytest

from ignn_solver.report.charts import CHARTS
from ignn_solver.report.plots import plots
from ignn_solver.report.reading import read_folder
from report_results import write


def test_curves_have_the_numbers_of_the_rows(results):
    by_title = {plot.title: plot for plot in plots(read_folder(results))}
    plot = by_title["Convergence by evaluation"]
    assert [panel.label for panel in plot.panels] == ["citeseer", "mutag"]
    assert plot.source == "figure-convergence.json, a quick look"
    picard, learned = plot.panels[0].data
    assert (picard["name"], learned["name"]) == ("picard", "learned")
    assert picard["x"] == [1, 2, 3, 4, 5, 6, 7]
    assert learned["y"] == pytest.approx([0.2**k for k in range(1, 8)], rel=1e-5)
    assert plot.panels[0].layout["yaxis"]["type"] == "log"
    # The same solver has the same colour everywhere.
    bars = {trace["name"]: trace for trace in by_title["Time to the same residual"].panels[0].data}
    found = {name: (trace["y"], trace["x"]) for name, trace in bars.items()}
    assert found == {
        "classical": (["picard"], [30]),
        "torchdeq": (["torchdeq-anderson"], [80]),
        "published": (["ignn-published"], [200]),
        "learned": (["learned"], [10]),
    }
    assert bars["learned"]["meta"] == learned["meta"] != picard["meta"]


def test_logarithmic_axes_have_a_handful_of_numbers(tmp_path):
    def axis(*residuals):
        rows = [
            {"dataset": "d", "solver": "s", "evaluation": k, "residual": r}
            for k, r in enumerate(residuals)
        ]
        write(tmp_path, "figure-convergence", {"rows": rows})
        return plots(read_folder(tmp_path))[0].panels[0].layout["yaxis"]

    assert axis(1e-12, 1.0)["dtick"] == 2
    assert axis(1e-3, 1.0)["dtick"] == 1
    ticks = axis(0.02, 1.0)
    shown = [v for v, t in zip(ticks["tickvals"], ticks["ticktext"], strict=True) if 0.02 <= v <= 1]
    assert shown == pytest.approx([0.02, 0.05, 0.1, 0.2, 0.5, 1.0])
    assert "0.05" in ticks["ticktext"]


def test_plotly_accepts_every_chart(tmp_path):
    row = {
        "dataset": "d", "variant": "learned", "solver": "learned", "preset": "learned", "mixer": "gn",
        "setting": "all", "model": "ignn", "phase": "warm-up", "rounding": "a priori", "axis": "kappa",
        "change": "edges", "ms": 2.0, "accuracy": 0.5, "std": 0.1, "certified": 0.5, "residual": 1e-3,
        "evaluation": 1, "evals": 3, "tol": 1e-3, "share_seconds": 0.1, "share_parameters": 0.1,
        "epoch": 1, "train_ms": 1.0, "inference_ms": 1.0, "val_accuracy": 0.5, "step": 1, "value": 0.5,
        "length": 3, "peak_mb": 1.0, "eval_ms": 1.0, "torch_ms": 2.0, "roofline_once_ms": 0.5,
        "update_ms": 1.0, "warm_ms": 2.0, "zero_ms": 300.0,
    }  # fmt: skip
    for kind in {chart.kind for chart in CHARTS}:
        one = {**row, "dataset": "chains:3", "test_accuracy": 1.0} if kind == "chains" else row
        write(tmp_path, kind, {"stopping": [], "rows": [one]})
    drawn = plots(read_folder(tmp_path))
    assert len(drawn) == len(CHARTS)
    for plot in drawn:
        for panel in plot.panels:
            assert panel.data
            go.Figure(data=panel.data, layout=panel.layout)
    chains = next(plot for plot in drawn if plot.title == "Long-range chains")
    assert chains.panels[0].data[0]["y"] == [50.0]
    assert chains.panels[0].data[0]["error_y"]["array"] == [10.0]


def test_seeds_are_averaged_and_what_has_no_place_is_left_out(tmp_path):
    rows = [
        {"dataset": "d", "solver": "picard", "evaluation": 1, "residual": 0.2},
        {"dataset": "d", "solver": "picard", "evaluation": 1, "residual": 0.4},
        {"dataset": "d", "solver": "picard", "evaluation": 2, "residual": 0.0},
        {"dataset": "d", "solver": "picard", "evaluation": 3, "residual": None},
        {"dataset": "d", "solver": "picard", "evaluation": "x", "residual": 0.1},
        {"dataset": "d", "solver": "picard", "evaluation": 4, "residual": float("nan")},
        {"dataset": "d", "solver": "broken", "evaluation": 4},
        {"dataset": "d", "solver": "diverged", "evaluation": 1, "residual": 1e20},
    ]
    write(tmp_path, "figure-convergence", {"rows": rows})
    (plot,) = plots(read_folder(tmp_path))
    picard, diverged = plot.panels[0].data
    assert (picard["x"], picard["y"]) == ([1], [0.3])
    assert diverged["name"] == "diverged"
    assert plot.panels[0].layout["yaxis"]["range"][1] == 1.0


def test_markup_in_names_is_not_markup(tmp_path):
    rows = [{"dataset": "d", "solver": "<b>x</b>", "evaluation": 1, "residual": 0.2}]
    write(tmp_path, "figure-convergence", {"rows": rows})
    (plot,) = plots(read_folder(tmp_path))
    assert plot.panels[0].data[0]["name"] == "&lt;b&gt;x&lt;/b&gt;"
    json.dumps(plot.panels[0].data, allow_nan=False)
