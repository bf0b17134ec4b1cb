"""Progress on the terminal: one line that moves, on standard error, only where somebody watches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Bar:
    """A progress bar that may be absent."""

    def __init__(self, progress: Progress | None, total: int, title: str) -> None:
        self._progress = progress
        self._task = None if progress is None else progress.add_task(title, total=total, note="")

    def update(self, completed: int, note: str) -> None:
        """Move the bar and show a note beside it."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=completed, note=note)


@contextmanager
def bar(title: str, total: int, show: bool | None = None) -> Iterator[Bar]:
    """A progress bar for ``total`` steps; by default shown where standard error is a terminal."""
    console = Console(stderr=True)
    if not (console.is_terminal if show is None else show):
        yield Bar(None, total, title)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console) as progress:
        yield Bar(progress, total, title)
