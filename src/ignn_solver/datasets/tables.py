"""Tables of a user's own: CSV and Parquet, row by row, every row with its place for messages."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import replacing

_DELIMITERS = {".csv": ",", ".tsv": "\t"}


@dataclass
class Table:
    """Rows of text cells.

    Attributes:
        path: The file.
        rows: Cells of each row, stripped of blanks; all rows have as many.
        lines: Line of each row in the file (row number, from 1, for Parquet).
        unit: What ``lines`` counts: ``"line"`` or ``"row"``.
    """

    path: Path
    rows: list[list[str]]
    lines: list[int]
    unit: str = "line"

    def where(self, row: int) -> str:
        """How messages name a row: ``edges.csv, line 7``."""
        return f"{self.path.name}, {self.unit} {self.lines[row]}"

    def without_header(self, is_header: Callable[[list[str]], bool]) -> Table:
        """Drop the first row if it is a header. A Parquet file has names beside its rows."""
        if self.unit == "line" and is_header(self.rows[0]):
            return Table(self.path, self.rows[1:], self.lines[1:])
        return self

    def number(self, row: int, column: int) -> float:
        """A cell as a finite number."""
        cell = self.rows[row][column]
        try:
            value = float(cell)
        except ValueError:
            raise InputError(f"{self.where(row)}: {cell[:40]!r} is not a number") from None
        if not math.isfinite(value):
            raise InputError(f"{self.where(row)}: {cell!r} is not finite; remove or replace it")
        return value


def is_table(path: Path) -> bool:
    """Whether the file name says CSV, TSV or Parquet."""
    return path.suffix.lower() in (*_DELIMITERS, ".parquet")


def read_own_table(path: Path, columns: tuple[int, int], what: str) -> Table:
    """Read a table.

    Args:
        path: ``.csv``, ``.tsv`` or ``.parquet``.
        columns: Least and most columns it may have.
        what: What each row is, for messages: ``"source,target or source,target,weight"``.

    Raises:
        InputError: The file is missing, unreadable or empty, or a row has not as many cells as the
            first, or not a number of columns that is allowed.
    """
    table = _read_parquet(path) if path.suffix.lower() == ".parquet" else _read_csv(path)
    if not table.rows:
        raise InputError(f"{path} is empty; each row should be {what}")
    width = len(table.rows[0])
    if not columns[0] <= width <= columns[1]:
        raise InputError(f"{table.where(0)}: {width} cells; each row should be {what}")
    for row, cells in enumerate(table.rows):
        if len(cells) != width:
            raise InputError(
                f"{table.where(row)}: {len(cells)} cells where {width} are expected; "
                f"correct that line"
            )
    return table


def _read_csv(path: Path) -> Table:
    rows, lines = [], []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter=_DELIMITERS[path.suffix.lower()], strict=True)
            for cells in reader:
                if cells:
                    rows.append([cell.strip() for cell in cells])
                    lines.append(reader.line_num)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {path}: {reason}") from error
    return Table(path, rows, lines)


def _pyarrow(path: Path) -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise InputError(f"{path.name} needs pyarrow: pip install 'ignn-solver[tables]'") from error
    return pyarrow


def write_parquet(path: Path, columns: dict[str, list[Any]]) -> None:
    """Write columns of equal length as Parquet, whole or not at all."""
    library = _pyarrow(path)
    with replacing(path) as temporary:
        library.parquet.write_table(library.table(columns), temporary)


def _read_parquet(path: Path) -> Table:
    library = _pyarrow(path)
    try:
        table = library.parquet.read_table(path)
        columns: Iterable[list[object]] = [column.to_pylist() for column in table.columns]
    except (OSError, library.ArrowException) as error:
        raise InputError(f"cannot read {path}: {str(error).splitlines()[0]}") from error
    rows = [["" if v is None else str(v) for v in row] for row in zip(*columns, strict=True)]
    return Table(path, rows, list(range(1, len(rows) + 1)), "row")
