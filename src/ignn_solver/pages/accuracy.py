"""Tables of accuracy: models against datasets, ours beside what was published."""

from __future__ import annotations

from .table import Row, Rows, markdown, ordered, titled, where


def table(content: Row, protocol: str | None = None) -> str:
    """Mean and deviation in percent of each model on each dataset, the published mean in brackets.

    Args:
        content: A results file with rows of dataset, model, mean, std, published and protocol.
        protocol: Only the rows of this protocol.
    """
    rows = content["rows"] if protocol is None else where(content["rows"], protocol=protocol)
    datasets = ordered(rows, "dataset")
    body = []
    for model in ordered(rows, "model"):
        line = [model]
        for dataset in datasets:
            found = where(rows, dataset=dataset, model=model)
            line.append(figure(found[0]) if found else "-")
        body.append(line)
    table = markdown(["accuracy in % (published)", *map(titled, datasets)], body)
    return f"{table}\n\nMean ± standard deviation over {_counted(rows)}."


def _counted(rows: Rows) -> str:
    what = "folds" if any("folds" in row for row in rows) else "trials"
    counts = sorted({row[what] for row in rows if row["mean"] is not None})
    return f"{' to '.join(map(str, dict.fromkeys([*counts[:1], *counts[-1:]])))} {what}"


def figure(row: Row) -> str:
    """One cell: ours, and what the paper prints."""
    text = "not run" if row["mean"] is None else f"{row['mean']:.1f} ± {row['std']:.1f}"
    return text if row.get("published") is None else f"{text} ({row['published']:.1f})"


def chains(content: Row) -> str:
    """Accuracy of each model on chains of each length, in percent."""
    rows = content["rows"]
    lengths = ordered(rows, "length")
    body = []
    for model in ordered(rows, "model"):
        found = [where(rows, model=model, length=length) for length in lengths]
        body.append(
            [model, *(f"{100 * cell[0]['accuracy']:.0f}" if cell else "-" for cell in found)]
        )
    return markdown(["accuracy in % at length", *map(str, lengths)], body)
