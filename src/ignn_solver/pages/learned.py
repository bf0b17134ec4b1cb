"""Tables of ``benchmarks/learned_solver.py``: evaluations saved, cost of the fit, what it survives."""

from __future__ import annotations

import statistics

from .table import Row, averaged, markdown, ordered, shown, titled, where

TOLERANCES = (1e-2, 1e-3, 1e-4)
MISSED = "not reached"


def evaluations(content: Row, tol: float) -> str:
    """Mean evaluations of each solver on each dataset, with the share of plain iteration's.

    The share counts the mixer's passes over its own graph too.
    """
    rows = content["rows"]
    solvers = ordered(rows, "solver")
    body = []
    for dataset in ordered(rows, "dataset"):
        line = [titled(dataset)]
        for solver in solvers:
            chosen = {"dataset": dataset, "solver": solver, "tol": tol}
            text = shown(averaged(rows, "evals", **chosen), ".1f", MISSED)
            share = averaged(rows, "charged_share", **chosen)
            line.append(text if share is None or solver == "picard" else f"{text} ({share:.0%})")
        body.append(line)
    return markdown([f"to {tol:g}", *solvers], body)


def transfer(content: Row) -> str:
    """Share of plain iteration's evaluations after a change, at 1e-3."""
    rows = content["rows"]
    cases = ordered(rows, "case")
    body = []
    for dataset in ordered(rows, "dataset"):
        for solver in ordered(rows, "solver"):
            shares = [
                averaged(rows, "charged_share", dataset=dataset, solver=solver, case=case, tol=1e-3)
                for case in cases
            ]
            body.append([titled(dataset), solver, *(shown(share, ".0%") for share in shares)])
    return markdown(["share of plain iteration's evaluations, 1e-3", "solver", *cases], body)


def cost(content: Row) -> str:
    """Seconds and parameters of the fits, beside those of the model."""
    rows = content["rows"]
    forms = {
        "seconds": ".2f",
        "share_of_training": ".1%",
        "parameters": ",.0f",
        "share_of_parameters": ".1%",
    }
    body = []
    for dataset in ordered(rows, "dataset"):
        for solver in ordered(rows, "solver"):
            values = {name: averaged(rows, name, dataset=dataset, solver=solver) for name in forms}
            figures = [shown(values[name], form) for name, form in forms.items()]
            if values["seconds"] is not None:
                body.append([titled(dataset), solver, *figures])
    header = ["dataset", "solver", "seconds", "of the training", "parameters", "of the model's"]
    return markdown(header, body)


def memory(content: Row) -> str:
    """The most memory that a process held while it fitted a solver, and what the solver then does."""
    forms = {"nodes": ",d", "seconds": ".1f", "gib_before": ".1f", "gib": ".1f", "evals": "d"}
    body = [
        [
            titled(row["dataset"]),
            row["solver"],
            *(format(row[n], form) for n, form in forms.items()),
        ]
        for row in content["rows"]
    ]
    header = ["dataset", "solver", "nodes", "seconds", "GiB before", "GiB at most"]
    return markdown([*header, "evaluations to 1e-3"], body)


def ablation(content: Row) -> str:
    """Evaluations of every variant, averaged over seeds, per dataset."""
    rows = content["rows"]
    body = []
    for dataset in ordered(rows, "dataset"):
        for solver in ordered(rows, "solver"):
            counts = [
                averaged(rows, "evals", dataset=dataset, solver=solver, tol=tol)
                for tol in TOLERANCES
            ]
            body.append([titled(dataset), solver, *(shown(n, ".1f", MISSED) for n in counts)])
    return markdown(["dataset", "variant", "1e-2", "1e-3", "1e-4"], body)


def alternating(content: Row) -> str:
    """Validation accuracy, time and evaluations of the two ways to train."""
    rows = content["rows"]
    scales = {
        "seconds": (1, ".1f"),
        "seconds_per_epoch": (1000, ".0f"),
        "evaluations_per_epoch": (1, ".1f"),
    }
    body = []
    for dataset in ordered(rows, "dataset"):
        for training in ordered(rows, "training"):
            found = where(rows, dataset=dataset, training=training)
            accuracy = [100 * row["val_accuracy"] for row in found]
            if not accuracy:
                continue
            spread = f"{statistics.mean(accuracy):.1f} ± {statistics.pstdev(accuracy):.1f}"
            line = [titled(dataset), training, spread]
            for name, (scale, form) in scales.items():
                value = averaged(rows, name, dataset=dataset, training=training)
                line.append(shown(None if value is None else scale * value, form))
            body.append(line)
    header = ["dataset", "training", "validation %", "seconds", "ms an epoch"]
    return markdown([*header, "evaluations an epoch"], body)
