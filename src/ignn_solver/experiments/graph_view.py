"""A graph to look at: its nodes, their residuals and proofs after each evaluation, solver by solver."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..certificate import Certifier, is_certified, margins
from ..learning.fit import equilibrium
from ..learning.parts import grow_part
from ..results import write_results
from ..solvers import Picard
from ..solving import solve
from .layout import spring_layout
from .prepared import prepare
from .request import Report, Request

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..equilibrium import EquilibriumMap, Evaluation
    from ..nn.classifiers import IGNN
    from ..solving import Solver

TITLE = "Graph view: residuals and certified nodes after each evaluation, for the report"
#: What is drawn unless another dataset is named.
DATASETS = {"digits": "Digits"}
QUICK = {"datasets": ("digits",)}
NODES, EDGES = 2_000, 6_000
#: Shown residuals: the exponents of ten at the two ends of the colours.
LEVELS = (-5.0, 0.0)
_TOLERANCE = 1e-5
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def run(request: Request) -> Report:
    """Train on the dataset (``digits`` by default), solve, and write what every node went through."""
    started = time.perf_counter()
    name = (request.datasets or tuple(DATASETS))[0]
    prepared = prepare(name, request, request.progress)
    data = prepared.data
    solvers = {"learned": prepared.solver("learned"), "picard": Picard()}
    content = watched(prepared.model, data, solvers, request.seed)
    path = request.output / "graph-view.json"
    facts = {"dataset": name, "stand_in": str(data.get("stand_in") or ""), "seed": request.seed}
    write_results(path, started, experiment="graph-view", **facts, **content)
    text = (
        f"{name}: {content['nodes']} of {content['all_nodes']} nodes, "
        f"{content['drawn_edges']} edges drawn; evaluations to {_TOLERANCE:g}: "
        + ", ".join(f"{solver} {len(frames)}" for solver, frames in content["frames"].items())
    )
    return Report(text, content["rows"], [path])


def watched(model: IGNN, data: Data, solvers: Mapping[str, Solver], seed: int) -> dict[str, Any]:
    """Everything the graph view draws, packed as text."""
    f, _ = equilibrium(model, data)
    nodes = shown_nodes(f, seed)
    ends = shown_edges(data.edge_index, nodes, data.num_nodes, seed)
    places = spring_layout(ends, len(nodes), seed=seed)
    frames = {name: solve_frames(f, model, solver, nodes) for name, solver in solvers.items()}
    return {
        "nodes": len(nodes),
        "all_nodes": data.num_nodes,
        "drawn_edges": ends.shape[1],
        "levels": LEVELS,
        "positions": pack((places * 4095).round().long().flatten(), 2),
        "edges": pack(ends.T.flatten(), 2),
        "frames": frames,
        "rows": [
            {"solver": name, **{key: frame[key] for key in ("evaluation", "residual", "share")}}
            for name, of_solver in frames.items()
            for frame in of_solver
        ],
    }


def shown_nodes(f: EquilibriumMap, seed: int) -> Tensor:
    """All nodes, or where they are too many a connected part of them; ascending."""
    count = f.adjacency.num_nodes
    if count <= NODES:
        return torch.arange(count)
    generator = torch.Generator().manual_seed(seed)
    return grow_part(f.adjacency, NODES, generator).sort().values


def shown_edges(edge_index: Tensor, nodes: Tensor, count: int, seed: int) -> Tensor:
    """Edges between shown nodes, by their place among them, each once; a draw where too many."""
    place = torch.full((count,), -1)
    place[nodes] = torch.arange(len(nodes))
    source, target = place[edge_index]
    kept = (source >= 0) & (target >= 0) & (source != target)
    pairs = torch.stack([source[kept], target[kept]]).sort(0).values.unique(dim=1)
    if pairs.shape[1] > EDGES:
        generator = torch.Generator().manual_seed(seed)
        drawn = torch.randperm(pairs.shape[1], generator=generator)[:EDGES].sort().values
        pairs = pairs[:, drawn]
    return pairs


@torch.no_grad()
def solve_frames(
    f: EquilibriumMap, model: IGNN, solver: Solver, nodes: Tensor
) -> list[dict[str, Any]]:
    """One frame an evaluation: each shown node's residual, relative to the mean state, and its proof."""
    certifier = Certifier(f)
    frames: list[dict[str, Any]] = []

    def look(spent: int, best: Evaluation) -> bool:
        certificate = certifier.observe(best, sweeps=100)
        found = margins(model.head, best.value, certificate.norm)
        proven = is_certified(found, certificate.bound)
        size = best.value_sq.mean().sqrt()
        exponents = (best.residual_sq[nodes].sqrt() / size).clamp_min(1e-30).log10()
        low, high = LEVELS
        levels = ((exponents - low) / (high - low) * 63).round().clamp(0, 63).long()
        total = best.residual_sq.sum() / best.value_sq.sum()
        frames.append(
            {
                "evaluation": spent,
                "residual": float(f"{float(total.sqrt()):.4g}"),
                "share": round(float(proven.double().mean()), 5),
                "residuals": pack(levels, 1),
                "certified": "".join("1" if one else "0" for one in proven[nodes].tolist()),
            }
        )
        return False

    solve(f, solver, tol=_TOLERANCE, on_failure="return", observer=look)
    return frames


def pack(values: Tensor, width: int) -> str:
    """Whole numbers below ``64 ** width`` as text, ``width`` letters each."""
    return "".join(
        _LETTERS[value >> 6 * place & 63]
        for value in values.tolist()
        for place in reversed(range(width))
    )
