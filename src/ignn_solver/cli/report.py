"""``ignn-solver report``: one page of everything that was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="Folder of the results files.")
    ] = Path("results"),
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")
    ] = Path("report.html"),
) -> None:
    """Turn a folder of results into one page with plots and tables that works offline.

    Example: ignn-solver report results -o report.html
    """
    from ..report.page import write_page

    written = write_page(results, output)
    typer.echo(f"report: {written} ({written.stat().st_size / 2**20:.1f} MiB)")
