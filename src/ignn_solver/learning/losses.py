"""The three losses of the paper, relative to the size of the equilibrium, with their schedules."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import InputError

SCHEDULES = ("linear", "constant", "last")


@dataclass(frozen=True)
class LossWeights:
    """Weights of the losses (the paper's lambda_1 to lambda_3) and how they change.

    Attributes:
        reconstruction: lambda_1: grows linearly from 0 to this over the training.
        initial: lambda_2.
        alpha: lambda_3: decays linearly from this to 0 over the training.
        schedule: How the reconstruction loss weighs the steps k: ``"linear"`` growth towards the
            last, ``"constant"``, or the ``"last"`` only.
    """

    reconstruction: float = 0.1
    initial: float = 5.0
    alpha: float = 1e-4
    schedule: str = "linear"

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise InputError(
                f"unknown loss schedule {self.schedule!r}: choose one of {', '.join(SCHEDULES)}"
            )

    def step_weights(self, count: int) -> list[float]:
        """Weights of the steps 1 to ``count``; they sum to 1."""
        if self.schedule == "last":
            return [float(k == count) for k in range(1, count + 1)]
        raw = [float(k) if self.schedule == "linear" else 1.0 for k in range(1, count + 1)]
        return [one / sum(raw) for one in raw]


def relative_distance(z: Tensor, target: Tensor) -> Tensor:
    """``||z - target|| / ||target||`` over everything."""
    return torch.linalg.norm(z - target) / torch.linalg.norm(target).clamp_min(1e-30)


def total_loss(
    guess: Tensor,
    iterates: list[Tensor],
    mixed_residuals: list[Tensor],
    target: Tensor,
    weights: LossWeights,
    progress: float,
) -> Tensor:
    """The joint loss at a moment of the training.

    Args:
        guess: The initializer's guess, with its gradient.
        iterates: The iterates after each step.
        mixed_residuals: At each step the residuals combined by alpha, relative to the newest one.
        target: The equilibrium.
        weights: The weights.
        progress: How far the training is, from 0 to 1.
    """
    loss = weights.initial * relative_distance(guess, target)
    grown = weights.reconstruction * progress
    for share, z in zip(weights.step_weights(len(iterates)), iterates, strict=True):
        if share > 0:
            loss = loss + grown * share * relative_distance(z, target)
    decayed = weights.alpha * (1 - progress)
    if decayed > 0 and mixed_residuals:
        loss = loss + decayed * torch.stack(mixed_residuals).sum()
    return loss
