"""Training the paper's solver: compare what it does in K steps with the equilibrium (Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..equilibrium import EquilibriumMap
from ..progress import bar
from .phases import Guessing, Mixing, Phase
from .unroll import UnrollOptions, part_size

if TYPE_CHECKING:
    from ..solvers.mixed import MixedAnderson

#: Updates of the initializer for each of the mixer.
_GUESS_UPDATES = 10

#: Called after an update of a solver with its number, and the loss and errors then.
OnUpdate = Callable[[int, dict[str, float]], None]


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
    # Too little memory is said before anything is trained.
    size = part_size(f, solver, options)
    generator = torch.Generator().manual_seed(options.seed)
    # Each is made when its turn comes: the mixer goes on from where the initializer ends.
    phases: list[Callable[[], Phase]] = []
    updates = []
    if list(solver.initializer.parameters()):
        phases.append(lambda: Guessing(solver, f, solution, size, options, generator))
        updates.append(_GUESS_UPDATES * options.iterations)
    mixer = solver.mixer
    if mixer is not None:
        phases.append(lambda: Mixing(solver, mixer, f, solution, size, options, generator))
        updates.append(options.iterations)
    history: list[dict[str, float]] = []
    with torch.enable_grad(), bar("fitting the solver", sum(updates), progress) as shown:
        for make, count in zip(phases, updates, strict=True):
            phase = make()
            parameters = list(phase.module.parameters())
            optimizer = torch.optim.Adam(parameters, lr=options.lr)
            falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, count)
            for update in range(count):
                done = update / max(1, count - 1) if options.ramp else 1.0
                loss, entry = phase.loss(update, done)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(parameters, 1.0)
                optimizer.step()
                falling.step()
                history.append({"loss": float(loss.detach()), **entry})
                shown.update(len(history), f"error {entry['last_error']:.2e}")
                if on_update is not None:
                    on_update(len(history) - 1, history[-1])
    return history
