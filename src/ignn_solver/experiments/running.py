"""Running an experiment on the data at hand, in full or as a quick look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ..datasets.catalogue import describe, names
from .request import Experiment, Report, Request


def at_hand(dataset: str, data_dir: Path | None = None) -> bool:
    """Whether a dataset is on this machine, or made by this package."""
    base = dataset if dataset in names() else dataset.partition(":")[0]
    return describe(base, data_dir).available in ("here", "generated")


def quickened(request: Request, quick: Mapping[str, Any]) -> Request:
    """The request with the defaults of a quick look, where nothing else was asked for."""
    plain = Request()
    chosen = {one.name for one in fields(Request)}
    changes = {
        name: value
        for name, value in quick.items()
        if name in chosen and getattr(request, name) == getattr(plain, name)
    }
    return replace(request, **changes)


def run_at_hand(
    module: Experiment, request: Request, say: Callable[[str], None] = lambda line: None
) -> Report | None:
    """Run an experiment; unless the request names datasets, on those that are on this machine.

    Args:
        module: The experiment.
        request: What of it.
        say: Called with a sentence about datasets that are left out.

    Returns:
        Its report, or ``None`` when none of its datasets is here.
    """
    if request.datasets:
        return module.run(quickened(request, module.QUICK) if request.quick else request)
    if request.quick:
        request = quickened(request, module.QUICK)
    wanted = request.datasets or tuple(module.DATASETS)
    here = tuple(name for name in wanted if at_hand(name, request.data_dir))
    missing = [name for name in wanted if name not in here]
    if missing:
        say(f"left out, not on this machine (see `ignn-solver datasets`): {', '.join(missing)}")
    return module.run(replace(request, datasets=here)) if here else None
