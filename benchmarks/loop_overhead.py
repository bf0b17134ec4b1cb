"""What the loop costs: a whole solve against as many bare evaluations composed in torch.

The bar is a total of at most 1.15 times evaluations x the time of ``relu(A @ (Z @ W) + b)`` with torch's
CSR product, on 100,000 nodes of average degree 10 with hidden size 128. Run it on an idle machine:

    python benchmarks/loop_overhead.py
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch
from common import random_map

from ignn_solver import solve
from ignn_solver.benchmark.machine import Watch
from ignn_solver.benchmark.timing import interleaved
from ignn_solver.results import write_results

BAR = 1.15


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--degree", type=float, default=10.0)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--kappa", type=float, default=0.9)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, default=Path("results/loop-overhead.json"))
    options = parser.parse_args()
    started = time.perf_counter()
    f = random_map(options.nodes, options.degree, options.hidden, options.kappa)
    adjacency, z = f.adjacency.matrix.as_torch(), f.start()
    evals = solve(f, tol=options.tol).num_evals
    calls = {
        "solve": lambda: solve(f, tol=options.tol),
        "bare": lambda: torch.relu(adjacency @ (z @ f.weight) + f.bias),
        "eval": lambda: f.evaluate(z, out),
    }
    out = torch.empty_like(z)
    for call in calls.values():
        call()
    with Watch() as watch:
        times = interleaved(calls, options.rounds)
    ratio = times["solve"] / (evals * times["bare"])
    print(
        f"{evals} evaluations in {times['solve']:.1f} ms; a bare one in torch {times['bare']:.2f} ms, "
        f"ours {times['eval']:.2f} ms: the solve takes {ratio:.2f} times {evals} bare evaluations "
        f"(at most {BAR} wanted) and {times['solve'] / (evals * times['eval']):.2f} times ours"
    )
    if watch.complaint is not None:
        print(f"warning: {watch.complaint}")
    write_results(
        options.json,
        started,
        nodes=options.nodes,
        edges=(f.adjacency.num_entries - f.adjacency.num_nodes) // 2,
        hidden=options.hidden,
        kappa=options.kappa,
        tol=options.tol,
        evals=evals,
        solve_ms=times["solve"],
        bare_ms=times["bare"],
        eval_ms=times["eval"],
        ratio=ratio,
        bar=BAR,
        others_cores=watch.others,
    )
    return 0 if ratio <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
