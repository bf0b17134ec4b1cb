"""A folder of small results in the formats that the commands write."""

import json
from pathlib import Path

ABOUT = {
    "command": "ignn-solver bench all --json results/bench.json",
    "created": "2026-01-02T03:04:05+00:00",
    "wall_seconds": 1.5,
    "environment": {"python": "3.11.7", "versions": {"torch": "2.13.0"}, "threads": 1},
}


def bench_row(solver: str, ms: float, **more: object) -> dict[str, object]:
    """A row of ``ignn-solver bench``."""
    row = {"solver": solver, "ms": ms, "evals": 9, "residual": 5e-4, "error": 1e-3}
    return {**row, "accuracy": 0.9, "certified": 0.98, "peak_mb": 3.0, **more}


BENCH = {
    "datasets": [
        {"dataset": "citeseer", "stand_in": "", "tol": 1e-3, "exact_accuracy": 0.9},
        {
            "dataset": "blocks:arxiv",
            "stand_in": "a generated graph of arxiv's size, not arxiv itself",
            "tol": 1e-3,
            "exact_accuracy": 0.702,
            "others_cores": 0.7,
        },
    ],
    "rows": [
        {"dataset": "citeseer", **bench_row("picard", 30.0)},
        {"dataset": "citeseer", **bench_row("torchdeq-anderson", 80.0)},
        {"dataset": "citeseer", **bench_row("ignn-published", 200.0)},
        {"dataset": "citeseer", **bench_row("learned", 10.0)},
        {"dataset": "blocks:arxiv", **bench_row("picard", 400.0, accuracy=0.702)},
        {"dataset": "blocks:arxiv", **bench_row("sweep", 200.0, accuracy=0.702)},
        {"dataset": "blocks:arxiv", **bench_row("ignn-published", 4000.0)},
        {"dataset": "blocks:arxiv", **bench_row("learned", 100.0, accuracy=0.7, certified=0.9)},
    ],
}
ACCURACY = {
    "experiment": "table2",
    "rows": [
        {"dataset": "citeseer", "model": "gcn", "protocol": "validation", "mean": 70.0, "std": 1.0,
         "published": 69.5, "published_std": 0.3, "trials": 5},
        {"dataset": "citeseer", "model": "ignn", "protocol": "validation", "mean": 75.0, "std": 0.5,
         "published": None, "published_std": None, "trials": 5},
        {"dataset": "corafull", "model": "gcn", "protocol": "validation", "mean": None, "std": None,
         "published": 56.7, "published_std": None, "trials": 0, "skipped": "it needs 9 GiB"},
    ],
}  # fmt: skip
CONVERGENCE = {
    "experiment": "figure-convergence",
    "quick": True,
    "rows": [
        {"dataset": dataset, "solver": solver, "evaluation": k, "ms": 2.0 * k, "residual": share**k}
        for dataset in ("citeseer", "mutag")
        for solver, share in (("picard", 0.6), ("learned", 0.2))
        for k in range(1, 8)
    ],
}
GRAPH = {
    "experiment": "graph-view",
    "dataset": "digits",
    "nodes": 3,
    "all_nodes": 3,
    "drawn_edges": 2,
    "levels": [-5.0, 0.0],
    "positions": "AAAA" "f__f" "__AA",
    "edges": "AAAB" "ABAC",
    "frames": {
        "learned": [
            {"evaluation": 1, "residual": 0.1, "share": 0.0, "residuals": "___", "certified": "000"},
            {"evaluation": 2, "residual": 0.01, "share": 0.33333, "residuals": "ggA", "certified": "001"},
            {"evaluation": 3, "residual": 0.001, "share": 1.0, "residuals": "AAA", "certified": "111"},
        ],
        "picard": [
            {"evaluation": 1, "residual": 0.5, "share": 0.0, "residuals": "___", "certified": "000"},
        ],
    },
    "rows": [{"solver": "learned", "evaluation": 1, "residual": 0.1, "share": 0.0}],
}  # fmt: skip


def write(folder: Path, name: str, content: object) -> Path:
    """Write a results file, with what every results file says of itself."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**content, **ABOUT} if isinstance(content, dict) else content))
    return path


def fill(folder: Path) -> Path:
    """A folder with one results file of each shape."""
    write(folder, "bench", BENCH)
    write(folder, "table2", ACCURACY)
    write(folder, "figure-convergence", CONVERGENCE)
    write(folder, "graph-view", GRAPH)
    write(folder, "own-notes", {"rows": [{"name": "b", "count": 10}, {"name": "a", "count": 9}]})
    return folder
