"""Unrolling the paper's solver for K steps, and what that takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..equilibrium import EquilibriumMap
from ..errors import InputError
from .losses import LossWeights
from .mixer import SparseGraph

if TYPE_CHECKING:
    from ..solvers.mixed import MixedAnderson
    from .mixer import Mixer

_GIB = 2**30
#: With fewer nodes a part is all border.
_FEWEST = 32


@dataclass(frozen=True)
class UnrollOptions:
    """How to train.

    Attributes:
        steps: K, the steps that are unrolled.
        iterations: Updates of the solver's parameters.
        lr: Adam's learning rate at the start; it falls to 0 along a half cosine.
        losses: Weights and schedules of the losses.
        ramp: Whether the weights of the losses change over the training as the paper's do; off, they
            stay as at its end, for adapting a trained solver.
        memory: GiB that the unrolled steps may take; larger graphs are trained on in parts.
        nodes: Nodes of a part at most: from a few thousand on, more updates teach more than larger ones.
        seed: Draws the parts.
    """

    steps: int = 10
    iterations: int = 120
    lr: float = 0.01
    losses: LossWeights = field(default_factory=LossWeights)
    ramp: bool = True
    memory: float = 4.0
    nodes: int = 8192
    seed: int = 0


def unroll(
    mixer: Mixer,
    maps: Sequence[EquilibriumMap],
    z: Tensor,
    sparse: SparseGraph | None,
    visit: Callable[[Tensor], None] = lambda z: None,
) -> tuple[list[Tensor], list[Tensor]]:
    """Run a solver for a fixed number of steps, keeping gradients unless they are off.

    Args:
        mixer: Predicts the weights.
        maps: The map of each step.
        z: Where to begin, ``n x d``.
        sparse: The graph that the mixer sees, if it sees one.
        visit: Called with the iterate that each step evaluates. Without gradients nothing else is kept.

    Returns:
        The iterate after each step, and at each step the size of the mixed residual relative to the
        newest.
    """
    from ..solvers.mixed import Window

    iterates: list[Tensor] = []
    mixed_residuals: list[Tensor] = []
    window = Window(maps[0].adjacency, sparse)
    for f in maps:
        visit(z)
        window.push(mixer, z, f(z))
        alpha, beta = mixer(window.compressed, window.adjacency, window.sparse)
        z = window.combine(alpha, beta)
        if not torch.is_grad_enabled():
            continue
        spread = f.adjacency.spread(alpha)
        mixed = sum(
            spread[:, i : i + 1] * residual.detach() for i, residual in enumerate(window.residuals)
        )
        assert isinstance(mixed, Tensor)
        newest = torch.linalg.norm(window.residuals[-1].detach()).clamp_min(1e-30)
        mixed_residuals.append(torch.linalg.norm(mixed) / newest)
        iterates.append(z)
    return iterates, mixed_residuals


def part_size(f: EquilibriumMap, solver: MixedAnderson, options: UnrollOptions) -> int:
    """How many nodes to unroll at once: all of them, or what fits in a part of a graph."""
    nodes, width = f.bias.shape
    window = 0 if solver.mixer is None else solver.mixer.window
    # Each step keeps z, f(z), its residual and three products for each entry of the window.
    floats_per_node = options.steps * width * (6 + 3 * (window + 1))
    fits = int(options.memory * _GIB / (f.bias.element_size() * floats_per_node))
    if options.nodes < _FEWEST:
        raise InputError(f"a part needs at least {_FEWEST} nodes, not {options.nodes}")
    if fits < _FEWEST:
        raise InputError(
            f"{options.memory} GiB is too little to unroll {options.steps} steps of width {width}: "
            "raise the memory or lower the steps"
        )
    # A batch is many parts already; and a cut through its graphs would lose which row is whose.
    most = nodes if f.adjacency.graph is not None else options.nodes
    return min(nodes, fits, most)
