"""What Anderson acceleration remembers of its last steps, in full or in half precision."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from ..adjacency import Adjacency
from .half import HalfSteps, row_dots


@dataclass
class History(ABC):
    """The inner products of the last residuals, and which of them count.

    Slots are reused in turn; ``filled`` counts how many hold something.
    """

    adjacency: Adjacency
    scope: str
    gram: Tensor
    alive: Tensor
    filled: int = 0
    newest: int = -1

    def push(self, z: Tensor, fz: Tensor) -> None:
        """Store a step in the oldest slot and update the inner products that it changes."""
        slots = self.alive.shape[1]
        self.newest = (self.newest + 1) % slots
        self.filled = min(self.filled + 1, slots)
        dots = self._store(z, fz)
        self.gram[:, self.newest, : self.filled] = dots
        self.gram[:, : self.filled, self.newest] = dots
        self.alive[:, self.newest] = True

    def forget(self, owners: Tensor) -> None:
        """Restart these owners: only the newest step counts from now on."""
        newest = torch.zeros_like(self.alive)
        newest[:, self.newest] = True
        self.alive = torch.where(owners.unsqueeze(-1), newest, self.alive)

    @abstractmethod
    def combine(self, weights: Tensor, beta: float) -> Tensor:
        """``sum_i w_i (f(z_i) - (1 - beta) g_i)`` with weights per owner, ``owners x filled``."""

    @abstractmethod
    def _store(self, z: Tensor, fz: Tensor) -> Tensor:
        """Store a step in the newest slot; its residual's inner products, ``owners x filled``."""

    def _per_owner(self, per_node: Tensor) -> Tensor:
        return per_node.double() if self.scope == "node" else self.adjacency.sum_per_graph(per_node)


@dataclass(kw_only=True)
class FullHistory(History):
    """The images and residuals of the last steps, as they were."""

    values: Tensor
    residuals: Tensor

    def _store(self, z: Tensor, fz: Tensor) -> Tensor:
        self.values[self.newest].copy_(fz)
        torch.sub(fz, z, out=self.residuals[self.newest])
        stack, one = self.residuals[: self.filled], self.residuals[self.newest]
        if self.scope == "graph" and self.adjacency.num_graphs == 1:
            return (stack.flatten(1) @ one.flatten()).to(torch.float64).unsqueeze(0)
        return self._per_owner(torch.linalg.vecdot(stack, one).T)

    def combine(self, weights: Tensor, beta: float) -> Tensor:
        """``sum_i w_i (f(z_i) - (1 - beta) g_i)`` with weights per owner, ``owners x filled``."""
        result = self._weighted(weights, self.values[: self.filled])
        if beta != 1:
            result.sub_(self._weighted(weights, self.residuals[: self.filled]), alpha=1 - beta)
        return result

    def _weighted(self, weights: Tensor, stack: Tensor) -> Tensor:
        weights = weights.to(stack.dtype)
        if weights.shape[0] == 1:
            return (weights @ stack.flatten(1)).view(stack.shape[1:])
        if self.scope == "graph":
            weights = self.adjacency.spread(weights)
        return torch.einsum("nk,knd->nd", weights, stack)


@dataclass(kw_only=True)
class HalfHistory(History):
    """The last steps in half precision."""

    steps: HalfSteps

    @property
    def _by_age(self) -> list[int]:
        """The slots, oldest first."""
        return [(self.newest + 1 + i) % self.filled for i in range(self.filled)]

    def _store(self, z: Tensor, fz: Tensor) -> Tensor:
        self.steps.push(z, fz)
        residuals = self.steps.residuals
        dots = fz.new_empty(fz.shape[0], self.filled)
        for slot, residual in zip(self._by_age, residuals, strict=True):
            dots[:, slot] = row_dots(residual, residuals[-1])
        return self._per_owner(dots)

    def combine(self, weights: Tensor, beta: float) -> Tensor:
        """``sum_i w_i (f(z_i) - (1 - beta) g_i)`` with weights per owner, ``owners x filled``."""
        assert self.steps.image is not None
        weights = weights[:, self._by_age].to(self.steps.image.dtype)
        if self.scope == "graph":
            weights = self.adjacency.spread(weights)
        return self.steps.combine(weights, weights.new_full((1, 1), beta))
