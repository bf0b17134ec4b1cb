"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..solving import Solver

Json = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Also write the results here, as JSON."),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Where datasets lie. Default: $IGNN_SOLVER_DATA, else the user's cache directory.",
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.", min=0, max=2**32 - 1)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]
TensorBoard = Annotated[
    Path | None,
    typer.Option(
        "--tensorboard", metavar="DIR", help="Write scalars here while it runs, for TensorBoard."
    ),
]

_WIDTH = 160


def classical_solver(name: str) -> Solver:
    """The solver of ``CLASSICAL`` called ``name``, with its defaults."""
    from .. import solvers

    chosen: Solver = getattr(solvers, name.capitalize())()
    return chosen


def show_table(title: str, columns: list[str], rows: list[list[Any]]) -> None:
    """Print a table to standard output."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position == 0 else "right")
    for row in rows:
        table.add_row(*map(str, row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(console.width, _WIDTH))  # what is read from a file may be wide
    console.print(table)
