"""How close one evaluation comes to what this machine can do at all.

An evaluation needs a product with W (flops) and a pass over the edges (bytes). Both limits are measured in
the same run: the flops of a dense product, the better one of torch's own and ours, and the bandwidth of a copy
of arrays far larger than the cache. The roofline time is the sum of the two parts, each at its limit, as they
run one after the other. Two counts of bytes bracket the edge pass: ``cold``, where every neighbour's row comes
from memory, and ``once``, where each row comes from memory once and from the cache ever after. Run it on an
idle machine:

    python benchmarks/roofline.py --dataset com-amazon --dataset blocks:arxiv
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
from common import random_map

from ignn_solver import Adjacency, EquilibriumMap, datasets
from ignn_solver.benchmark.machine import Watch
from ignn_solver.benchmark.timing import interleaved
from ignn_solver.kernels import products
from ignn_solver.nn.parametrize import parametrization
from ignn_solver.results import write_results

_STREAM_BYTES = 2**28
#: The large product of torch, and rows and columns of ours, which stays in the cache.
_GEMM, _ROWS, _TILES = 2048, 8192, 128


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dataset", action="append", help="repeatable")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--json", type=Path, default=Path("results/roofline.json"))
    options = parser.parse_args()
    started = time.perf_counter()
    rows = []
    for name in options.dataset or ["citeseer", "com-amazon", "blocks:arxiv"]:
        f = load_map(name, options.hidden, options.data_dir)
        rows.append({"dataset": name, **measure(f, options.rounds)})
        row = rows[-1]
        print(
            f"{name}: {row['eval_ms']:.2f} ms an evaluation, roofline {row['roofline_once_ms']:.2f} to "
            f"{row['roofline_cold_ms']:.2f} ms ({row['gflops_peak']:.0f} Gflop/s, "
            f"{row['gbytes_peak']:.1f} GB/s): {row['ratio_cold']:.2f} times the cold one; torch's own "
            f"composition {row['torch_ms']:.2f} ms, {row['torch_ms'] / row['eval_ms']:.2f} times ours"
        )
        if row["others_cores"] > 0.15:
            print(f"warning: other processes used {row['others_cores']:.1f} cores meanwhile")
        write_results(options.json, started, hidden=options.hidden, rows=rows)


def load_map(name: str, hidden: int, data_dir: Path | None) -> EquilibriumMap:
    """An untrained map of this width on the dataset's graph."""
    if name.startswith("blocks:"):
        size = name.removeprefix("blocks:")
        if size.isdigit():
            return random_map(int(size), 10.0, hidden)
        return random_map(0, 0.0, hidden, like=size)
    adjacency = Adjacency.from_data(datasets.load(name, data_dir))
    torch.manual_seed(0)
    weight = parametrization("cayley", hidden, 0.9)
    bias = torch.randn(adjacency.num_nodes, hidden) / hidden**0.5
    return EquilibriumMap(adjacency, weight().detach(), bias, weight.contraction)


@torch.no_grad()
def measure(f: EquilibriumMap, rounds: int) -> dict[str, float]:
    """Times, limits and their ratio for one map."""
    nodes, width = f.bias.shape
    entries, size = f.adjacency.num_entries, f.bias.element_size()
    z, out = f.start(), torch.empty_like(f.bias)
    adjacency = f.adjacency.matrix.as_torch()
    one, other = torch.ones(2, _STREAM_BYTES // 8).unbind()
    square = torch.randn(_GEMM, _GEMM)
    rows, room = torch.randn(2, _ROWS, _TILES).unbind()
    ready = products.prepare(torch.randn(_TILES, _TILES))
    calls = {
        "eval": lambda: f.evaluate(z, out),
        "torch": lambda: torch.relu(adjacency @ (z @ f.weight) + f.bias),
        "stream": lambda: one.copy_(other),
        "gemm": lambda: square @ square,
        "tiles": lambda: products.product(rows, ready, room),
    }
    for call in calls.values():
        call()
    with Watch() as watch:
        times = interleaved(calls, rounds)
    # A copy reads and writes each byte.
    bandwidth = 2 * one.numel() * one.element_size() / times["stream"] * 1e-6
    flops = 2e-6 * max(_GEMM**3 / times["gemm"], _ROWS * _TILES**2 / times["tiles"])
    states = nodes * width * size
    edges = entries * (4 + size) + nodes * 4
    # The product reads z and writes z W; the edge pass reads b and z, and writes the result.
    streamed = 5 * states + edges
    moved = {"once": streamed + states, "cold": streamed + entries * width * size}
    product = 2 * nodes * width * width / flops * 1e-6
    row = {
        "nodes": nodes,
        "entries": entries,
        "eval_ms": times["eval"],
        "torch_ms": times["torch"],
        "flops": 2.0 * nodes * width * width + 2.0 * entries * width,
        "gflops_peak": flops,
        "gbytes_peak": bandwidth,
        "others_cores": watch.others,
    }
    for name, amount in moved.items():
        row[f"bytes_{name}"] = amount
        row[f"roofline_{name}_ms"] = product + amount / bandwidth * 1e-6
        row[f"ratio_{name}"] = times["eval"] / row[f"roofline_{name}_ms"]
    return row


if __name__ == "__main__":
    main()
