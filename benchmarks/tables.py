"""Write the measured tables into the README and the docs, from the JSON files under ``results/``.

A table stands between ``<!-- table NAME -->`` and ``<!-- end -->``; what has not been measured is left as it is.

    python benchmarks/tables.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

from ignn_solver.files import write_text

RESULTS = Path("results")
PAGES = (Path("README.md"), *sorted(Path("docs").glob("*.md")))

Rows = list[dict[str, Any]]


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def ordered(rows: Rows, key: str) -> list[Any]:
    """The values of a column, in order of appearance."""
    return list(dict.fromkeys(row[key] for row in rows))


def averaged(rows: Rows, field: str, **chosen: Any) -> float | None:
    """The mean of a field over the rows with these values; nothing if one did not converge."""
    found = [row for row in rows if all(row[key] == value for key, value in chosen.items())]
    if not found or not all(row.get("converged", True) for row in found):
        return None
    return mean(row[field] for row in found)


def evaluations(rows: Rows, tol: float) -> str:
    """Mean evaluations of each solver on each dataset, with the share of plain iteration's.

    The share counts the mixer's passes over its own graph too.
    """
    solvers = ordered(rows, "solver")
    body = []
    for dataset in ordered(rows, "dataset"):
        line = [dataset]
        for solver in solvers:
            chosen = {"dataset": dataset, "solver": solver, "tol": tol}
            count = averaged(rows, "evals", **chosen)
            share = averaged(rows, "charged_share", **chosen)
            missed = "not reached" if count is None else f"{count:.1f}"
            line.append(
                missed if share is None or solver == "picard" else f"{missed} ({share:.0%})"
            )
        body.append(line)
    return markdown([f"to {tol:g}", *solvers], body)


def transfer(rows: Rows) -> str:
    """Share of plain iteration's evaluations after a change, at 1e-3."""
    cases = ordered(rows, "case")
    body = []
    for dataset in ordered(rows, "dataset"):
        for solver in ordered(rows, "solver"):
            line = [dataset, solver]
            for case in cases:
                chosen = {"dataset": dataset, "solver": solver, "case": case, "tol": 1e-3}
                share = averaged(rows, "charged_share", **chosen)
                line.append("" if share is None else f"{share:.0%}")
            body.append(line)
    return markdown(["dataset", "solver", *cases], body)


def cost(rows: Rows) -> str:
    """Seconds and parameters of the fits, beside those of the model."""
    body = []
    for dataset in ordered(rows, "dataset"):
        for solver in ordered(rows, "solver"):
            chosen = {"dataset": dataset, "solver": solver}
            values = {
                name: averaged(rows, name, **chosen)
                for name in ("seconds", "share_of_training", "parameters", "share_of_parameters")
            }
            body.append(
                [
                    dataset,
                    solver,
                    f"{values['seconds']:.2f}",
                    f"{values['share_of_training']:.1%}",
                    f"{values['parameters']:,.0f}",
                    f"{values['share_of_parameters']:.1%}",
                ]
            )
    header = ["dataset", "solver", "seconds", "of the training", "parameters", "of the model's"]
    return markdown(header, body)


def ablation(rows: Rows) -> str:
    """Evaluations of every variant, averaged over seeds, per dataset."""
    body = []
    for dataset in ordered(rows, "dataset"):
        for solver in ordered(rows, "solver"):
            line = [dataset, solver]
            for tol in (1e-2, 1e-3, 1e-4):
                count = averaged(rows, "evals", dataset=dataset, solver=solver, tol=tol)
                line.append("not reached" if count is None else f"{count:.1f}")
            body.append(line)
    return markdown(["dataset", "variant", "1e-2", "1e-3", "1e-4"], body)


def alternating(rows: Rows) -> str:
    """Validation accuracy, time and evaluations of the two ways to train."""
    body = []
    for dataset in ordered(rows, "dataset"):
        for training in ordered(rows, "training"):
            chosen = {"dataset": dataset, "training": training}
            names = ("val_accuracy", "seconds", "seconds_per_epoch", "evaluations_per_epoch")
            values = [averaged(rows, name, **chosen) or 0.0 for name in names]
            body.append(
                [
                    dataset,
                    training,
                    f"{100 * values[0]:.1f}",
                    f"{values[1]:.1f}",
                    f"{1000 * values[2]:.0f}",
                    f"{values[3]:.1f}",
                ]
            )
    header = [
        "dataset",
        "training",
        "validation %",
        "seconds",
        "ms an epoch",
        "evaluations an epoch",
    ]
    return markdown(header, body)


TABLES: dict[str, tuple[str, Callable[[Rows], str]]] = {
    "evaluations-1e-2": ("learned-solver-evaluations", lambda rows: evaluations(rows, 1e-2)),
    "evaluations-1e-3": ("learned-solver-evaluations", lambda rows: evaluations(rows, 1e-3)),
    "evaluations-1e-4": ("learned-solver-evaluations", lambda rows: evaluations(rows, 1e-4)),
    "transfer": ("learned-solver-transfer", transfer),
    "cost": ("learned-solver-cost", cost),
    "ablation": ("learned-solver-ablation", ablation),
    "alternating": ("learned-solver-alternating", alternating),
}


def main() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for name, (file, make) in TABLES.items():
            path = RESULTS / f"{file}.json"
            if not path.exists():
                continue
            rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
            pattern = rf"(<!-- table {re.escape(name)} -->\n).*?(<!-- end -->)"
            table = make(rows)
            text = re.sub(pattern, lambda m, t=table: f"{m[1]}{t}\n{m[2]}", text, flags=re.S)
        if text != page.read_text(encoding="utf-8"):
            write_text(page, text)
            print(f"{page} updated")


if __name__ == "__main__":
    main()
