"""Training the paper's solver: unroll K steps, compare with the equilibrium (Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ..equilibrium import EquilibriumMap
from ..errors import InputError
from ..progress import bar
from .losses import LossWeights, relative_distance, total_loss
from .parts import grow_part, part_map

if TYPE_CHECKING:
    from ..solvers.mixed import MixedAnderson

_GIB = 2**30
#: Updates of the initializer for each of the mixer.
_GUESS_UPDATES = 3

#: Called after an update of a solver with its number, and the loss and errors then.
OnUpdate = Callable[[int, dict[str, float]], None]


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
        seed: Draws the parts.
    """

    steps: int = 10
    iterations: int = 120
    lr: float = 0.01
    losses: LossWeights = field(default_factory=LossWeights)
    ramp: bool = True
    memory: float = 4.0
    seed: int = 0


def unroll(
    solver: MixedAnderson, f: EquilibriumMap, steps: int
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Run the solver for a fixed number of steps, keeping gradients.

    Returns:
        The initializer's guess, the iterate after each step, and at each step the size of the mixed
        residual relative to the newest.
    """
    from ..solvers.mixed import Window

    guess = solver.initializer(f)
    z = guess.detach()
    iterates: list[Tensor] = []
    mixed_residuals: list[Tensor] = []
    if solver.mixer is None:
        return guess, iterates, mixed_residuals
    window = Window(f.adjacency, solver.sparse_graph(f.adjacency))
    for _ in range(steps):
        window.push(solver.mixer, z, f(z))
        alpha, beta = solver.mixer(window.compressed, window.adjacency, window.sparse)
        z = window.combine(alpha, beta)
        spread = f.adjacency.spread(alpha)
        mixed = sum(
            spread[:, i : i + 1] * residual.detach() for i, residual in enumerate(window.residuals)
        )
        assert isinstance(mixed, Tensor)
        newest = torch.linalg.norm(window.residuals[-1].detach()).clamp_min(1e-30)
        mixed_residuals.append(torch.linalg.norm(mixed) / newest)
        iterates.append(z)
    return guess, iterates, mixed_residuals


def part_size(f: EquilibriumMap, solver: MixedAnderson, options: UnrollOptions) -> int:
    """How many nodes can be unrolled within the memory, at most all of them."""
    nodes, width = f.bias.shape
    window = 0 if solver.mixer is None else solver.mixer.window
    # Each step keeps z, f(z), its residual and three products for each entry of the window.
    floats_per_node = options.steps * width * (6 + 3 * (window + 1))
    fits = int(options.memory * _GIB / (f.bias.element_size() * floats_per_node))
    if fits < 32:
        raise InputError(
            f"{options.memory} GiB is too little to unroll {options.steps} steps of width {width}: "
            "raise the memory or lower the steps"
        )
    return min(nodes, fits)


def train_unrolled(
    solver: MixedAnderson,
    f: EquilibriumMap,
    solution: Tensor,
    options: UnrollOptions,
    progress: bool | None = None,
    on_update: OnUpdate | None = None,
) -> list[dict[str, float]]:
    """Train the initializer and the mixer of ``solver``, in place.

    No gradient flows from the steps into the guess, so the joint loss falls into two: the initializer is
    trained first, whose updates unroll nothing and are cheap; then the mixer, from where it ends.

    Args:
        solver: The solver.
        f: The frozen map.
        solution: Its equilibrium, from a classical solver.
        options: How to train.
        progress: Show a progress bar.
        on_update: Called after each update with its number and entry.

    Returns:
        One entry an update: the unrolled steps (none while the initializer is trained), the loss, and
        the relative errors of the guess and the last iterate.
    """
    size = part_size(f, solver, options)
    generator = torch.Generator().manual_seed(options.seed)
    phases: list[tuple[nn.Module, int, int]] = [
        (solver.initializer, 0, _GUESS_UPDATES * options.iterations)
    ]
    if solver.mixer is not None:
        phases.append((solver.mixer, options.steps, options.iterations))
    total = sum(updates for _, _, updates in phases)
    current, target = f, solution
    history: list[dict[str, float]] = []
    with torch.enable_grad(), bar("fitting the solver", total, progress) as shown:
        for module, steps, updates in phases:
            parameters = list(module.parameters())
            if not parameters:
                continue
            optimizer = torch.optim.Adam(parameters, lr=options.lr)
            falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, updates)
            for update in range(updates):
                # A new part only now and then: making one costs a walk over the graph.
                if size < f.bias.shape[0] and update % 10 == 0:
                    nodes = grow_part(f.adjacency, size, generator)
                    current, target = part_map(f, solution, nodes)
                guess, iterates, mixed = unroll(solver, current, steps)
                done = update / max(1, updates - 1) if options.ramp else 1.0
                loss = total_loss(guess, iterates, mixed, target, options.losses, done)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(parameters, 1.0)
                optimizer.step()
                falling.step()
                last = iterates[-1] if iterates else guess
                entry = {
                    "steps": float(steps),
                    "loss": float(loss.detach()),
                    "initial_error": float(relative_distance(guess.detach(), target)),
                    "last_error": float(relative_distance(last.detach(), target)),
                }
                history.append(entry)
                shown.update(len(history), f"error {entry['last_error']:.2e}")
                if on_update is not None:
                    on_update(len(history) - 1, entry)
    return history
