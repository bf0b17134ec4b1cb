"""Rows of a results file, and Markdown tables made from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean
from typing import Any

Row = dict[str, Any]
Rows = list[Row]

#: Marks a dataset that stands in for another.
MARK = "\\*"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; below it, if a dataset of it is a stand-in, what the mark means."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    if any(MARK in line for line in lines):
        lines += ["", f"{MARK} A stand-in (see the page on datasets): not the paper's dataset."]
    return "\n".join(lines)


def ordered(rows: Rows, key: str) -> list[Any]:
    """The values of a column, in order of appearance."""
    return list(dict.fromkeys(row[key] for row in rows))


def where(rows: Rows, **chosen: Any) -> Rows:
    """The rows with these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in chosen.items())]


def averaged(rows: Rows, field: str, **chosen: Any) -> float | None:
    """The mean of a field over the rows with these values; nothing if one did not converge."""
    found = where(rows, **chosen)
    if not found or not all(row.get("converged", True) for row in found):
        return None
    return mean(row[field] for row in found)


def shown(value: float | None, form: str, missing: str = "-") -> str:
    """A figure in a format, or what stands where there is none."""
    return missing if value is None else format(value, form)


def titled(dataset: str) -> str:
    """The name of a dataset, marked if it stands in for another."""
    return dataset + (MARK if is_stand_in(dataset) else "")


def is_stand_in(dataset: str) -> bool:
    """Whether figures on a dataset must not pass for those of the one it stands for."""
    from ..datasets.catalogue import describe, names

    return dataset in names() and bool(describe(dataset).stand_in)
