"""What every figure shares: its cells on disk, its rows as JSON, its pictures as PNG and PDF."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from ..benchmark.machine import Watch
from ..datasets.catalogue import describe, names
from ..errors import InputError
from ..results import write_results
from .grid import Cell, finished, run_grid
from .request import Report, Request, chosen

Row = dict[str, Any]
#: From the name of a dataset and the request to the figure's rows for it.
Measure = Callable[[str, Request], list[Row]]
#: From all rows, the titles of the datasets and the path without an ending to the files drawn.
Draw = Callable[[list[Row], Mapping[str, str], Path], list[Path]]


def run_figure(
    request: Request,
    name: str,
    datasets: Mapping[str, str],
    measure: Measure,
    draw: Draw,
    settings: Mapping[str, Any],
    seeds: Callable[[str], int] = lambda dataset: 1,
    summarise: Callable[[list[Row]], list[Row]] = list,
) -> Report:
    """Measure the datasets that are missing; then write and draw all that are finished.

    Args:
        request: What to run, and where the results go.
        name: The figure's name on the command line and of its files.
        datasets: Titles of its datasets by their names.
        measure: Measures one dataset with one seed.
        draw: Draws the pictures.
        settings: What else the rows depend on: other settings are measured anew.
        seeds: How many seeds a dataset is measured with, from the request's on.
        summarise: From the rows of all cells to those that are written and drawn.

    Raises:
        InputError: For an unknown dataset, or when a part of the models is asked for.
    """
    started = time.perf_counter()
    if request.models or request.protocols:
        raise InputError(f"{name} always shows the same models: leave out --model and --protocol")
    wanted = chosen(request.datasets, datasets, "dataset")
    folder = request.output / name

    def cell(dataset: str, seed: int) -> Cell:
        arguments = {"dataset": dataset, "seed": seed, "epochs": request.epochs}
        place = f"seed-{seed}" + ("" if request.epochs is None else f"-epochs-{request.epochs}")
        arguments |= {"quick": request.quick, **settings}
        return Cell((dataset.replace(":", "-"), place + "-quick" * request.quick), arguments)

    def work(arguments: Mapping[str, Any]) -> dict[str, Any]:
        one = replace(request, seed=arguments["seed"])
        with Watch() as watch:
            rows = measure(arguments["dataset"], one)
        return {"rows": rows, "others_cores": round(watch.others, 2)}

    def cells(names: Iterable[str]) -> list[Cell]:
        first = request.seed
        return [cell(one, seed) for one in names for seed in range(first, first + seeds(one))]

    run_grid(
        cells(wanted),
        work,
        folder,
        resume=request.resume,
        progress=request.progress,
        title=name,
    )
    found = [finished(one, folder) for one in cells(datasets)]
    results = [one for one in found if one is not None]
    rows = summarise([row for one in results for row in one["rows"]])
    present = {row["dataset"] for row in rows}
    stand_ins = {one: why for one in datasets if one in present and (why := stand_in(one))}
    path = request.output / f"{name}.json"
    write_results(
        path,
        started,
        experiment=name,
        quick=request.quick,
        seed=request.seed,
        settings=dict(settings),
        stand_ins=stand_ins,
        others_cores=max((one["others_cores"] for one in results), default=0.0),
        rows=rows,
    )
    titles = {
        one: title + (" (stand-in)" if one in stand_ins else "")
        for one, title in datasets.items()
        if one in present
    }
    pictures = draw(rows, titles, request.output / name)
    return Report(_text(name, rows, titles, stand_ins), rows, [path, *pictures])


def stand_in(dataset: str) -> str:
    """Why figures on a dataset are not those of the one the paper has; empty for real data."""
    base = dataset if dataset in names() else dataset.partition(":")[0]
    return describe(base).stand_in


def _text(
    name: str, rows: list[Row], titles: Mapping[str, str], stand_ins: Mapping[str, str]
) -> str:
    lines = [f"{name}: {len(rows)} rows, {', '.join(titles.values())}"]
    lines += [f"{titles[one]}: {why}" for one, why in stand_ins.items()]
    return "\n".join(lines)


def by(rows: Iterable[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    """The rows grouped by the values of these columns, in order of their first appearance."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def column(rows: Sequence[Row], name: str, scale: float = 1.0) -> list[float]:
    """The values of a column, NaN where there is none: such a point is not drawn."""
    return [float("nan") if row[name] is None else scale * row[name] for row in rows]


def averaged(rows: Iterable[Row], *keys: str) -> list[Row]:
    """Rows with the same values of ``keys``, which differ by their seed, as one: the mean of all else.

    A value that is missing for one seed is missing; ``seeds`` says how many there were.
    """
    result: list[Row] = []
    for key, part in by(rows, *keys).items():
        row: Row = dict(zip(keys, key, strict=True))
        for name in part[0].keys() - row.keys():
            values = [one[name] for one in part]
            row[name] = None if None in values else fmean(values)
        result.append({**row, "seeds": len(part)})
    return result
