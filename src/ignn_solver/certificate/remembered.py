"""Where a proof succeeded before: on the same graph, with the same weights, the next solve looks there first.

Features may have changed since. What is remembered only says when to look and where sweeps begin; the proof
itself owes nothing to it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..equilibrium import EquilibriumMap
from .certify import Certificate
from .stopping import CertifiedStop


class Proven(NamedTuple):
    """A proof that ended a solve.

    Attributes:
        weights: Copies of W and of what the head is made of.
        asked: The share of the nodes that was asked for, and how many nodes matter.
        residual: A relative residual just above the one at which it succeeded.
        certificate: What it found.
    """

    weights: list[Tensor]
    asked: tuple[float, int]
    residual: float
    certificate: Certificate


def recall(stop: CertifiedStop, f: EquilibriumMap, head: nn.Module) -> Proven | None:
    """The last proof on the graph of ``f``, if the weights were the same; ``stop`` is told where it succeeded."""
    found: Proven | None = f.adjacency.proven
    if found is None or found.asked != (stop.fraction, stop.matter):
        return None
    now = _weights(f, head)
    if len(now) != len(found.weights) or not all(map(torch.equal, now, found.weights)):
        return None
    stop.expect(found.residual, found.certificate)
    return found


def keep(
    stop: CertifiedStop, f: EquilibriumMap, head: nn.Module, before: Proven | None = None
) -> None:
    """Remember the proof with which an observer stopped a solve of ``f``; ``before`` was recalled for it."""
    if stop.reached and stop.certificate is not None:
        asked, residual = (stop.fraction, stop.matter), stop.reached_at
        weights = _copies(f, head) if before is None else before.weights
        f.adjacency.proven = Proven(weights, asked, residual, stop.certificate)


def _weights(f: EquilibriumMap, head: nn.Module) -> list[Tensor]:
    return [f.weight, *head.parameters(), *head.buffers()]


def _copies(f: EquilibriumMap, head: nn.Module) -> list[Tensor]:
    return [one.detach().clone() for one in _weights(f, head)]
