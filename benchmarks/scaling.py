"""How time and memory grow with nodes, edges, hidden size, kappa and threads.

Every axis starts from 100,000 nodes of average degree 10, hidden size 128 and kappa 0.9, and changes one
thing. On the axis of edges the nodes grow along, at the ratio of ogbn-products. Results are written after
every point; the fitted exponents are slopes on log-log axes. Run it on an idle machine:

    python benchmarks/scaling.py --axis edges --axis nodes
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import random_map

from ignn_solver import EquilibriumMap, InputError, solve
from ignn_solver.benchmark.machine import Watch
from ignn_solver.benchmark.memory import check
from ignn_solver.benchmark.timing import interleaved, peak_bytes
from ignn_solver.learning.momentum import MomentumOptions, fit_momentum
from ignn_solver.report.figures import save, styled
from ignn_solver.results import write_results
from ignn_solver.solvers import Picard, Sweep

BASE: dict[str, Any] = {"nodes": 100_000, "degree": 10.0, "hidden": 128, "kappa": 0.9}
PRODUCTS_NODES, PRODUCTS_EDGES = 2_449_029, 61_859_140
#: Beyond this many seconds a solve, one round has to do.
_LONG = 10.0


def points(axis: str) -> Iterator[tuple[float, dict[str, Any]]]:
    """The values along an axis and the problem at each."""
    if axis == "nodes":
        for nodes in (10_000, 30_000, 100_000, 300_000, 1_000_000, PRODUCTS_NODES):
            yield nodes, {**BASE, "nodes": nodes}
    elif axis == "edges":
        for edges in (100_000, 1_000_000, 10_000_000, PRODUCTS_EDGES):
            nodes = round(edges * PRODUCTS_NODES / PRODUCTS_EDGES)
            yield edges, {**BASE, "nodes": nodes, "degree": 2 * edges / nodes}
    elif axis == "hidden":
        for hidden in (16, 32, 64, 128, 256, 512):
            yield hidden, {**BASE, "hidden": hidden}
    elif axis == "kappa":
        for kappa in (0.5, 0.7, 0.8, 0.9, 0.95, 0.99):
            yield kappa, {**BASE, "kappa": kappa}
    else:
        for threads in range(1, torch.get_num_threads() + 1):
            yield threads, {**BASE, "threads": threads}


AXES = ("nodes", "edges", "hidden", "kappa", "threads")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--axis", action="append", choices=AXES, help="repeatable; all by default")
    parser.add_argument("--max-nodes", type=int, default=PRODUCTS_NODES)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", type=float, default=20.0, help="budget in GiB")
    parser.add_argument("--json", type=Path, default=Path("results/scaling.json"))
    parser.add_argument("--figure", type=Path, default=Path("results/scaling.png"))
    options = parser.parse_args()
    started = time.perf_counter()
    rows: list[dict[str, Any]] = []
    for axis in options.axis or AXES:
        for value, problem in points(axis):
            if problem["nodes"] > options.max_nodes:
                continue
            rows += measure(axis, value, dict(problem), options)
            fits = fitted(rows)
            write_results(options.json, started, tol=options.tol, fits=fits, rows=rows)
    for fit in fitted(rows):
        print(f"{fit['solver']}: {fit['what']} grows as {fit['axis']}^{fit['exponent']:.2f}")
    print(f"figure: {plot(rows, options.figure)}")
    return 0


def measure(
    axis: str, value: float, problem: dict[str, Any], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """One row a solver at one point; none where it would not fit into memory."""
    before = torch.get_num_threads()
    torch.set_num_threads(problem.pop("threads", before))
    entries = round(problem["nodes"] * (problem["degree"] + 1))
    try:
        check(
            problem["nodes"],
            entries,
            problem["hidden"],
            ("picard", "sweep", "learned"),
            options.memory,
        )
        f = random_map(**problem)
        return timed(axis, value, f, options)
    except InputError as error:
        print(f"{axis} {value:g} is left out: {error}", file=sys.stderr)
        return []
    finally:
        torch.set_num_threads(before)


def timed(
    axis: str, value: float, f: EquilibriumMap, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Time the solvers on one map."""
    began = time.perf_counter()
    learned = fit_momentum(f, solve(f, tol=1e-5, on_failure="return").value, MomentumOptions())
    fit_seconds = time.perf_counter() - began
    solvers = {"picard": Picard(), "sweep": Sweep(), "learned": learned}
    calls = {
        name: lambda solver=solver: solve(f, solver, tol=options.tol, on_failure="return")
        for name, solver in solvers.items()
    }
    found, rounds = {}, options.rounds
    for name, call in calls.items():
        began = time.perf_counter()
        found[name] = call()
        rounds = 1 if time.perf_counter() - began > _LONG else rounds
    with Watch() as watch:
        times = interleaved(calls, rounds)
    rows = []
    for name, solution in found.items():
        rows.append(
            {
                "axis": axis,
                "value": value,
                "nodes": f.adjacency.num_nodes,
                "edges": (f.adjacency.num_entries - f.adjacency.num_nodes) // 2,
                "hidden": f.bias.shape[1],
                "kappa": f.contraction.factor,
                "threads": torch.get_num_threads(),
                "solver": name,
                "evals": solution.num_evals,
                "residual": solution.residual,
                "ms": times[name],
                "ms_an_evaluation": times[name] / solution.num_evals,
                "peak_mb": peak_bytes(calls[name]) / 2**20,
                "fit_seconds": fit_seconds if name == "learned" else 0.0,
                "others_cores": watch.others,
            }
        )
        row = rows[-1]
        print(
            f"{axis} {value:g}: {name} {row['ms']:.1f} ms, {row['evals']} evaluations, "
            f"{row['peak_mb']:.0f} MB" + (" (machine busy)" if watch.complaint else "")
        )
    return rows


def fitted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Exponents of time an evaluation, and of memory, against sizes; of all time against threads."""
    fits = []
    for axis in ("nodes", "edges", "hidden", "threads"):
        for solver in ("picard", "sweep", "learned"):
            some = [row for row in rows if row["axis"] == axis and row["solver"] == solver]
            if len(some) < 2:
                continue
            values = np.log([row["value"] for row in some])
            for what in ("ms_an_evaluation", "peak_mb"):
                slope = np.polyfit(values, np.log([row[what] for row in some]), 1)[0]
                fits.append(
                    {"axis": axis, "solver": solver, "what": what, "exponent": float(slope)}
                )
    return fits


def plot(rows: list[dict[str, Any]], path: Path) -> Path:
    """Time and memory along every axis, with the fitted exponents in the legend."""
    axes = [axis for axis in AXES if any(row["axis"] == axis for row in rows)]
    exponents = {(fit["axis"], fit["solver"], fit["what"]): fit["exponent"] for fit in fitted(rows)}
    with styled() as plt:
        figure, grid = plt.subplots(2, len(axes), figsize=(3.6 * len(axes), 6), squeeze=False)
        for column, axis in enumerate(axes):
            for line, (key, fit, label) in enumerate(
                (("ms", "ms_an_evaluation", "milliseconds a solve"), ("peak_mb", "peak_mb", "MB"))
            ):
                place = grid[line][column]
                for solver in ("picard", "sweep", "learned"):
                    some = [r for r in rows if r["axis"] == axis and r["solver"] == solver]
                    slope = exponents.get((axis, solver, fit))
                    name = solver if slope is None else f"{solver}, exponent {slope:.2f}"
                    if line == 0 and slope is not None:
                        name += " an evaluation"
                    x = [1 - r["value"] if axis == "kappa" else r["value"] for r in some]
                    place.loglog(x, [r[key] for r in some], label=name)
                if axis in ("hidden", "kappa", "threads"):
                    # Powers of ten are too far apart there.
                    place.set_xticks(x, [f"{value:g}" for value in x])
                    place.xaxis.minorticks_off()
                place.set_xlabel("1 - kappa" if axis == "kappa" else axis)
                place.legend(fontsize=7)
                if column == 0:
                    place.set_ylabel(label)
        return save(figure, path)


if __name__ == "__main__":
    sys.exit(main())
