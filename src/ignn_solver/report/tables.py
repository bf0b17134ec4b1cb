"""The tables of the page: ours beside what was published, and every results file as it is."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from ..experiments.tables import Entry, Table
from ..tasks.protocols import MEANING
from .cells import NONE, Cell, StandIns, cell, heading, shown, table
from .pivots import PIVOTS
from .reading import Results, Row, is_number

#: A table of points behind a plot is cut here; the file has the rest.
_MOST_ROWS = 300


@dataclass(frozen=True)
class Shown:
    """A table of the page.

    Attributes:
        title: Its heading.
        html: The table.
        source: The results file it is made of.
        folded: Whether it is shown only on demand.
    """

    title: str
    html: str
    source: str
    folded: bool = False


def tables(file: Results, stand_ins: StandIns) -> list[Shown]:
    """The tables of one results file."""
    source = file.source
    if file.kind in _ACCURACY:
        return [
            Shown(f"{_ACCURACY[file.kind]}{judged}", html, source)
            for judged, html in _accuracies(file, stand_ins).items()
        ]
    if file.kind in PIVOTS:
        pivot = PIVOTS[file.kind]
        return [Shown(pivot.title, pivot.html(file.rows, stand_ins), source)]
    title = _TITLES.get(file.kind, file.name)
    folded = file.kind.startswith("figure-") or file.kind in ("graph-view", "scaling")
    parts = {title: file.rows or [{k: v for k, v in file.content.items() if k not in _ABOUT}]}
    parts |= {f"{title}: {key}": value for key, value in file.content.items() if _is_table(value)}
    if file.kind == "bench":
        parts.pop(f"{title}: datasets", None)
    made = []
    for name, rows in parts.items():
        counted = f"{len(rows):,} row" + "s" * (len(rows) != 1)
        html = plain(rows, stand_ins, f"{counted} of {file.name}.json")
        notes = bench_notes(file) if file.kind == "bench" else ""
        if html:
            made.append(Shown(name, notes + html, source, folded))
    return made


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def bench_notes(file: Results) -> str:
    """What a benchmark says of its problems, and who missed the tolerance."""
    heads = file.content.get("datasets")
    notes = []
    for head in heads if isinstance(heads, list) else [file.content]:
        if not isinstance(head, dict):
            continue
        facts = [
            f"{heading(key)} {shown(head[key])}" for key in _BENCH_FACTS if is_number(head.get(key))
        ]
        notes.append(f"{shown(head.get('dataset'))}: {', '.join(facts)}.")
        misses = head.get("misses")
        notes += [f"{shown(miss)}." for miss in misses] if isinstance(misses, list) else []
    return "".join(f'<p class="about">{escape(note)}</p>' for note in notes)


_ABOUT = ("command", "created", "wall_seconds", "environment", "experiment")
_BENCH_FACTS = ("nodes", "edges", "hidden", "kappa", "tol", "threads", "eval_ms", "gcn_ms")
_ACCURACY = {
    "table1": "Table I: nodes of large graphs",
    "table2": "Table II: nodes of small graphs",
    "table3": "Table III: sets of graphs",
}
_MEANING = {
    **MEANING,
    "validation": "the epoch is chosen on validation nodes; test labels are never looked at",
    "paper": "the best test epoch, as the paper's released code chooses: too good to expect",
}
_TITLES = {
    "bench": "Benchmark",
    "certificate": "Certificates",
    "certificate-search": "Search for a wrong certificate",
    "chains": "Long-range chains, embedded data",
    "digits": "Digits, embedded data",
    "local-update": "Local updates",
    "loop-overhead": "Overhead of the loop",
    "roofline": "Roofline",
    "scaling": "Scaling",
}


def plain(rows: list[Row], stand_ins: StandIns, caption: str) -> str:
    """Rows as they are, columns in order of appearance; empty if there is nothing in them."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    # Long texts and packed data are for programs.
    columns = [c for c in columns if not any(_bulky(row.get(c)) for row in rows)]
    if not columns:
        return ""
    if len(rows) > _MOST_ROWS:
        caption = f"The first {_MOST_ROWS} of {caption}"
    body = [[cell(c, row.get(c), stand_ins) for c in columns] for row in rows[:_MOST_ROWS]]
    return table([heading(c) for c in columns], body, caption)


def _bulky(value: Any) -> bool:
    return len(shown(value)) > 500


def _accuracies(file: Results, stand_ins: StandIns) -> dict[str, str]:
    """Models down, datasets across, one table a protocol; what the paper prints beside ours."""
    made = {}
    for protocol in dict.fromkeys(str(row.get("protocol") or "") for row in file.rows):
        rows = [row for row in file.rows if str(row.get("protocol") or "") == protocol]
        notes = [f"Protocol {protocol}: {_MEANING[protocol]}."] if protocol in _MEANING else []
        notes += dict.fromkeys(
            f"{shown(row.get('model'))} on {shown(row.get('dataset'))} was not run: "
            f"{shown(row['skipped'])}."
            for row in rows
            if row.get("skipped")
        )
        one = accuracy_table(rows, stand_ins, "Accuracy in percent")
        below = "".join(f'<p class="note">{escape(note)}</p>' for note in notes)
        made[f", protocol {protocol}" if protocol else ""] = _html(one) + below
    return made


def accuracy_table(rows: list[Row], stand_ins: StandIns, title: str) -> Table:
    """Rows of dataset, model, mean and published as a table."""
    entries = {
        (str(row.get("model")), str(row.get("dataset"))): Entry(
            *(_number(row.get(key)) for key in ("mean", "std", "published", "published_std"))
        )
        for row in rows
    }
    models = {model: model for model, _ in entries}
    datasets = {dataset: dataset for _, dataset in entries}
    return Table(title, datasets, models, entries, {d: stand_ins.get(d, "") for d in datasets})


def _number(value: Any) -> float | None:
    return float(value) if is_number(value) else None


def _html(made: Table) -> str:
    ranks = {column: made.ranks(column) for column in made.columns}
    body = []
    for row in made.rows:
        line = [Cell(escape(row), row)]
        for column in made.columns:
            line.append(_entry(made.entry(row, column), ranks[column].get(row, -1)))
        body.append(line)
    caption = f"{made.title}: ours, and below it what the paper published; best bold"
    return table([made.corner, *made.columns], body, caption, made.stand_ins)


def _entry(entry: Entry, rank: int) -> Cell:
    deviation = "" if entry.std is None else f" <small>± {entry.std:.1f}</small>"
    ours = NONE if entry.mean is None else f"{entry.mean:.1f}"
    ours = {0: f"<strong>{ours}</strong>", 1: f"<u>{ours}</u>"}.get(rank, ours) + deviation
    if entry.published is not None:
        ours += f'<span class="published">published {entry.published:.1f}</span>'
    return Cell(ours, entry.mean)
