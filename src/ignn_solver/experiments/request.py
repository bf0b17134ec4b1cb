"""What a user asks of an experiment, and what comes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from ..errors import InputError
from . import EXPERIMENTS


@dataclass(frozen=True)
class Request:
    """Which part of an experiment to run, and where its results go.

    Attributes:
        datasets: Names; empty for all.
        models: Names; empty for all.
        protocols: Names; empty for all.
        folds: Folds of a cross-validation, where there is one.
        trials: Seeds, where an experiment is repeated with several.
        epochs: Epochs, instead of those of the recipes.
        seed: Seed of everything random.
        hours: Most hours of one training, where that is limited.
        memory: Most gibibytes that one training may take, where that is limited.
        resume: Whether finished cells of an earlier run count; else they are run again.
        output: Folder of the results.
        data_dir: Where datasets lie.
        progress: Show a progress bar; by default on a terminal.
        quick: Whether a look at the thing is enough: few datasets, folds, updates and rounds.
    """

    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()
    folds: int = 10
    trials: int = 5
    epochs: int | None = None
    seed: int = 0
    hours: float = 1.0
    memory: float = 12.0
    resume: bool = True
    output: Path = Path("results")
    data_dir: Path | None = None
    progress: bool | None = None
    quick: bool = False


@dataclass(frozen=True)
class Report:
    """What an experiment gives.

    Attributes:
        text: The tables, as Markdown.
        rows: The figures, one flat dictionary each.
        files: What was written.
    """

    text: str
    rows: list[dict[str, object]] = field(repr=False)
    files: list[Path]


class Experiment(Protocol):
    """A module that reproduces one table or figure.

    Attributes:
        TITLE: One line for the list.
        DATASETS: Titles of its datasets by their names.
        QUICK: Fields of the request, such as ``datasets``, where a quick look has other defaults.
    """

    TITLE: str
    DATASETS: Mapping[str, str]
    QUICK: Mapping[str, Any]

    def run(self, request: Request) -> Report:
        """Run what is missing and write the results."""


def experiment(name: str) -> Experiment:
    """The experiment called ``name``."""
    if name not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        raise InputError(f"no experiment {name!r}: choose one of {known}")
    return cast(Experiment, import_module(EXPERIMENTS[name]))


def chosen(asked: tuple[str, ...], known: Iterable[str], what: str) -> list[str]:
    """The known names that were asked for, in the known order; all of them when none was.

    Raises:
        InputError: For a name that is not known.
    """
    names = list(known)
    lowered = [name.lower() for name in asked]
    for name in lowered:
        if name not in names:
            raise InputError(
                f"no {what} {name!r} in this experiment: choose among {', '.join(names)}"
            )
    return [name for name in names if not asked or name in lowered]
