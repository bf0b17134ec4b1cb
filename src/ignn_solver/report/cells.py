"""Tables in HTML: escaped, sortable by their headings, stand-ins marked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from .reading import is_number

#: Why each dataset that stands in for another does, by name.
StandIns = Mapping[str, str]
#: What a column of the results is called on the page, where its own name would not do.
_NAMES = {
    "ms": "time, ms",
    "evals": "evaluations",
    "peak_mb": "memory, MB",
    "tol": "to residual",
    "speedup_vs_picard": "× picard",
    "speedup_vs_published": "× published",
    "evals_to_accuracy": "evaluations to accuracy",
    "ms_to_accuracy": "ms to accuracy",
    "eval_ms": "ms an evaluation",
    "gcn_ms": "ms of a two-layer GCN",
}
#: What stands where there is no value.
NONE = "–"
_BADGE = '<abbr class="badge" title="{}">stand-in</abbr>'


@dataclass(frozen=True)
class Cell:
    """What a cell shows, as HTML, and the value it is sorted by."""

    html: str
    value: Any = None


def heading(column: str) -> str:
    """A column's name for people."""
    return _NAMES.get(column, column.replace("_", " "))


def shown(value: Any) -> str:
    """A value of a results file as text: numbers short, everything else as it is."""
    if value is None or value == "":
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if not is_number(value):
            return NONE
        if value and (abs(value) < 1e-2 or abs(value) >= 1e6):
            return f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e")
        return f"{value:,.3f}" if abs(value) < 10 else f"{value:,.1f}"
    return value if isinstance(value, str) else json.dumps(value)


def cell(column: str, value: Any, stand_ins: StandIns) -> Cell:
    """The cell of a value; the name of a dataset that stands in for another has a badge."""
    html = escape(shown(value))
    if column == "dataset" and isinstance(value, str) and value in stand_ins:
        html += " " + badge(stand_ins[value])
    return Cell(html, value)


def badge(why: str) -> str:
    """The mark of a stand-in."""
    return _BADGE.format(escape(why, quote=True))


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    caption: str,
    badges: Mapping[str, str] | None = None,
) -> str:
    """A sortable table; ``columns`` and ``caption`` are text, cells are HTML already.

    Args:
        columns: Headings.
        rows: Cells.
        caption: What stands below.
        badges: For headings that name a stand-in: why it is one.
    """
    head = []
    for place, name in enumerate(columns):
        values = [row[place].value for row in rows if row[place].value is not None]
        numeric = ' class="number"' if values and all(map(is_number, values)) else ""
        why = (badges or {}).get(name)
        mark = f" {badge(why)}" if why else ""
        head.append(
            f'<th scope="col" aria-sort="none"{numeric}><button type="button">{escape(name)}{mark}'
            "</button></th>"
        )
    body = "\n".join(f"<tr>{''.join(map(_td, row))}</tr>" for row in rows)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption, quote=True)}">'
        f'<table class="sortable"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{''.join(head)}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _td(one: Cell) -> str:
    if is_number(one.value):
        return f'<td class="number" data-value="{one.value!r}">{one.html}</td>'
    if isinstance(one.value, str):
        return f'<td data-value="{escape(one.value, quote=True)}">{one.html}</td>'
    return f"<td>{one.html}</td>"
