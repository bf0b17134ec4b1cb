"""Tables of results as Markdown and LaTeX: best bold, runner-up underlined, published beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MISSING = "-"


@dataclass(frozen=True)
class Entry:
    """One figure of a table, in percent.

    Attributes:
        mean: What we measured; ``None`` where nothing was.
        std: Its standard deviation.
        published: What the paper prints; shown as such beside ours, never ranked.
        published_std: Its standard deviation.
    """

    mean: float | None = None
    std: float | None = None
    published: float | None = None
    published_std: float | None = None


@dataclass(frozen=True)
class Table:
    """Rows of models, columns of datasets.

    Attributes:
        title: What it shows, protocol included.
        columns: Title of each column by its name.
        rows: Title of each row by its name.
        entries: The figures by (row, column).
        stand_ins: For columns whose data stands in for another: why.
        notes: Sentences below the table.
        corner: What the rows are.
    """

    title: str
    columns: Mapping[str, str]
    rows: Mapping[str, str]
    entries: Mapping[tuple[str, str], Entry]
    stand_ins: Mapping[str, str]
    notes: Sequence[str] = ()
    corner: str = "model"

    def entry(self, row: str, column: str) -> Entry:
        """The figure at a place; an empty one where there is none."""
        return self.entries.get((row, column), Entry())

    def ranks(self, column: str) -> dict[str, int]:
        """The rows of the best (0) and the runner-up (1) of a column, as they are printed."""
        means = {row: self.entry(row, column).mean for row in self.rows}
        values = {row: round(mean, 1) for row, mean in means.items() if mean is not None}
        order = sorted(set(values.values()), reverse=True)[:2]
        return {row: order.index(value) for row, value in values.items() if value in order}

    def headings(self, mark: str) -> list[str]:
        """The titles of the columns, those of stand-ins marked."""
        return [
            title + (mark if self.stand_ins.get(name) else "")
            for name, title in self.columns.items()
        ]

    def remarks(self, mark: str) -> list[str]:
        """The notes, with a sentence for each stand-in."""
        marked = [
            f"{mark} {self.columns[name]} is a stand-in: {why}"
            for name, why in self.stand_ins.items()
            if why and name in self.columns
        ]
        return [*marked, *self.notes]


def _figure(mean: float, std: float | None, sign: str) -> str:
    return f"{mean:.1f}" if std is None else f"{mean:.1f} {sign} {std:.1f}"


def markdown(table: Table) -> str:
    """The table in Markdown."""
    mark = "†"
    ranks = {column: table.ranks(column) for column in table.columns}
    styles = {0: "**{}**", 1: "<u>{}</u>"}
    lines = [f"### {table.title}", ""]
    lines.append("| " + " | ".join([table.corner, *table.headings(mark)]) + " |")
    lines.append("|" + "---|" * (len(table.columns) + 1))
    for row, title in table.rows.items():
        cells = [title]
        for column in table.columns:
            entry = table.entry(row, column)
            text = MISSING if entry.mean is None else _figure(entry.mean, entry.std, "±")
            text = styles.get(ranks[column].get(row, -1), "{}").format(text)
            if entry.published is not None:
                text += f" (published {_figure(entry.published, entry.published_std, '±')})"
            cells.append(text)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *table.remarks(mark), ""]).rstrip("\n") + "\n"


def latex(table: Table) -> str:
    """The table in LaTeX, for the package ``booktabs``."""
    mark = r"$^\dagger$"
    ranks = {column: table.ranks(column) for column in table.columns}
    styles = {0: r"\textbf{{{}}}", 1: r"\underline{{{}}}"}
    headings = [_escape(title) for title in table.headings("")]
    headings = [
        title + (mark if table.stand_ins.get(name) else "")
        for name, title in zip(table.columns, headings, strict=True)
    ]
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{_escape(table.title)}}}",
        rf"  \begin{{tabular}}{{l{'c' * len(table.columns)}}}",
        r"    \toprule",
        "    " + " & ".join([_escape(table.corner), *headings]) + r" \\",
        r"    \midrule",
    ]
    for row, title in table.rows.items():
        cells = [_escape(title)]
        for column in table.columns:
            entry = table.entry(row, column)
            text = "--" if entry.mean is None else _figure(entry.mean, entry.std, r"$\pm$")
            text = styles.get(ranks[column].get(row, -1), "{}").format(text)
            if entry.published is not None:
                published = _figure(entry.published, entry.published_std, r"$\pm$")
                text += rf" {{\footnotesize (published {published})}}"
            cells.append(text)
        lines.append("    " + " & ".join(cells) + r" \\")
    lines += [r"    \bottomrule", r"  \end{tabular}"]
    lines += [rf"  \par\footnotesize {_escape(note)}" for note in table.remarks("Stand-in:")]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _escape(text: str) -> str:
    for sign in ("\\", "&", "%", "_", "#"):
        text = text.replace(sign, "\\textbackslash{}" if sign == "\\" else f"\\{sign}")
    return text.replace("±", r"$\pm$")
