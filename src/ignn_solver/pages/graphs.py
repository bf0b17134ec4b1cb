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
    """Graphs a second of each contender, in its best batches, for each kappa; the bars are asked of the first."""
    header = ["graphs a second", "batches", "evaluations a graph", "graphs within the tolerance"]
    header.append("other class than exact")
    bars, parts = content["bars"], []
    for ratio in content["ratios"]:
        rows, body = where(content["rows"], kappa=ratio["kappa"]), []
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
        parts.append(
            markdown([f"{content['graphs']:,} graphs, kappa {ratio['kappa']:g}", *header], body)
        )
        is_first = ratio is content["ratios"][0]
        faster = f" (at least {bars['learned_over_picard']:g} wanted)" if is_first else ""
        longer = f" (at most {1 / bars['learned_over_gin']:.0f} wanted)" if is_first else ""
        parts.append(
            f"With kappa {ratio['kappa']:g} the learned solver is {ratio['learned_over_picard']:.2f} times as fast "
            f"as plain iteration{faster}, and takes {1 / ratio['learned_over_gin']:.1f} times as long as a forward "
            f"pass of PyG's GIN{longer}."
        )
    return "\n\n".join(parts)
