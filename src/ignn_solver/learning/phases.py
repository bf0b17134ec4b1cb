"""What is trained of the paper's solver, one after the other, and by which loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor, nn

from ..equilibrium import EquilibriumMap
from .losses import relative_distance, total_loss
from .parts import Part, Player, Recorder, grow_part
from .unroll import UnrollOptions, unroll

if TYPE_CHECKING:
    from ..solvers.mixed import MixedAnderson
    from .initializer import Initializer
    from .mixer import Mixer

_UPDATES_OF_A_PART = 5


class Phase(Protocol):
    """What is trained, and by which loss."""

    @property
    def module(self) -> nn.Module:
        """What is trained."""

    def loss(self, update: int, done: float) -> tuple[Tensor, dict[str, float]]:
        """The loss of an update, when a share of the training is done; and what to say of it."""


class Guessing:
    """The initializer against the equilibrium.

    One that sees single rows learns from any rows of a large graph; one that looks along the edges
    from parts, around which the other nodes are at their equilibrium.
    """

    def __init__(
        self,
        solver: MixedAnderson,
        f: EquilibriumMap,
        solution: Tensor,
        size: int,
        options: UnrollOptions,
        generator: torch.Generator,
    ) -> None:
        self.module: Initializer = solver.initializer
        self.f, self.solution, self.size = f, solution, size
        self.options, self.generator = options, generator
        self.map, self.target = f, solution

    def loss(self, update: int, done: float) -> tuple[Tensor, dict[str, float]]:
        """The distance from the equilibrium."""
        guess, target = self._guess(update)
        error = float(relative_distance(guess.detach(), target))
        entry = {"steps": 0.0, "initial_error": error, "last_error": error}
        return total_loss(guess, [], [], target, self.options.losses, done), entry

    def _guess(self, update: int) -> tuple[Tensor, Tensor]:
        nodes, most = self.f.bias.shape[0], self.options.nodes
        if self.module.evaluations:
            if self.size < nodes and update % _UPDATES_OF_A_PART == 0:
                chosen = grow_part(self.f.adjacency, self.size, self.generator)
                self.map = Part(self.f, chosen).at(self.solution)
                self.target = self.solution[chosen]
            return self.module(self.map), self.target
        if nodes <= most:
            return self.module(self.f), self.solution
        rows = torch.randint(nodes, (most,), generator=self.generator)
        return self.module(self.f, rows), self.solution[rows]


class Mixing:
    """The mixer against the equilibrium, from where the initializer ends; a large graph in parts.

    The nodes around a part do in its training what they do in a solve of the whole graph by the mixer as
    it is when the part is drawn.
    """

    def __init__(
        self,
        solver: MixedAnderson,
        mixer: Mixer,
        f: EquilibriumMap,
        solution: Tensor,
        size: int,
        options: UnrollOptions,
        generator: torch.Generator,
    ) -> None:
        self.module: Mixer = mixer
        self.options, self.generator = options, generator
        self.f, self.solution = f, solution
        with torch.no_grad():
            self.guess = solver.initializer(f)
        self.sparse = solver.sparse_graph(f.adjacency)
        self.size = size
        self.maps = [f] * options.steps
        self.start, self.target = self.guess, solution
        self.heard: Recorder | None = None

    def loss(self, update: int, done: float) -> tuple[Tensor, dict[str, float]]:
        """The distances of the iterates from the equilibrium."""
        # A new part only now and then: making one costs a solve.
        if self.size < self.guess.shape[0] and update % _UPDATES_OF_A_PART == 0:
            self._draw()
        seen = self.sparse if self.heard is None else Player(self.heard)
        iterates, mixed = unroll(self.module, self.maps, self.start, seen)
        losses = self.options.losses
        entry = {
            "steps": float(self.options.steps),
            "initial_error": float(relative_distance(self.start, self.target)),
            "last_error": float(relative_distance(iterates[-1].detach(), self.target)),
        }
        return total_loss(self.start, iterates, mixed, self.target, losses, done), entry

    def _draw(self) -> None:
        nodes = grow_part(self.f.adjacency, self.size, self.generator)
        part = Part(self.f, nodes)
        self.maps = []
        self.heard = None if self.sparse is None else Recorder(self.sparse, nodes)
        with torch.no_grad():
            unroll(
                self.module, [self.f] * self.options.steps, self.guess, self.heard,
                lambda z: self.maps.append(part.at(z)),
            )  # fmt: skip
        self.start, self.target = self.guess[nodes], self.solution[nodes]
