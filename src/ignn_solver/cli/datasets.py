"""``ignn-solver datasets``: what can be loaded, and what of it is on this machine."""

from __future__ import annotations

import time

from .options import DataDir, Json, show_table

_COLUMNS = [
    "name",
    "task",
    "nodes/graphs",
    "edges",
    "features",
    "classes",
    "source",
    "licence",
    "is",
]


def datasets(data_dir: DataDir = None, json: Json = None) -> None:
    """List the datasets: size, source, licence, and whether each is here or can be had.

    Edges are undirected ones; a star marks stand-ins, whose figures are not the real dataset's.
    Besides these: chains:LENGTH, blocks:NODES, pyg:Class/Name, and your own graph by --edges.

    Example: ignn-solver datasets --data-dir data --json datasets.json
    """
    from dataclasses import asdict

    from ..datasets import describe, names
    from ..results import write_results

    started = time.perf_counter()
    found = [describe(name, data_dir) for name in names()]
    rows = [
        [
            d.name + ("*" if d.stand_in else ""),
            d.task,
            *(f"{n:,}" for n in (d.count, d.edges, d.features, d.classes)),
            d.source,
            d.licence,
            d.available,
        ]
        for d in found
    ]
    show_table("Datasets (* stand-in)", _COLUMNS, rows)
    if json is not None:
        write_results(json, started, rows=[asdict(d) for d in found])
