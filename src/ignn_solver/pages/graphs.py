"""Tables on classifying graphs: what a protocol does to a figure, unseen graphs, and speed."""

from __future__ import annotations

from .accuracy import figure
from .table import Row, markdown, ordered, shown, titled, where

_OURS = "ignn-solver"
_PROTOCOLS = ("nested", "gin", "ignn")


def protocols(content: Row) -> str:
    """Our model under each protocol: the same training runs, three figures."""
    rows = where(content["rows"], model=_OURS)
    body = []
    for protocol in _PROTOCOLS:
        found = {row["dataset"]: row for row in where(rows, protocol=protocol)}
        body.append([f"`{protocol}`", *(figure(found[name]) for name in ordered(rows, "dataset"))])
    header = ["IGNN-Solver, accuracy in % (published)", *map(titled, ordered(rows, "dataset"))]
    return markdown(header, body)


def unseen(content: Row) -> str:
    """The answers of a solver learned on training graphs, beside plain iteration, on test graphs."""
    header = ["test graphs of", "learned solver, %", "exact equilibrium, %", "other class"]
    header += ["evaluations, learned to 1e-3", "plain to 1e-3", "plain to 1e-6"]
    body = [
        [
            titled(row["dataset"]),
            f"{row['learned_mean']:.2f}",
            f"{row['exact_mean']:.2f}",
            f"{row['learned_different']}",
            *(f"{row[f'{name}_evals']:.1f}" for name in ("learned", "plain", "exact")),
        ]
        for row in content["rows"]
        if "learned_evals" in row
    ]
    return markdown(header, body)


def inference(content: Row) -> str:
    """Graphs a second of each contender, in its best batches."""
    rows = content["rows"]
    header = [f"{content['graphs']:,} graphs", "graphs a second", "batches", "evaluations a graph"]
    header += ["graphs within the tolerance", "other class than exact"]
    body = []
    for name in ordered(rows, "name"):
        row = max(where(rows, name=name), key=lambda one: one["graphs_per_second"])
        body.append(
            [
                name,
                f"{row['graphs_per_second']:,.0f}",
                f"{row['batches']}",
                shown(row.get("evals"), ".1f"),
                shown(row.get("graphs_within"), ".1%"),
                shown(row.get("different_classes"), "d"),
            ]
        )
    ratios, bars = content["ratios"], content["bars"]
    said = (
        f"The learned solver is {ratios['learned_over_picard']:.2f} times as fast as plain iteration "
        f"({bars['learned_over_picard']:g} wanted), and takes {1 / ratios['learned_over_gin']:.1f} times as long "
        f"as a forward pass of PyG's GIN (at most {1 / bars['learned_over_gin']:.0f} wanted)."
    )
    return f"{markdown(header, body)}\n\n{said}"
