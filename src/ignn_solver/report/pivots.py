"""Tables that spread a column of the results over several, averaged over seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from statistics import mean
from typing import Any

from .cells import NONE, Cell, StandIns, cell, heading, shown, table
from .reading import Row, is_number


@dataclass(frozen=True)
class Pivot:
    """Values spread over columns, averaged over seeds.

    Attributes:
        title: Heading.
        index: Columns that name a row.
        column: Column whose values become columns; empty to average ``values`` side by side.
        values: What is averaged.
        form: How an average of several values reads.
    """

    title: str
    index: tuple[str, ...]
    column: str
    values: tuple[str, ...]
    form: Callable[..., str] = shown

    def html(self, rows: list[Row], stand_ins: StandIns) -> str:
        """The table."""
        places = list(dict.fromkeys(tuple(_key(row.get(i)) for i in self.index) for row in rows))
        spread = list(dict.fromkeys(_key(row.get(self.column)) for row in rows))
        columns = [shown(s) for s in spread] if self.column else [heading(v) for v in self.values]
        body = []
        for place in places:
            some = [row for row in rows if tuple(_key(row.get(i)) for i in self.index) == place]
            line = [cell(i, part, stand_ins) for i, part in zip(self.index, place, strict=True)]
            if self.column:
                line += [
                    self._cell([r for r in some if _key(r.get(self.column)) == s]) for s in spread
                ]
            else:
                line += [cell(value, _average(some, value), stand_ins) for value in self.values]
            body.append(line)
        caption = f"{self.title}; mean over seeds"
        return table([*map(heading, self.index), *columns], body, caption)

    def _cell(self, rows: list[Row]) -> Cell:
        if not rows:
            return Cell(NONE)
        if not all(row.get("converged", True) for row in rows):
            return Cell("not reached")
        averages = [_average(rows, value) for value in self.values]
        return Cell(escape(self.form(*averages)), averages[0])


def _key(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) else str(value)


def _average(rows: list[Row], column: str) -> float | None:
    values = [row[column] for row in rows if is_number(row.get(column))]
    return mean(values) if values else None


def _with_share(count: float | None, share: float | None) -> str:
    return NONE if count is None or share is None else f"{count:.1f} ({share:.0%})"


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{share:.0%}"


PIVOTS = {
    "learned-solver-evaluations": Pivot(
        "Evaluations of f to a residual, with the share of plain iteration's",
        ("dataset", "tol"), "solver", ("evals", "charged_share"), _with_share,
    ),
    "learned-solver-transfer": Pivot(
        "Share of plain iteration's evaluations after a change",
        ("dataset", "tol"), "case", ("charged_share",), _percent,
    ),
    "learned-solver-cost": Pivot(
        "What it costs to learn a solver",
        ("dataset", "solver"), "",
        ("seconds", "share_of_training", "parameters", "share_of_parameters"),
    ),
    "learned-solver-alternating": Pivot(
        "Training with a learned solver",
        ("dataset", "training"), "",
        ("val_accuracy", "seconds", "seconds_per_epoch", "evaluations_per_epoch"),
    ),
    "learned-solver-ablation": Pivot(
        "Evaluations of f for every variant of the solver",
        ("dataset", "solver"), "tol", ("evals",), shown,
    ),
}  # fmt: skip
