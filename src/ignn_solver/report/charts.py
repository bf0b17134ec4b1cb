"""What each results file is drawn as: which column is across, which is up, which makes the curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .reading import Results, Row, is_number

Prepare = Callable[[Results], list[Row]]


def _as_they_are(file: Results) -> list[Row]:
    return file.rows


@dataclass(frozen=True)
class Chart:
    """How a kind of results file is drawn.

    Attributes:
        group: The heading it stands under.
        kind: The results file it draws.
        title: Its heading.
        caption: One sentence on how to read it.
        x: Column across.
        y: Column up.
        series: Column that makes the curves.
        panel: Column of which one value is shown at a time; empty for all in one.
        labels: Titles of the two axes.
        log: Which axes are logarithmic: some of ``"xy"``.
        scale: Factor on y, such as 100 for percent.
        bars: Bars instead of curves; marks where y is logarithmic.
        lying: Bars that lie, sorted, with their names beside them.
        error: Column of the standard deviations, or empty.
        highest: Where a curve that blows up leaves the picture; 0 for nowhere.
        falling: Whether x runs from large to small.
        prepare: From the file to the rows to draw.
    """

    group: str
    kind: str
    title: str
    caption: str
    x: str
    y: str
    series: str
    panel: str = "dataset"
    labels: tuple[str, str] = ("", "")
    log: str = ""
    scale: float = 1.0
    bars: bool = False
    lying: bool = False
    error: str = ""
    highest: float = 0.0
    falling: bool = False
    prepare: Prepare = _as_they_are


def _bench(file: Results) -> list[Row]:
    """With the family of each solver: who made it, and whether it learns."""
    dataset = file.content.get("dataset")
    return [
        {"dataset": dataset, **row, "family": _family(str(row.get("solver")))} for row in file.rows
    ]


def _family(solver: str) -> str:
    first = solver.partition("-")[0]
    return {"learned": "learned", "torchdeq": "torchdeq", "ignn": "published"}.get(
        first, "classical"
    )


def _a_priori(file: Results) -> list[Row]:
    return [row for row in file.rows if row.get("rounding") == "a priori"]


def _embedded_chains(file: Results) -> list[Row]:
    rows = []
    for row in file.rows:
        length = str(row.get("dataset")).removeprefix("chains:")
        if length.isdigit():
            rows.append({**row, "length": int(length)})
    return rows


def _scaling(file: Results) -> list[Row]:
    """With the distance of kappa from 1 in place of kappa: there the time is a power."""
    return [
        {**row, "axis": "1 − kappa", "value": 1 - row["value"]}
        if row.get("axis") == "kappa" and is_number(row.get("value"))
        else row
        for row in file.rows
    ]


def _mixers(file: Results) -> list[Row]:
    return [{**row, "panel": f"{row.get('dataset')}, {row.get('phase')}"} for row in file.rows]


def _melted(names: dict[str, str], by: str) -> Prepare:
    """One row for each of several columns of times."""

    def prepare(file: Results) -> list[Row]:
        return [
            {by: row.get(by), "what": name, "ms": row.get(column)}
            for row in file.rows
            for column, name in names.items()
        ]

    return prepare


_SPEED, _CONVERGENCE, _TRAINING = "Speed", "Convergence and proof", "Training"
_INSIDE, _RANGE, _SCALE = "Inside the solver", "Long range", "Scale"
_RESIDUAL, _EVALUATIONS, _MS = "relative residual", "evaluations of f", "milliseconds"

CHARTS: tuple[Chart, ...] = (
    Chart(
        _SPEED, "figure-pareto", "Accuracy against time",
        "Each point is a number of evaluations: up and to the left is better.",
        "ms", "accuracy", "variant", labels=(_MS, "test accuracy, %"), log="x", scale=100,
    ),
    Chart(
        _SPEED, "figure-pareto", "Certified share against time",
        "How many nodes have a proven class after so much time.",
        "ms", "certified", "variant", labels=(_MS, "nodes certified, %"), log="x", scale=100,
    ),
    Chart(
        _SPEED, "bench", "Time to the same residual",
        "Every solver on the same trained model, interleaved; everything it needs is counted.",
        "solver", "ms", "family", labels=("", _MS), bars=True, lying=True, prepare=_bench,
    ),
    Chart(
        _CONVERGENCE, "figure-convergence", "Convergence by evaluation",
        "Learned solvers run far past the steps that they were trained for.",
        "evaluation", "residual", "solver", labels=(_EVALUATIONS, _RESIDUAL), log="y", highest=10,
    ),
    Chart(
        _CONVERGENCE, "figure-convergence", "Convergence by time",
        "The same solves on the clock.",
        "ms", "residual", "solver", labels=(_MS, _RESIDUAL), log="y", highest=10,
    ),
    Chart(
        _CONVERGENCE, "learned-solver-evaluations", "Evaluations to a residual",
        "Mean over seeds; the panel is the relative residual to reach.",
        "dataset", "evals", "solver", panel="tol", labels=("", _EVALUATIONS), bars=True,
    ),
    Chart(
        _CONVERGENCE, "certificate", "What is proven at a residual",
        "Share of the nodes whose class is certified, as the residual falls.",
        "residual", "certified", "dataset", panel="", labels=(_RESIDUAL, "nodes certified, %"),
        log="x", scale=100, falling=True, prepare=_a_priori,
    ),
    Chart(
        _TRAINING, "figure-overhead", "Training overhead: time",
        "The solver's share of the time that model and solver take to train.",
        "dataset", "share_seconds", "preset", panel="", labels=("", "% of all training time"),
        scale=100, bars=True,
    ),
    Chart(
        _TRAINING, "figure-overhead", "Training overhead: parameters",
        "The solver's share of the parameters of model and solver.",
        "dataset", "share_parameters", "preset", panel="", labels=("", "% of all parameters"),
        scale=100, bars=True,
    ),
    Chart(
        _TRAINING, "figure-dynamics", "Training time per epoch",
        "While the model trains; lower is better.",
        "epoch", "train_ms", "variant", labels=("epoch", _MS),
    ),
    Chart(
        _TRAINING, "figure-dynamics", "Inference time over training",
        "One inference after each epoch.",
        "epoch", "inference_ms", "variant", labels=("epoch", _MS),
    ),
    Chart(
        _TRAINING, "figure-dynamics", "Validation accuracy over training",
        "Every way of training, with the same seed.",
        "epoch", "val_accuracy", "variant", labels=("epoch", "validation accuracy, %"), scale=100,
    ),
    Chart(
        _INSIDE, "figure-mixers", "Which network predicts the weights",
        "Error after the unrolled steps while it warms up; residual at each evaluation in use.",
        "step", "value", "mixer", panel="panel", labels=("step", "relative error or residual"),
        log="y", highest=10,
        prepare=_mixers,
    ),
    Chart(
        _INSIDE, "figure-ablation", "Ablation",
        "What each part of the solver contributes.",
        "evaluation", "residual", "setting", labels=(_EVALUATIONS, _RESIDUAL), log="y", highest=10,
    ),
    Chart(
        _RANGE, "figure-chains", "Long-range chains",
        "Test accuracy as the only informative node moves away.",
        "length", "accuracy", "model", panel="", labels=("chain length", "test accuracy, %"),
        scale=100, error="std",
    ),
    Chart(
        _RANGE, "chains", "Long-range chains, embedded data",
        "Test accuracy as the only informative node moves away; mean over seeds.",
        "length", "test_accuracy", "model", panel="", labels=("chain length", "test accuracy, %"),
        scale=100, prepare=_embedded_chains,
    ),
    Chart(
        _SCALE, "scaling", "Time against size",
        "One thing grows at a time; straight lines are powers.",
        "value", "ms", "solver", panel="axis", labels=("", _MS), log="xy", prepare=_scaling,
    ),
    Chart(
        _SCALE, "scaling", "Memory against size",
        "The most that one solve has allocated at once.",
        "value", "peak_mb", "solver", panel="axis", labels=("", "MB"), log="xy", prepare=_scaling,
    ),
    Chart(
        _SCALE, "roofline", "One evaluation against the machine's limit",
        "The limits were measured in the same run.",
        "dataset", "ms", "what", panel="", labels=("", _MS), log="y", bars=True,
        prepare=_melted(
            {
                "eval_ms": "ours",
                "torch_ms": "torch's composition",
                "roofline_once_ms": "limit, rows read once",
                "roofline_cold_ms": "limit, rows read anew",
            },
            "dataset",
        ),
    ),
    Chart(
        _SCALE, "local-update", "After a small change of the graph",
        "Updating only what moved, against solving again.",
        "change", "ms", "what", panel="", labels=("", _MS), log="y", bars=True,
        prepare=_melted(
            {
                "update_ms": "local update",
                "warm-rows_ms": "warm, rows at rest",
                "warm_ms": "warm start",
                "zero_ms": "from zero",
            },
            "change",
        ),
    ),
)  # fmt: skip
