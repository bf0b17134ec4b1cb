"""The command line: ``ignn-solver COMMAND``, one file a command, heavy imports inside them."""

from __future__ import annotations

import sys
import warnings
from typing import TextIO

import typer

from ..errors import InputError
from .bench import bench
from .datasets import datasets
from .demo import demo
from .fit_solver import fit_solver
from .report import report
from .reproduce import reproduce
from .solve import solve
from .train import train
from .tune import tune

app = typer.Typer(
    name="ignn-solver",
    help="Train, solve, certify and benchmark implicit graph neural networks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


for command in (demo, datasets, train, tune, fit_solver, solve, bench, reproduce, report):
    app.command()(command)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning in the user's terms: the sentence, without the line of code that gave it."""
    sys.stderr.write(f"ignn-solver: warning: {message}\n")


def main() -> None:
    """Run the command line: wrong input is one sentence and status 2, Ctrl-C is status 130."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            app(standalone_mode=True)
    except InputError as error:
        sys.stderr.write(f"ignn-solver: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("ignn-solver: interrupted\n")
        sys.exit(130)
